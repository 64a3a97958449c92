package rest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	"sigs.k8s.io/yaml"

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
	if strings.Contains(r.Header.Get("Content-Type"), "yaml") {
		if data, err = yaml.YAMLToJSONStrict(data); err != nil {
			return nil, invalid("", "the body is not one YAML document")
		}
	}
	w, err := v1.DecodeJSON(data)
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
