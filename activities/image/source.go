package image

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	algSHA256 = "sha256"
	algSHA512 = "sha512"
)

// source is where an image comes from, checked. Exactly one of url and path is set.
type source struct {
	url    string // as the user gave it: it may hold credentials
	path   string
	format v1.DiskFormat
	// alg and sum are the checksum, sum in lower-case hex; both are empty without one.
	alg, sum string
	// name is short and where is long, both fit for users' eyes.
	name, where string
	// key is the same for all who want the same image from the same place.
	key string
}

func parseSource(src v1.DiskImage) (source, error) {
	s := source{format: src.Format}
	if s.format == "" {
		s.format = v1.FormatQCOW2
	}
	if s.format != v1.FormatQCOW2 && s.format != v1.FormatRaw {
		return s, invalid("the image format %q is unknown", s.format)
	}
	if err := s.setPlace(src); err != nil {
		return s, err
	}
	if err := s.setChecksum(src.Checksum); err != nil {
		return s, err
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{s.url, s.path, s.alg, s.sum, string(s.format)}, "\n")))
	s.key = hex.EncodeToString(sum[:])
	return s, nil
}

func (s *source) setPlace(src v1.DiskImage) error {
	s.path = src.Path
	if (src.URL == "") == (src.Path == "") {
		return invalid("an image needs either a URL or a path")
	}
	if src.URL != "" {
		u, err := url.Parse(src.URL)
		if err != nil { // the error would repeat the URL, and what is secret in it
			return invalid("the image's URL cannot be read")
		}
		switch {
		case (u.Scheme == "http" || u.Scheme == "https") && u.Host != "":
			s.url, s.name, s.where = src.URL, path.Base("/"+u.Path), redact(u)
			if s.name == "/" {
				s.name = u.Hostname()
			}
			return nil
		case u.Scheme == "file" && (u.Host == "" || u.Host == "localhost"):
			s.path = u.Path
		default:
			return invalid("the image's URL needs the scheme http, https or file, and a host only if it is not a file")
		}
	}
	if !filepath.IsAbs(s.path) || filepath.Clean(s.path) != s.path {
		return invalid("the image's path %q is not a clean absolute path", s.path)
	}
	s.name, s.where = filepath.Base(s.path), s.path
	return nil
}

func (s *source) setChecksum(checksum string) error {
	if checksum == "" {
		return nil
	}
	alg, sum, _ := strings.Cut(checksum, ":")
	size := map[string]int{algSHA256: 32, algSHA512: 64}[alg]
	raw, err := hex.DecodeString(sum)
	if err != nil || size == 0 || len(raw) != size {
		return invalid("the image's checksum is not sha256: or sha512: with 64 or 128 hex digits")
	}
	s.alg, s.sum = alg, hex.EncodeToString(raw)
	return nil
}

// redact returns a URL without what may be secret: user, query and fragment.
func redact(u *url.URL) string {
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return shown.String()
}

func invalid(format string, args ...any) error {
	return contract.Permanent(v1.ReasonInvalid, "correct the image in the spec", format, args...)
}
