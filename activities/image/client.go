package image

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

const userAgent = "berth"

// newClient prepares a client for long downloads: no bound on the whole, and nothing that changes the bytes.
func newClient(base *http.Client) *http.Client {
	client := http.Client{}
	if base != nil {
		client = *base
	} else {
		transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:errcheck // its type is documented
		transport.DisableCompression = true
		client.Transport = transport
	}
	client.Timeout = 0
	next := client.CheckRedirect
	client.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		// It would tell the other server the query of the first URL.
		req.Header.Del("Referer")
		if req.URL.Scheme != "http" && req.URL.Scheme != "https" {
			return errForeignRedirect
		}
		if next != nil {
			return next(req, via)
		}
		if len(via) >= 10 {
			return errTooManyRedirects
		}
		return nil
	}
	return &client
}

var (
	errTooManyRedirects = errors.New("too many redirects")
	errForeignRedirect  = errors.New("the server redirects to what is neither http nor https")
)

func newRequest(ctx context.Context, s source) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil { // the error would repeat the URL
		return nil, invalid("the image's URL cannot be used")
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept-Encoding", "identity")
	return req, nil
}

// safeCause returns the part of a client's error that names no URL: URLs, also those that redirects lead to, may hold
// credentials in their query. What is not known to be safe is left out.
func safeCause(err error) error {
	var (
		urlErr  *url.Error
		opErr   *net.OpError
		dnsErr  *net.DNSError
		certErr *tls.CertificateVerificationError
		netErr  net.Error
	)
	switch {
	case errors.Is(err, errTooManyRedirects):
		return errTooManyRedirects
	case errors.Is(err, errForeignRedirect):
		return errForeignRedirect
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errors.New("the connection was closed in the middle")
	case errors.As(err, &certErr):
		return certErr
	case errors.As(err, &dnsErr):
		return dnsErr
	case errors.As(err, &opErr):
		return opErr
	case errors.As(err, &netErr) && netErr.Timeout():
		return errors.New("timeout")
	case errors.As(err, &urlErr) && strings.HasPrefix(urlErr.Err.Error(), "http: server gave HTTP response to HTTPS client"):
		return errors.New("the server speaks http, not https")
	default:
		return errors.New("the request failed")
	}
}

// unchanged asks a server whether what it sent before is still the same. Without a clear yes it is not.
func (c *Cache) unchanged(ctx context.Context, s source, e entry) bool {
	if e.ETag == "" && e.LastModified == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, c.opts.StallTimeout)
	defer cancel()
	req, err := newRequest(ctx, s)
	if err != nil {
		return false
	}
	if e.ETag != "" {
		req.Header.Set("If-None-Match", e.ETag)
	} else {
		req.Header.Set("If-Modified-Since", e.LastModified)
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close() // without reading it: if it is not a 304 it is the image
	return resp.StatusCode == http.StatusNotModified
}
