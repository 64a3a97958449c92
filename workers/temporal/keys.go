package temporal

import (
	"bufio"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

// Key is one AES-256 key with the name under which payloads refer to it.
type Key struct {
	ID     string
	Secret []byte
}

var keyID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// NewKey makes a random key. It fails on an id that cannot stand in a key file.
func NewKey(id string) (Key, error) {
	if !keyID.MatchString(id) {
		return Key{}, fmt.Errorf("key id %q is not made of 1 to 64 letters, digits, dots, dashes and underscores", id)
	}
	k := Key{ID: id, Secret: make([]byte, keyBytes)}
	if _, err := rand.Read(k.Secret); err != nil {
		return Key{}, fmt.Errorf("make a key: %w", err)
	}
	return k, nil
}

// Line is the key as it stands in a key file. It is secret.
func (k Key) Line() string { return k.ID + ":" + base64.StdEncoding.EncodeToString(k.Secret) }

// LoadKeys reads a key file: a line a key, "id:base64 of 32 bytes"; the first encrypts, all decrypt, so that a key is
// rotated by a new first line. Empty lines and lines that begin with # are skipped. A file that others may read is
// refused.
func LoadKeys(path string) (*Codec, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the key file: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("stat the key file: %w", err)
	}
	if info.Mode().Perm()&0o007 != 0 {
		return nil, fmt.Errorf("the key file %s can be used by everybody (mode %04o): chmod o-rwx it", path, info.Mode().Perm())
	}
	keys, err := ParseKeys(f)
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	codec, err := NewCodec(keys)
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	return codec, nil
}

// ParseKeys reads the lines of a key file. Its errors name lines, never their content.
func ParseKeys(r io.Reader) ([]Key, error) {
	var keys []Key
	var errs []error
	scan := bufio.NewScanner(r)
	for n := 1; scan.Scan(); n++ {
		line := strings.TrimSpace(scan.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, encoded, found := strings.Cut(line, ":")
		secret, err := base64.StdEncoding.DecodeString(encoded)
		if !found || err != nil || !keyID.MatchString(id) || len(secret) != keyBytes {
			errs = append(errs, fmt.Errorf("line %d is not \"id:base64 of %d bytes\"", n, keyBytes))
			continue
		}
		keys = append(keys, Key{ID: id, Secret: secret})
	}
	if err := scan.Err(); err != nil {
		errs = append(errs, fmt.Errorf("read: %w", err))
	}
	return keys, errors.Join(errs...)
}
