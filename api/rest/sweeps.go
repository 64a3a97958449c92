package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"

	"github.com/gin-gonic/gin"

	v1 "github.com/berth-dev/berth/api/v1"
)

// latestSweep stands in a path for the sweep that was started last.
const latestSweep = "latest"

var sweepID = regexp.MustCompile(`^[0-9a-f-]{36}$`)

// startSweep starts a sweep; 202 says that it has begun.
func (s *server) startSweep(c *gin.Context) (answer, error) {
	p := params{c: c}
	request := p.request()
	if err := p.err(); err != nil {
		return answer{}, err
	}
	var r v1.SweepRequest
	if err := readJSON(c, &r); err != nil {
		return answer{}, err
	}
	if err := r.Validate(); err != nil {
		return answer{}, err
	}
	sweep, err := s.Backend.StartSweep(c.Request.Context(), r, request.ID)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusAccepted, body: sweep, headers: map[string]string{"Location": "/v1/sweeps/" + sweep.ID}}, nil
}

// getSweep shows one sweep, with a page of what it found.
func (s *server) getSweep(c *gin.Context) (answer, error) {
	p := params{c: c}
	id, page := c.Param("id"), p.page()
	page.Size = p.number("limit", v1.SweepThings, MaxPageSize)
	if id != latestSweep && !sweepID.MatchString(id) {
		p.errs = append(p.errs, invalid("id", "must be the id of a sweep, or latest")...)
	}
	if err := p.err(); err != nil {
		return answer{}, err
	}
	if id == latestSweep {
		id = ""
	}
	sweep, err := s.Backend.Sweep(c.Request.Context(), id, page)
	if err != nil {
		return answer{}, err
	}
	return ok(sweep)
}

// getSweepSchedule shows when sweeps run by themselves.
func (s *server) getSweepSchedule(c *gin.Context) (answer, error) {
	schedule, err := s.Backend.SweepSchedule(c.Request.Context())
	if err != nil {
		return answer{}, err
	}
	return ok(schedule)
}

// changeSweepSchedule changes when sweeps run by themselves, and how.
func (s *server) changeSweepSchedule(c *gin.Context) (answer, error) {
	var change v1.SweepScheduleChange
	if err := readJSON(c, &change); err != nil {
		return answer{}, err
	}
	if err := change.Validate(); err != nil {
		return answer{}, err
	}
	schedule, err := s.Backend.ChangeSweepSchedule(c.Request.Context(), change)
	if err != nil {
		return answer{}, err
	}
	return ok(schedule)
}

// readJSON reads an object of JSON strictly; an empty body is an empty object.
func readJSON(c *gin.Context, out any) error {
	data, err := io.ReadAll(c.Request.Body)
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return errTooLarge
	}
	if err != nil {
		return invalid("", "the body could not be read to its end")
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(out); err != nil || d.More() {
		return invalid("", "the body is not the JSON object that this operation takes")
	}
	return nil
}
