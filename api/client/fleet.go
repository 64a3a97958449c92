package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
)

// Hosts returns one page of hosts.
func (c *Client) Hosts(ctx context.Context, limit int, pageToken string) (v1.HostList, error) {
	var out v1.HostList
	query := values("limit", number(limit), "pageToken", pageToken)
	err := c.do(ctx, call{method: http.MethodGet, path: []string{"v1/hosts"}, query: query, out: &out})
	return out, err
}

// Host returns one host.
func (c *Client) Host(ctx context.Context, name string) (v1.Host, error) {
	var out v1.Host
	err := c.do(ctx, call{method: http.MethodGet, path: []string{"v1/hosts", name}, out: &out})
	return out, err
}

// Cordon keeps new work away from a host, or lets it in again, and returns the host as it is then.
func (c *Client) Cordon(ctx context.Context, host string, on bool) (v1.Host, error) {
	verb := "uncordon"
	if on {
		verb = "cordon"
	}
	return c.changeHost(ctx, host, nil, verb)
}

// Drain keeps new work away from a host and moves what runs there to others. It returns at once; the host's Drain says how
// far it has got. Uncordoning the host ends the drain.
func (c *Client) Drain(ctx context.Context, host string, r v1.DrainRequest) (v1.Host, error) {
	query := values("maxParallel", number(r.MaxParallel))
	if r.Deadline > 0 {
		query.Set("deadline", r.Deadline.String())
	}
	if r.Force {
		query.Set("force", "true")
	}
	return c.changeHost(ctx, host, query, "drain")
}

// SwitchRuntime switches a host's runtime on or off for new work, and returns the host as it is then.
func (c *Client) SwitchRuntime(ctx context.Context, host, runtime string, on bool) (v1.Host, error) {
	verb := "disable"
	if on {
		verb = "enable"
	}
	return c.changeHost(ctx, host, nil, "runtimes", runtime, verb)
}

// Forget gives a host up that will not come back. Its Message says what may remain there.
func (c *Client) Forget(ctx context.Context, host string) (v1.Host, error) {
	return c.changeHost(ctx, host, nil, "forget")
}

// Adopt lets a forgotten host in again.
func (c *Client) Adopt(ctx context.Context, host string) (v1.Host, error) {
	return c.changeHost(ctx, host, nil, "adopt")
}

func (c *Client) changeHost(ctx context.Context, host string, query url.Values, path ...string) (v1.Host, error) {
	var out v1.Host
	err := c.do(ctx, call{method: http.MethodPost, path: append([]string{"v1/hosts", host}, path...), query: query, out: &out})
	return out, err
}

// ActionFilter picks actions. Empty fields pick all.
type ActionFilter struct {
	Workload, Verb, Status, Host string
	// Since and Until bound when they started.
	Since, Until time.Time
	// Limit of one page; zero leaves it to the server.
	Limit     int
	PageToken string
}

// Actions returns one page of actions, newest first.
func (c *Client) Actions(ctx context.Context, f ActionFilter) (v1.ActionList, error) {
	var out v1.ActionList
	query := values("workload", f.Workload, "verb", f.Verb, "status", f.Status, "host", f.Host,
		"since", moment(f.Since), "until", moment(f.Until), "limit", number(f.Limit), "pageToken", f.PageToken)
	err := c.do(ctx, call{method: http.MethodGet, path: []string{"v1/actions"}, query: query, out: &out})
	return out, err
}

// Action returns one action with its steps.
func (c *Client) Action(ctx context.Context, id string) (v1.ActionView, error) {
	var out v1.ActionView
	err := c.do(ctx, call{method: http.MethodGet, path: []string{"v1/actions", id}, out: &out})
	return out, err
}

// Live fails unless the server serves requests.
func (c *Client) Live(ctx context.Context) error {
	return c.do(ctx, call{method: http.MethodGet, path: []string{"healthz/live"}, out: new(v1.Health)})
}

// Ready returns whether the server can take work, and what is missing if not; that it cannot is no error.
func (c *Client) Ready(ctx context.Context) (v1.Health, error) {
	var out v1.Health
	err := c.do(ctx, call{
		method: http.MethodGet, path: []string{"healthz/ready"}, out: &out, expect: http.StatusServiceUnavailable,
	})
	return out, err
}
