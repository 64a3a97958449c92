package rest

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	keyToken = "berth.token"
	keyScope = "berth.scope"
)

// Authenticator knows the tokens of a file, and reads it again when it changes.
type Authenticator struct {
	path   string
	logger *slog.Logger

	mu     sync.Mutex
	stamp  stamp
	tokens []Token
}

// stamp tells one state of a file from another.
type stamp struct {
	mod  time.Time
	size int64
}

// NewAuthenticator reads the file. It fails if the file is unreadable, has mistakes, or has no token.
func NewAuthenticator(path string, logger *slog.Logger) (*Authenticator, error) {
	a := &Authenticator{path: path, logger: logger}
	if err := a.load(); err != nil {
		return nil, err
	}
	if len(a.tokens) == 0 {
		return nil, fmt.Errorf("the tokens file %s has no token: make one with `berth token new`", path)
	}
	return a, nil
}

// ReadTokens reads a file of tokens, to check it.
func ReadTokens(path string) ([]Token, error) {
	a := &Authenticator{path: path}
	err := a.load()
	return a.tokens, err
}

// load reads the file if it changed. The caller holds the lock, or is the constructor.
func (a *Authenticator) load() error {
	f, err := os.Open(a.path)
	if err != nil {
		return fmt.Errorf("open the tokens file: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("stat the tokens file: %w", err)
	}
	now := stamp{info.ModTime(), info.Size()}
	if now == a.stamp {
		return nil
	}
	if info.Mode().Perm()&0o002 != 0 {
		return fmt.Errorf("the tokens file %s can be written by everybody: chmod o-w it", a.path)
	}
	tokens, err := ParseTokens(f)
	if err != nil {
		return fmt.Errorf("tokens file %s: %w", a.path, err)
	}
	a.stamp, a.tokens = now, tokens
	return nil
}

// lookup returns the token with this secret. If the file has become unreadable, the last good state goes on to count.
func (a *Authenticator) lookup(secret string) (Token, bool) {
	a.mu.Lock()
	if err := a.load(); err != nil {
		a.logger.Error("the tokens file cannot be read again: the tokens before are still in force", "error", err)
	}
	tokens := a.tokens
	a.mu.Unlock()
	return find(tokens, secret)
}

// authorize lets a request through whose token has the scope.
func (s *server) authorize(need Scope) gin.HandlerFunc {
	return func(c *gin.Context) {
		if need == ScopeNone {
			return
		}
		if s.Auth == nil {
			c.Set(keyScope, ScopeAdmin)
			return
		}
		token, err := s.Auth.check(c.GetHeader("Authorization"), need)
		c.Set(keyToken, token.Name)
		c.Set(keyScope, token.Scope)
		if err != nil {
			writeProblem(c, err)
		}
	}
}

func (a *Authenticator) check(header string, need Scope) (Token, error) {
	scheme, secret, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") || secret == "" {
		return Token{}, contract.Permanent(v1.ReasonUnauthorized, "send the header Authorization: Bearer and a token", "a token is needed")
	}
	token, known := a.lookup(strings.TrimSpace(secret))
	if !known {
		return Token{}, contract.Permanent(v1.ReasonUnauthorized, "make a token with `berth token new` and add its line to the tokens file", "the token is not known")
	}
	if token.Scope < need {
		return token, contract.Permanent(v1.ReasonForbidden, "use a token with the scope "+need.String(),
			"the token %s has the scope %s, and this needs %s", token.Name, token.Scope, need)
	}
	return token, nil
}

// mayReadSecrets reports whether the caller could have written the secrets itself.
func mayReadSecrets(c *gin.Context) bool {
	scope, _ := c.Get(keyScope)
	have, isScope := scope.(Scope)
	return isScope && have >= ScopeWrite
}
