package backend

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"

	v1 "github.com/berth-dev/berth/api/v1"
)

// pageToken is Temporal's token for the next page of a query, behind a sum over both; empty if there is no next page.
// Temporal answers a token that it cannot read as if it were down itself, and one of another query with other rows.
func pageToken(query string, next []byte) string {
	if len(next) == 0 {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(append(tokenSum(query, next), next...))
}

// openPageToken returns Temporal's token again, or a FieldErrors if the text is none that pageToken made for this query.
func openPageToken(query, text string) ([]byte, error) {
	if text == "" {
		return nil, nil
	}
	all, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil && len(all) > crc32.Size {
		if next := all[crc32.Size:]; string(tokenSum(query, next)) == string(all[:crc32.Size]) {
			return next, nil
		}
	}
	return nil, v1.FieldErrors{{
		Path: "pageToken", Reason: v1.ReasonInvalid, Message: "is not a token that this API gave out for this list and these filters",
	}}
}

func tokenSum(query string, next []byte) []byte {
	sum := crc32.Update(crc32.ChecksumIEEE([]byte(query)), crc32.IEEETable, next)
	return binary.BigEndian.AppendUint32(nil, sum)
}
