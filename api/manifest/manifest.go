// Package manifest reads workloads from files as people write them: YAML or JSON, several documents in one file.
package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"gopkg.in/yaml.v3"

	v1 "github.com/berth-dev/berth/api/v1"
)

const (
	// MaxFileBytes bounds one file or stream.
	MaxFileBytes = 8 << 20
	// MaxDocuments bounds the documents of one file.
	MaxDocuments = 256
)

// Document is one workload and where it stands.
type Document struct {
	// Source is the file's name, as given.
	Source string
	// Index counts the documents of a source from 1; empty ones count.
	Index    int
	Workload *v1.Workload

	lines map[v1.Path]int
}

// Validate is the workload's Validate, with places: an error is an *Error.
func (d Document) Validate() error { return d.Locate(d.Workload.Validate()) }

// Locate says where in the document the mistakes of v1.FieldErrors stand. Other errors pass through.
func (d Document) Locate(err error) error { return locate(d.Source, d.Index, d.lines, err) }

// ReadFile reads a file; "-" is the standard input.
func ReadFile(name string) ([]Document, error) {
	if name == "-" {
		return Read("standard input", os.Stdin)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	return Read(name, f)
}

// Read reads all documents of a stream, strictly, and skips empty ones. It neither fills in defaults nor validates. Mistakes
// of all documents are told at once: each is an *Error, and errors.As finds the v1.FieldErrors of the first.
func Read(source string, r io.Reader) ([]Document, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxFileBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", source, err)
	case len(data) > MaxFileBytes:
		return nil, fmt.Errorf("%s: larger than %d bytes", source, MaxFileBytes)
	}
	return Parse(source, data)
}

// Parse is Read for what is in memory already.
func Parse(source string, data []byte) ([]Document, error) {
	if json.Valid(data) {
		return parseJSON(source, data)
	}
	var docs []Document
	var errs []error
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for index := 1; ; index++ {
		var root yaml.Node
		err := dec.Decode(&root)
		switch {
		case errors.Is(err, io.EOF):
			return finish(source, docs, errs)
		case err != nil: // what follows cannot be found
			return nil, errors.Join(append(errs, fmt.Errorf("%s: document %d: %w", source, index, err))...)
		case index > MaxDocuments:
			return nil, fmt.Errorf("%s: more than %d documents", source, MaxDocuments)
		case isEmpty(&root):
			continue
		}
		d := Document{Source: source, Index: index}
		d.Workload, d.lines, err = decode(&root)
		docs = append(docs, d)
		if err != nil {
			errs = append(errs, d.Locate(err))
		}
	}
}

// parseJSON reads one JSON object by the parser of JSON: not all JSON is YAML to every letter.
func parseJSON(source string, data []byte) ([]Document, error) {
	d := Document{Source: source, Index: 1}
	var err error
	d.Workload, err = v1.DecodeJSON(data)
	var root yaml.Node
	if yaml.Unmarshal(data, &root) == nil {
		_, d.lines, _ = convert(&root) // only for the lines: what is wrong is in err
	}
	if err != nil {
		return nil, d.Locate(err)
	}
	return []Document{d}, nil
}

func finish(source string, docs []Document, errs []error) ([]Document, error) {
	switch {
	case len(errs) > 0:
		return nil, errors.Join(errs...)
	case len(docs) == 0:
		return nil, fmt.Errorf("%s: holds no workload", source)
	default:
		return docs, nil
	}
}

// isEmpty says that nothing, or only a comment, stands between two lines of dashes.
func isEmpty(root *yaml.Node) bool {
	return root.Kind == 0 || len(root.Content) == 0 ||
		(root.Content[0].Kind == yaml.ScalarNode && root.Content[0].ShortTag() == "!!null")
}

func decode(root *yaml.Node) (*v1.Workload, map[v1.Path]int, error) {
	data, lines, err := convert(root)
	if err != nil {
		return nil, lines, err
	}
	w, err := v1.DecodeJSON(data)
	return w, lines, err
}
