package v1

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

const (
	// MaxDocumentBytes is the size of the largest document that is read at all.
	MaxDocumentBytes = 1 << 20
	// maxDocumentDepth is far beyond what any spec needs; it bounds the recursion.
	maxDocumentDepth = 32
)

type nodeKind string

// The kinds of JSON values, named as messages name them.
const (
	nodeObject nodeKind = "an object"
	nodeList   nodeKind = "a list"
	nodeString nodeKind = "a string"
	nodeNumber nodeKind = "a number"
	nodeBool   nodeKind = "true or false"
	nodeNull   nodeKind = "null"
)

// node is a JSON value that keeps the order of members and tells duplicates.
type node struct {
	kind    nodeKind
	text    string // of a string or number
	truth   bool
	members []member
	items   []*node
}

type member struct {
	key   string
	value *node
}

// parseTree reads one JSON value. It returns nil if there is none; a duplicate key is a mistake, and its first value is
// kept.
func parseTree(m *mistakes, data []byte) *node {
	switch {
	case len(data) > MaxDocumentBytes:
		m.add("", "the document is larger than %d bytes", MaxDocumentBytes)
		return nil
	case !utf8.Valid(data):
		m.add("", "the document is not valid UTF-8")
		return nil
	case len(bytes.TrimSpace(data)) == 0:
		m.add("", "the document is empty")
		return nil
	}
	// The decoder's token stream is laxer than the parser: what is no JSON is told here, with its place.
	if err := json.Unmarshal(data, new(json.RawMessage)); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			line, column := position(data, syntax.Offset)
			m.add("", "line %d, column %d: not JSON: %v", line, column, err)
		} else {
			m.add("", "not JSON: %v", err)
		}
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	t := treeParser{m: m, dec: dec}
	root := t.value("", 0)
	if t.failed {
		return nil
	}
	return root
}

type treeParser struct {
	m      *mistakes
	dec    *json.Decoder
	failed bool
}

func (t *treeParser) fail(p Path, format string, args ...any) *node {
	if !t.failed {
		t.m.add(p, format, args...)
	}
	t.failed = true
	return nil
}

func (t *treeParser) value(p Path, depth int) *node {
	token, err := t.dec.Token()
	if err != nil {
		return t.fail(p, "not JSON: %v", err)
	}
	switch v := token.(type) {
	case json.Delim:
		if depth == maxDocumentDepth {
			return t.fail(p, "nested deeper than %d levels", maxDocumentDepth)
		}
		if v == '{' {
			return t.object(p, depth)
		}
		return t.list(p, depth)
	case string:
		return &node{kind: nodeString, text: v}
	case json.Number:
		return &node{kind: nodeNumber, text: v.String()}
	case bool:
		return &node{kind: nodeBool, truth: v}
	default:
		return &node{kind: nodeNull}
	}
}

func (t *treeParser) object(p Path, depth int) *node {
	n := &node{kind: nodeObject}
	seen := map[string]bool{}
	for t.dec.More() {
		token, err := t.dec.Token()
		key, isString := token.(string)
		if err != nil || !isString {
			return t.fail(p, "not JSON: a key is missing")
		}
		value := t.value(p.Key(key), depth+1)
		switch {
		case t.failed:
			return nil
		case seen[key]:
			t.m.add(p.Key(key), "duplicate key")
		default:
			seen[key] = true
			n.members = append(n.members, member{key: key, value: value})
		}
	}
	return t.close(p, n)
}

func (t *treeParser) list(p Path, depth int) *node {
	n := &node{kind: nodeList}
	for t.dec.More() {
		item := t.value(p.Index(len(n.items)), depth+1)
		if t.failed {
			return nil
		}
		n.items = append(n.items, item)
	}
	return t.close(p, n)
}

// close reads the bracket that ends an object or list.
func (t *treeParser) close(p Path, n *node) *node {
	if _, err := t.dec.Token(); err != nil {
		return t.fail(p, "not JSON: %v", err)
	}
	return n
}

// position turns an offset into a line and a column in bytes, both counted from 1.
func position(data []byte, offset int64) (line, column int) {
	before := data[:min(max(offset-1, 0), int64(len(data)))]
	return bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}
