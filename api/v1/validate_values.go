package v1

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

func isAlphanumeric(b byte) bool { return isLowerAlphanumeric(b) || (b >= 'A' && b <= 'Z') }

func isLowerAlphanumeric(b byte) bool { return (b >= 'a' && b <= 'z') || (b >= '0' && b <= '9') }

// isDNSLabel follows RFC 1123, in lower case only.
func isDNSLabel(s string) bool {
	if s == "" || len(s) > MaxNameLength || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		if s[i] != '-' && !isLowerAlphanumeric(s[i]) {
			return false
		}
	}
	return true
}

func isLabelText(s string) bool {
	if s == "" || len(s) > MaxLabelLength || !isAlphanumeric(s[0]) || !isAlphanumeric(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if !isAlphanumeric(s[i]) && !strings.ContainsRune("._-/", rune(s[i])) {
			return false
		}
	}
	return true
}

// isPlain says that a text has no control characters at all and is UTF-8.
func isPlain(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f }) < 0
}

// isText allows tabs and line ends beside what isPlain allows, and only what XML 1.0 can carry.
func isText(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool {
		control := r < 0x20 && r != '\t' && r != '\n' && r != '\r'
		return control || r == 0x7f || r == 0xFFFE || r == 0xFFFF
	}) < 0
}

func checkOneOf[T ~string](m *mistakes, p Path, value T, allowed ...T) bool {
	if slices.Contains(allowed, value) {
		return true
	}
	names := make([]string, len(allowed))
	for i, a := range allowed {
		names[i] = string(a)
	}
	if value == "" {
		m.add(p, "is required: one of %s", strings.Join(names, ", "))
	} else {
		m.add(p, "must be one of %s%s", strings.Join(names, ", "), didYouMean(string(value), names))
	}
	return false
}

func didYouMean(value string, names []string) string {
	if near := nearest(value, names); near != "" {
		return ": did you mean " + near + "?"
	}
	return ""
}

func checkRange[T cmp.Ordered](m *mistakes, p Path, value, low, high T) {
	if value < low || value > high {
		m.add(p, "must be from %v to %v", low, high)
	}
}

func checkDuration(m *mistakes, p Path, value, low, high Duration) {
	checkRange(m, p, value, low, high)
}

// checkCount refuses lists that are too long; their elements are not looked at then.
func checkCount(m *mistakes, p Path, count, limit int) bool {
	if count > limit {
		m.add(p, "at most %d, not %d", limit, count)
		return false
	}
	return true
}

// checkAbsolute checks a path of a host or a container: absolute, and written in the shortest way, so that what it is
// compared with is what it names.
func checkAbsolute(m *mistakes, p Path, value string) bool {
	var wrong string
	switch {
	case value == "":
		wrong = "is required"
	case len(value) > MaxPathLength:
		wrong = fmt.Sprintf("is longer than %d bytes", MaxPathLength)
	case !isPlain(value):
		wrong = "must be UTF-8 without control characters"
	case !strings.HasPrefix(value, "/"):
		wrong = "must be an absolute path"
	case path.Clean(value) != value:
		wrong = "must be a path without '.', '..', '//' or '/' at its end"
	default:
		return true
	}
	m.add(p, "%s", wrong)
	return false
}

// checkFirst tells that a value stands for the second time, and where it stood first.
func checkFirst[K comparable](m *mistakes, seen map[K]Path, p Path, key K) {
	if first, dup := seen[key]; dup {
		m.add(p, "is the same as %s", first)
		return
	}
	seen[key] = p
}
