package rest

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

const (
	tokenPrefix = "berth_"
	tokenBytes  = 32
)

var tokenName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// Token is one line of a tokens file: who may do what. The token itself is not kept.
type Token struct {
	Name  string
	Scope Scope
	hash  [sha256.Size]byte
}

// NewToken makes a token: the secret, which is shown once, and what stands in the tokens file.
func NewToken(name string, scope Scope) (secret string, t Token, err error) {
	if !tokenName.MatchString(name) {
		return "", Token{}, fmt.Errorf("the name %.70q is not made of 1 to 64 letters, digits, dots, dashes and underscores", name)
	}
	random := make([]byte, tokenBytes)
	if _, err := rand.Read(random); err != nil {
		return "", Token{}, fmt.Errorf("make a token: %w", err)
	}
	secret = tokenPrefix + base64.RawURLEncoding.EncodeToString(random)
	return secret, Token{Name: name, Scope: scope, hash: sha256.Sum256([]byte(secret))}, nil
}

// Line is the token as it stands in a tokens file: "name:scope:sha256". It is no secret: a token is 256 random bits.
func (t Token) Line() string {
	return t.Name + ":" + t.Scope.String() + ":" + hex.EncodeToString(t.hash[:])
}

// ParseTokens reads a tokens file. Empty lines and lines that begin with # are skipped. All mistakes are told at once,
// by line number: a token that was pasted into the file by mistake is not repeated.
func ParseTokens(r io.Reader) ([]Token, error) {
	var tokens []Token
	var errs []error
	seen := map[string]bool{}
	scan := bufio.NewScanner(r)
	for n := 1; scan.Scan(); n++ {
		line := strings.TrimSpace(scan.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		t, err := parseToken(line)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("line %d: %w", n, err))
		case seen[t.Name]:
			errs = append(errs, fmt.Errorf("line %d: the name %s stands twice", n, t.Name))
		default:
			seen[t.Name] = true
			tokens = append(tokens, t)
		}
	}
	if err := scan.Err(); err != nil {
		errs = append(errs, err)
	}
	return tokens, errors.Join(errs...)
}

func parseToken(line string) (Token, error) {
	parts := strings.Split(line, ":")
	if len(parts) != 3 || !tokenName.MatchString(parts[0]) {
		return Token{}, errors.New(`is not "name:scope:sha256 in hex"`)
	}
	scope, err := ParseScope(parts[1])
	if err != nil {
		return Token{}, errors.New("the scope is not read, write or admin")
	}
	sum, err := hex.DecodeString(parts[2])
	if err != nil || len(sum) != sha256.Size {
		return Token{}, errors.New("the hash is not 64 hex digits: make the line with `berth token new`")
	}
	return Token{Name: parts[0], Scope: scope, hash: [sha256.Size]byte(sum)}, nil
}

// find returns the token with this secret. It takes the same time whichever matches, and if none does.
func find(tokens []Token, secret string) (Token, bool) {
	sum := sha256.Sum256([]byte(secret))
	index := -1
	for i := range tokens {
		index = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], tokens[i].hash[:]), i, index)
	}
	if index < 0 {
		return Token{}, false
	}
	return tokens[index], true
}
