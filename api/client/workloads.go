package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"

	v1 "github.com/berth-dev/berth/api/v1"
)

// Change is what may come with a request that changes something.
type Change struct {
	// Key makes repeats harmless. Empty means a random one, so that the client's own repeats are.
	Key string
	// Generation, if not zero, must be the current one.
	Generation int64
	// Force, with remove, does not wait for a host that is away: what is there is removed when the host comes back.
	Force bool
	// Volumes, with remove, removes named volumes too.
	Volumes bool
}

func (c Change) header() http.Header {
	if c.Key == "" {
		c.Key = uuid.NewString()
	}
	h := http.Header{"Idempotency-Key": {c.Key}}
	if c.Generation != 0 {
		h.Set("If-Match", strconv.Quote(strconv.FormatInt(c.Generation, 10)))
	}
	return h
}

// Put creates or updates a workload. With dryRun nothing is recorded.
func (c *Client) Put(ctx context.Context, w *v1.Workload, dryRun bool, change Change) (v1.Accepted, error) {
	query := url.Values{}
	if dryRun {
		query.Set("dryRun", "true")
	}
	var out v1.Accepted
	err := c.do(ctx, call{
		method: http.MethodPut, path: []string{"v1/workloads", w.Metadata.Name}, query: query, header: change.header(), body: w, out: &out,
	})
	return out, err
}

// Do starts, stops, restarts, retries or removes a workload.
func (c *Client) Do(ctx context.Context, name string, verb v1.Verb, change Change) (v1.Accepted, error) {
	k := call{method: http.MethodPost, path: []string{"v1/workloads", name, string(verb)}, header: change.header()}
	if verb == v1.VerbRemove {
		k.method, k.path = http.MethodDelete, k.path[:2]
		k.query = values("force", flag(change.Force), "volumes", flag(change.Volumes))
	}
	var out v1.Accepted
	k.out = &out
	err := c.do(ctx, k)
	return out, err
}

// Get returns one workload.
func (c *Client) Get(ctx context.Context, name string) (v1.View, error) {
	var out v1.View
	err := c.do(ctx, call{method: http.MethodGet, path: []string{"v1/workloads", name}, out: &out})
	return out, err
}

// Filter picks workloads. Empty fields pick all.
type Filter struct {
	Kind, Phase, Host, Label string
	// Limit of one page; zero leaves it to the server.
	Limit     int
	PageToken string
}

// List returns one page of workloads.
func (c *Client) List(ctx context.Context, f Filter) (v1.WorkloadList, error) {
	var out v1.WorkloadList
	query := values("kind", f.Kind, "phase", f.Phase, "host", f.Host, "label", f.Label, "limit", number(f.Limit), "pageToken", f.PageToken)
	err := c.do(ctx, call{method: http.MethodGet, path: []string{"v1/workloads"}, query: query, out: &out})
	return out, err
}

// Logs returns the last lines that a workload wrote; zero leaves their number to the server.
func (c *Client) Logs(ctx context.Context, name string, tail int) (v1.Logs, error) {
	var out v1.Logs
	err := c.do(ctx, call{
		method: http.MethodGet, path: []string{"v1/workloads", name, "logs"}, query: values("tail", number(tail)), out: &out,
	})
	return out, err
}

// values makes a query of names and values in turn; empty values are left out.
func values(pairs ...string) url.Values {
	out := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			out.Set(pairs[i], pairs[i+1])
		}
	}
	return out
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func flag(on bool) string {
	if on {
		return "true"
	}
	return ""
}

func moment(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339Nano)
}
