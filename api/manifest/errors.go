package manifest

import (
	"errors"
	"fmt"
	"strings"

	v1 "github.com/berth-dev/berth/api/v1"
)

// Error holds all mistakes of one document. It unwraps to v1.FieldErrors.
type Error struct {
	Source string
	// Index counts the documents of a source from 1.
	Index    int
	Mistakes []Mistake
}

// Mistake is a field error and the line that it stands on, or is missing near to; zero if that is not known.
type Mistake struct {
	Line int
	v1.FieldError
}

// Error returns one line for each mistake: "web.yaml:12: spec.image: is required".
func (e *Error) Error() string {
	lines := make([]string, len(e.Mistakes))
	for i, m := range e.Mistakes {
		if m.Line > 0 {
			lines[i] = fmt.Sprintf("%s:%d: %v", e.Source, m.Line, m.FieldError)
		} else {
			lines[i] = fmt.Sprintf("%s: document %d: %v", e.Source, e.Index, m.FieldError)
		}
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the mistakes without their places.
func (e *Error) Unwrap() error {
	fields := make(v1.FieldErrors, len(e.Mistakes))
	for i, m := range e.Mistakes {
		fields[i] = m.FieldError
	}
	return fields
}

func locate(source string, index int, lines map[v1.Path]int, err error) error {
	var fields v1.FieldErrors
	if !errors.As(err, &fields) {
		return err
	}
	e := &Error{Source: source, Index: index}
	for _, f := range fields {
		e.Mistakes = append(e.Mistakes, Mistake{Line: lineOf(lines, f.Path), FieldError: f})
	}
	return e
}

// lineOf finds the line of a path, or of the nearest that stands around it.
func lineOf(lines map[v1.Path]int, p v1.Path) int {
	for {
		if line, ok := lines[p]; ok || p == "" {
			return line
		}
		p = p[:max(strings.LastIndexAny(string(p), ".["), 0)]
	}
}
