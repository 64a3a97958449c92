package rest

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	v1 "github.com/berth-dev/berth/api/v1"
)

// params reads parameters and collects what is wrong with them.
type params struct {
	c    *gin.Context
	errs v1.FieldErrors
}

func (p *params) err() error {
	if len(p.errs) == 0 {
		return nil
	}
	return p.errs
}

// name reads a name, for example of a workload or a host; in a query it may be left out.
func (p *params) name(field, value string) string {
	if err := v1.ValidateName(value); err != nil {
		p.errs = append(p.errs, invalid(field, "is not a name: lower case letters, digits and dashes, at most 63 characters")...)
	}
	return value
}

func (p *params) pathName() string { return p.name("name", p.c.Param("name")) }

// pathRuntime reads the name of a host's runtime.
func (p *params) pathRuntime() string { return p.name("runtime", p.c.Param("runtime")) }

func (p *params) queryName(field string) string {
	if value := p.c.Query(field); value != "" {
		return p.name(field, value)
	}
	return ""
}

// number reads a whole number between 1 and most.
func (p *params) number(field string, otherwise, most int) int {
	value := p.c.Query(field)
	if value == "" {
		return otherwise
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > most {
		p.errs = append(p.errs, invalid(field, "must be a number from 1 to "+strconv.Itoa(most))...)
		return otherwise
	}
	return n
}

// duration reads a duration such as 10m.
func (p *params) duration(field string) v1.Duration {
	value := p.c.Query(field)
	if value == "" {
		return 0
	}
	d, err := v1.ParseDuration(value)
	if err != nil {
		p.errs = append(p.errs, invalid(field, err.Error())...)
	}
	return d
}

// check takes what is wrong with the parameters together.
func (p *params) check(err error) {
	var wrong v1.FieldErrors
	if errors.As(err, &wrong) {
		p.errs = append(p.errs, wrong...)
	}
}

func (p *params) page() Page {
	token := p.c.Query("pageToken")
	if len(token) > 4096 {
		p.errs = append(p.errs, invalid("pageToken", "is not a token that this API gave out")...)
	}
	return Page{Size: p.number("limit", DefaultPageSize, MaxPageSize), Token: token}
}

// time reads a moment, or nothing.
func (p *params) time(field string) time.Time {
	value := p.c.Query(field)
	if value == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, value)
	if err != nil || at.Year() < 1970 || at.Year() > 9999 {
		p.errs = append(p.errs, invalid(field, "must be a time as 2006-01-02T15:04:05Z")...)
	}
	return at
}

// oneOf reads one of a few words, or nothing.
func oneOf[T ~string](p *params, field string, words ...T) T {
	value := T(p.c.Query(field))
	if value == "" {
		return ""
	}
	texts := make([]string, len(words))
	for i, word := range words {
		if word == value {
			return value
		}
		texts[i] = string(word)
	}
	p.errs = append(p.errs, invalid(field, "must be one of "+strings.Join(texts, ", "))...)
	return ""
}

func (p *params) flag(field string) bool {
	switch p.c.Query(field) {
	case "", "false":
		return false
	case "true":
		return true
	default:
		p.errs = append(p.errs, invalid(field, "must be true or false")...)
		return false
	}
}

// request reads If-Match and Idempotency-Key.
func (p *params) request() Request {
	out := Request{ID: p.c.GetHeader("Idempotency-Key")}
	if out.ID == "" {
		out.ID = uuid.NewString()
	} else if !safeID.MatchString(out.ID) {
		p.errs = append(p.errs, invalid("Idempotency-Key", "must be 1 to 128 letters, digits or any of . _ : / + = -")...)
	}
	match := strings.TrimSpace(p.c.GetHeader("If-Match"))
	switch match {
	case "":
	case "*":
		out.MustExist = true
	default:
		n, err := strconv.ParseInt(strings.Trim(match, `"`), 10, 64)
		if err != nil || n < 1 {
			p.errs = append(p.errs, invalid("If-Match", `must be a generation in quotes, as "3"`)...)
		}
		out.IfGeneration, out.MustExist = &n, true
	}
	return out
}

func etag(generation int64) string { return `"` + strconv.FormatInt(generation, 10) + `"` }
