package rest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/berth-dev/berth/api/manifest"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// putWorkload creates or updates a workload. 201 is a new one, 200 an update or no change, 202 one that is recorded but
// that no worker has looked at yet.
func (s *server) putWorkload(c *gin.Context) (answer, error) {
	p := params{c: c}
	name, dryRun, request := p.pathName(), p.flag("dryRun"), p.request()
	if err := p.err(); err != nil {
		return answer{}, err
	}
	w, err := readWorkload(c.Request, name)
	if err != nil {
		return answer{}, err
	}
	if dryRun {
		would, err := s.Backend.DryRun(c.Request.Context(), w, request)
		if err != nil {
			return answer{}, err
		}
		return ok(would)
	}
	applied, err := s.Backend.Apply(c.Request.Context(), w, request)
	if err != nil {
		return answer{}, err
	}
	out := answer{status: http.StatusOK, body: applied.Accepted, headers: map[string]string{"ETag": etag(applied.Generation)}}
	switch {
	case applied.Started:
		out.status = http.StatusAccepted
	case applied.Changed == string(contract.ChangedCreated):
		out.status = http.StatusCreated
		out.headers["Location"] = "/v1/workloads/" + name
	}
	return out, nil
}

// readWorkload reads a valid workload with its defaults filled in, from JSON or YAML.
func readWorkload(r *http.Request, name string) (*v1.Workload, error) {
	data, err := io.ReadAll(r.Body)
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return nil, errTooLarge
	}
	if err != nil {
		return nil, invalid("", "the body could not be read to its end")
	}
	w, err := decodeWorkload(data, r.Header.Get("Content-Type"))
	if err != nil {
		return nil, err
	}
	if w.Metadata.Name == "" {
		w.Metadata.Name = name
	}
	if w.Metadata.Name != name {
		return nil, invalid("metadata.name", fmt.Sprintf("must be %q, as in the path, or left out", name))
	}
	w.Default()
	return w, w.Validate()
}

// decodeWorkload reads JSON, or YAML as files of workloads are read. What is not an object of JSON is taken for YAML, so
// that a forgotten content type costs nobody an hour.
func decodeWorkload(data []byte, contentType string) (*v1.Workload, error) {
	if !strings.Contains(contentType, "yaml") && bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return v1.DecodeJSON(data)
	}
	docs, err := manifest.Parse("body", data)
	var fields v1.FieldErrors
	switch {
	case errors.As(err, &fields):
		return nil, fields
	case err != nil:
		return nil, invalid("", "the body is neither a JSON object nor a YAML document")
	case len(docs) != 1:
		return nil, invalid("", fmt.Sprintf("the body must be one document, not %d", len(docs)))
	}
	return docs[0].Workload, nil
}
