package v1

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxFieldErrors is how many mistakes are told at once; a further entry says that there are more.
const MaxFieldErrors = 100

// Path is where a field stands in a document, as "spec.ports[0].container".
type Path string

// Key returns the path of a member. A key that is no plain word stands in brackets and quotes, cut if it is long.
func (p Path) Key(key string) Path {
	if !isPlainKey(key) {
		return p + Path("["+strconv.Quote(clip(key, 64))+"]")
	}
	if p == "" {
		return Path(key)
	}
	return p + "." + Path(key)
}

// Index returns the path of a list's element, counted from 0.
func (p Path) Index(i int) Path { return p + Path("["+strconv.Itoa(i)+"]") }

func isPlainKey(key string) bool {
	return key != "" && len(key) <= 64 && strings.IndexFunc(key, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0
}

// FieldError is one mistake in a document. It never holds the value of a field that may be secret.
type FieldError struct {
	// Path of the field; empty for the document as a whole.
	Path Path `json:"path"`
	// Reason is ReasonInvalid or ReasonImmutable.
	Reason Reason `json:"reason"`
	// Message says what is wrong and what would be right.
	Message string `json:"message"`
}

// Error returns the path and the message.
func (e FieldError) Error() string {
	if e.Path == "" {
		return e.Message
	}
	return string(e.Path) + ": " + e.Message
}

// FieldErrors are all mistakes of a document, sorted by path and never empty. Get at them with errors.As and a target of
// type FieldErrors, or at the first of them with a target of type FieldError.
type FieldErrors []FieldError

// Error returns all mistakes on one line.
func (e FieldErrors) Error() string {
	texts := make([]string, len(e))
	for i, f := range e {
		texts[i] = f.Error()
	}
	return strings.Join(texts, "; ")
}

// Under are the same mistakes in a document in which this one is a field.
func (e FieldErrors) Under(field Path) FieldErrors {
	all := slices.Clone(e)
	for i := range all {
		all[i].Path = field + "." + all[i].Path
	}
	return all
}

// Unwrap returns each mistake as an error of its own.
func (e FieldErrors) Unwrap() []error {
	errs := make([]error, len(e))
	for i, f := range e {
		errs[i] = f
	}
	return errs
}

// Reason returns ReasonImmutable if that is all that is wrong, else ReasonInvalid.
func (e FieldErrors) Reason() Reason {
	if slices.ContainsFunc(e, func(f FieldError) bool { return f.Reason != ReasonImmutable }) {
		return ReasonInvalid
	}
	return ReasonImmutable
}

// mistakes collects what is wrong with a document.
type mistakes struct {
	list    FieldErrors
	dropped int
}

func (m *mistakes) add(p Path, format string, args ...any) { m.put(ReasonInvalid, p, format, args...) }

func (m *mistakes) put(reason Reason, p Path, format string, args ...any) {
	if len(m.list) >= MaxFieldErrors {
		m.dropped++
		return
	}
	m.list = append(m.list, FieldError{Path: p, Reason: reason, Message: fmt.Sprintf(format, args...)})
}

// err returns nil, or FieldErrors.
func (m *mistakes) err() error {
	if len(m.list) == 0 {
		return nil
	}
	slices.SortStableFunc(m.list, func(a, b FieldError) int { return cmp.Compare(a.Path, b.Path) })
	if m.dropped > 0 {
		return append(m.list, FieldError{Reason: ReasonInvalid, Message: fmt.Sprintf("and %d more mistakes", m.dropped)})
	}
	return m.list
}

// clip cuts a text that a user sent, so that a message stays short.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
