// Package client speaks Berth's REST API as api/openapi.yaml describes it. A test of package rest holds it, the server
// and the document against each other.
package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
)

// maxAnswer bounds what is read of an answer.
const maxAnswer = 16 << 20

// Options say how a client reaches a server.
type Options struct {
	// Address is a URL, for example "http://127.0.0.1:8080".
	Address string
	// Token is sent with each request, unless it is empty.
	Token string
	// CAFile holds certificates to trust beside the system's.
	CAFile string
	// Patience is how long a request is repeated that got no answer, or one of 429 or 503. Zero means that it is not.
	Patience time.Duration
}

// Client is safe for concurrent use.
type Client struct {
	base     *url.URL
	token    string
	patience time.Duration
	http     *http.Client
}

// New returns a client. It connects to nothing yet.
func New(o Options) (*Client, error) {
	base, err := url.Parse(o.Address)
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" {
		return nil, fmt.Errorf("the address %q is not of the form http://host:port", o.Address)
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute,
	}
	if o.CAFile != "" {
		pool, err := x509.SystemCertPool()
		if err != nil {
			return nil, fmt.Errorf("load the system's certificates: %w", err)
		}
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read the CA file: %w", err)
		}
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("the CA file %s has no certificate", o.CAFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return &Client{
		base: base, token: o.Token, patience: o.Patience,
		http: &http.Client{Transport: transport, Timeout: 30 * time.Second},
	}, nil
}

// call is one request and where its answer goes.
type call struct {
	method string
	path   []string
	query  url.Values
	header http.Header
	body   any
	out    any
	// expect is a status beside 2xx whose body is an answer too.
	expect int
}

// do carries out a call, repeating it while that can help. A refusal is an *Error.
func (c *Client) do(ctx context.Context, k call) error {
	var body []byte
	if k.body != nil {
		var err error
		if body, err = json.Marshal(k.body); err != nil {
			return fmt.Errorf("write the request: %w", err)
		}
	}
	giveUp := time.Now().Add(c.patience)
	for pause := 200 * time.Millisecond; ; pause = min(2*pause, 3*time.Second) {
		err := c.once(ctx, k, body)
		wait, again := repeatable(err, pause)
		if err == nil || !again || time.Now().Add(wait).After(giveUp) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

func (c *Client) once(ctx context.Context, k call, body []byte) error {
	target, err := c.target(k.path)
	if err != nil {
		return err
	}
	target.RawQuery = k.query.Encode()
	request, err := http.NewRequestWithContext(ctx, k.method, target.String(), bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("make the request: %w", err)
	}
	for name, values := range k.header {
		request.Header[name] = values
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return &Unreachable{Address: c.base.String(), Cause: err}
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return &Unreachable{Address: c.base.String(), Cause: err}
	}
	if response.StatusCode/100 != 2 && response.StatusCode != k.expect {
		return errorOf(response, data)
	}
	if err := json.Unmarshal(data, k.out); err != nil {
		return fmt.Errorf("read the server's answer: %w", err)
	}
	return nil
}

// target is where a call goes: all of its path but the first are names, each one segment whatever is in it.
func (c *Client) target(path []string) (*url.URL, error) {
	segments := slices.Clone(path)
	for i, name := range segments[1:] {
		if name == "" {
			return nil, &Error{Problem: v1.Problem{Reason: v1.ReasonInvalid, Detail: "a name is empty"}}
		}
		segments[i+1] = url.PathEscape(name)
	}
	return c.base.JoinPath(segments...), nil
}

// repeatable reports whether the same request may succeed later, and after what time.
func repeatable(err error, pause time.Duration) (time.Duration, bool) {
	var lost *Unreachable
	if errors.As(err, &lost) {
		return pause, true
	}
	var refused *Error
	if errors.As(err, &refused) && (refused.Status == http.StatusTooManyRequests || refused.Status == http.StatusServiceUnavailable) {
		return max(pause, refused.RetryAfter), true
	}
	return 0, false
}

// Error is a refusal by the server.
type Error struct {
	v1.Problem
	RetryAfter time.Duration
}

// Error returns the reason, what is wrong with which fields, and the advice, on one line.
func (e *Error) Error() string {
	text := string(e.Reason) + ": " + e.Detail
	if len(e.Errors) > 0 {
		parts := make([]string, len(e.Errors))
		for i, f := range e.Errors {
			parts[i] = f.Error()
		}
		return string(e.Reason) + ": " + strings.Join(parts, "; ")
	}
	if e.Advice != "" {
		text += " (" + e.Advice + ")"
	}
	return text
}

// IsNotFound reports whether the server said that there is no such thing.
func IsNotFound(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == http.StatusNotFound
}

// Unreachable says that no answer came.
type Unreachable struct {
	Address string
	Cause   error
}

// Error names the address and the cause.
func (e *Unreachable) Error() string {
	cause := e.Cause
	var inner *url.Error
	if errors.As(cause, &inner) {
		cause = inner.Err // without the URL, whose query says more than is needed
	}
	return fmt.Sprintf("no answer from %s: %v (is `berth server` or `berth dev` running?)", e.Address, cause)
}

// Unwrap returns the cause.
func (e *Unreachable) Unwrap() error { return e.Cause }

func errorOf(response *http.Response, data []byte) error {
	e := &Error{}
	if err := json.Unmarshal(data, &e.Problem); err != nil || e.Reason == "" {
		e.Problem = v1.Problem{
			Status: response.StatusCode, Reason: v1.ReasonInternal,
			Detail: "the server answered " + response.Status + " without saying why: is this a Berth server?",
		}
	}
	if d, err := time.ParseDuration(response.Header.Get("Retry-After") + "s"); err == nil {
		e.RetryAfter = d
	}
	return e
}
