package image

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"
)

// digests sums what is written to it: always the SHA-256 by which an image is stored, and another algorithm if a
// checksum needs it.
type digests struct{ sha256, sha512 hash.Hash }

func newDigests(alg string) digests {
	d := digests{sha256: sha256.New()}
	if alg == algSHA512 {
		d.sha512 = sha512.New()
	}
	return d
}

func (d digests) write(b []byte) {
	d.sha256.Write(b)
	if d.sha512 != nil {
		d.sha512.Write(b)
	}
}

// sum returns the digest by an algorithm in hex. That of SHA-512 is there only if it was asked for.
func (d digests) sum(alg string) string {
	if alg == algSHA512 {
		return hex.EncodeToString(d.sha512.Sum(nil))
	}
	return hex.EncodeToString(d.sha256.Sum(nil))
}
