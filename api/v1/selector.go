package v1

import (
	"fmt"
	"slices"
	"strings"
)

// MaxSelectorTerms bounds a label selector.
const MaxSelectorTerms = 16

// LabelSelector picks workloads that carry all of its labels. An empty one picks all.
type LabelSelector map[string]string

// ParseLabelSelector reads "key=value,key2=value2". Keys and values are as labels may be, so that they are safe in a
// query. An error is FieldErrors with the path "label".
func ParseLabelSelector(s string) (LabelSelector, error) {
	if strings.TrimSpace(s) == "" {
		return nil, nil
	}
	var m mistakes
	const p = Path("label")
	terms := strings.Split(s, ",")
	if len(terms) > MaxSelectorTerms {
		m.add(p, "at most %d terms, not %d", MaxSelectorTerms, len(terms))
		return nil, m.err()
	}
	selector := LabelSelector{}
	for _, term := range terms {
		key, value, found := strings.Cut(strings.TrimSpace(term), "=")
		if !found {
			m.add(p, "%q is not of the form key=value", clip(term, 64))
			continue
		}
		if other, dup := selector[key]; dup && other != value {
			m.add(p, "%q cannot have two values", clip(key, MaxLabelLength))
		}
		checkLabel(&m, p, p, key, value)
		selector[key] = value
	}
	if err := m.err(); err != nil {
		return nil, err
	}
	return selector, nil
}

// Matches reports whether the labels carry all of the selector's.
func (s LabelSelector) Matches(labels map[string]string) bool {
	for key, value := range s {
		if got, ok := labels[key]; !ok || got != value {
			return false
		}
	}
	return true
}

// String writes the selector as ParseLabelSelector reads it, in order of keys.
func (s LabelSelector) String() string {
	terms := make([]string, 0, len(s))
	for key, value := range s {
		terms = append(terms, fmt.Sprintf("%s=%s", key, value))
	}
	slices.Sort(terms)
	return strings.Join(terms, ",")
}
