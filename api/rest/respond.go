package rest

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	v1 "github.com/berth-dev/berth/api/v1"
)

// answer is what a handler returns; errors become problems in one place.
type answer struct {
	status  int
	body    any
	headers map[string]string
	// stream, if set, is what is answered in the place of a body.
	stream Watch
}

type handler func(*gin.Context) (answer, error)

func ok(body any) (answer, error) { return answer{status: http.StatusOK, body: body}, nil }

// respond runs a handler under a deadline and writes what it returned.
func (s *server) respond(r route) gin.HandlerFunc {
	return func(c *gin.Context) {
		request := c.Request
		ctx, cancel := context.WithTimeout(request.Context(), readWithin)
		defer cancel()
		c.Request = request.WithContext(ctx)
		if err := errors.Join(checkQuery(c, r.query), checkBody(c, r.body)); err != nil {
			writeProblem(c, err)
			return
		}
		a, err := r.handle(c)
		if err != nil {
			writeProblem(c, err)
			return
		}
		for name, value := range a.headers {
			c.Header(name, value)
		}
		if a.stream != nil {
			c.Request = request // a stream outlives the deadline
			s.stream(c, a.stream)
			return
		}
		c.JSON(a.status, a.body)
	}
}

func respondError(err error) gin.HandlerFunc {
	return func(c *gin.Context) { writeProblem(c, err) }
}

// checkBody refuses a body where none is taken: what it asks for would be passed over in silence.
func checkBody(c *gin.Context, taken bool) error {
	if taken {
		return nil
	}
	if err := readJSON(c, &struct{}{}); err != nil {
		return invalid("", "this operation takes no body: its parameters stand in the query")
	}
	return nil
}

// checkQuery refuses parameters that the operation does not know, and any that stands twice: a filter with a typo would
// otherwise list everything.
func checkQuery(c *gin.Context, known []string) error {
	var wrong v1.FieldErrors
	for name, values := range c.Request.URL.Query() {
		switch {
		case !slices.Contains(known, name):
			wrong = append(wrong, invalid(name, "is not a parameter of this operation")...)
		case len(values) > 1:
			wrong = append(wrong, invalid(name, "stands more than once")...)
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	slices.SortFunc(wrong, func(a, b v1.FieldError) int { return cmp.Compare(a.Path, b.Path) })
	return wrong
}
