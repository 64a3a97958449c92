package rest

import "fmt"

// Scope is what a token allows. Each includes those before it.
type Scope int

// The scopes. ScopeNone is what nobody needs a token for.
const (
	ScopeNone Scope = iota
	ScopeRead
	ScopeWrite
	ScopeAdmin
)

// String returns the word for the scope.
func (s Scope) String() string {
	switch s {
	case ScopeNone:
		return "none"
	case ScopeRead:
		return "read"
	case ScopeWrite:
		return "write"
	case ScopeAdmin:
		return "admin"
	default:
		return fmt.Sprintf("scope %d", int(s))
	}
}

// ParseScope reads read, write or admin.
func ParseScope(word string) (Scope, error) {
	for s := ScopeRead; s <= ScopeAdmin; s++ {
		if word == s.String() {
			return s, nil
		}
	}
	return ScopeNone, fmt.Errorf("the scope %.32q is not read, write or admin", word)
}
