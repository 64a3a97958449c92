package container

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	// lineMax bounds what a container said where it stands in a message, in bytes.
	lineMax = 200
	// secretMin is the shortest value of the environment that is taken for a secret: "true" or "8080" tell nobody anything.
	secretMin = 6
)

// redact hides the values of the environment in text that comes from a container or its engine.
func redact(text string, spec *v1.ContainerSpec) string {
	if spec == nil {
		return text
	}
	values := slices.SortedFunc(maps.Values(spec.Env), func(a, b string) int { return len(b) - len(a) })
	for _, value := range values { // the longest first: one may be part of another
		if len(value) >= secretMin {
			text = strings.ReplaceAll(text, value, "***")
		}
	}
	return text
}

// redactError hides the values of the environment in an engine's error.
func redactError(err error, spec *v1.ContainerSpec) error {
	var e *contract.Error
	if !errors.As(err, &e) {
		return err
	}
	clean := *e
	clean.Message = redact(e.Message, spec)
	if e.Cause != nil {
		if text := e.Cause.Error(); redact(text, spec) != text {
			clean.Cause = errors.New(redact(text, spec))
		}
	}
	return &clean
}

// bounded cuts text to one line of at most lineMax bytes.
func bounded(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	if len(text) <= lineMax {
		return text
	}
	cut := lineMax - len("…")
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// lastWords is the last line that a container wrote, if it can be had.
func (r *Runtime) lastWords(ctx context.Context, id string, spec *v1.ContainerSpec) string {
	lines, err := r.driver.Logs(ctx, id, 1, 16<<10)
	if err != nil || len(lines) == 0 {
		return "" // it only adorns a message
	}
	return bounded(redact(lines[len(lines)-1], spec))
}
