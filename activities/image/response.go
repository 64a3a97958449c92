package image

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// maxRetryAfter bounds what a server can ask for.
const maxRetryAfter = 15 * time.Minute

// statusError turns an answer that is not the image into a failure.
func statusError(s source, resp *http.Response) *contract.Error {
	code := resp.StatusCode
	said := fmt.Sprintf("%d %s", code, http.StatusText(code))
	switch {
	case code == http.StatusNotFound || code == http.StatusGone:
		return contract.Permanent(v1.ReasonImageNotFound, "check the URL", "%s: the server says %s", s.where, said)
	case code == http.StatusUnauthorized || code == http.StatusForbidden || code == http.StatusProxyAuthRequired:
		return contract.Permanent(v1.ReasonPolicyDenied, "check the credentials in the URL, and whether a signed URL has expired",
			"%s: the server says %s", s.where, said)
	case code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code == http.StatusTooEarly:
		err := contract.Retryable(v1.ReasonFetchFailed, "Berth tries again by itself", "%s: the server says %s", s.where, said)
		err.After = retryAfter(resp.Header.Get("Retry-After"), time.Now())
		return err
	default:
		return contract.Permanent(v1.ReasonFetchFailed, "check the URL", "%s: the server says %s", s.where, said)
	}
}

// retryAfter reads a number of seconds or a date. Zero means that nothing usable was said.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseInt(value, 10, 32); err == nil {
		return min(max(time.Duration(seconds)*time.Second, 0), maxRetryAfter)
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	return 0
}

// contentRange reads "bytes 5-9/10" or "bytes */10". start is -1 in the second form; total is zero if it is "*".
func contentRange(value string) (start, total int64, ok bool) {
	value, ok = strings.CutPrefix(value, "bytes ")
	span, whole, found := strings.Cut(value, "/")
	if !ok || !found {
		return 0, 0, false
	}
	if whole != "*" {
		n, err := strconv.ParseUint(whole, 10, 63)
		if err != nil {
			return 0, 0, false
		}
		total = int64(n)
	}
	if span == "*" {
		return -1, total, true
	}
	first, last, found := strings.Cut(span, "-")
	from, err1 := strconv.ParseUint(first, 10, 63)
	to, err2 := strconv.ParseUint(last, 10, 63)
	if !found || err1 != nil || err2 != nil || from > to || (whole != "*" && int64(to) >= total) {
		return 0, 0, false
	}
	return int64(from), total, true
}

// validator returns what proves to If-Range that a server still has the same bytes: a strong ETag, else a date.
func validator(etag, lastModified string) string {
	if etag != "" && !strings.HasPrefix(etag, "W/") {
		return etag
	}
	return lastModified
}
