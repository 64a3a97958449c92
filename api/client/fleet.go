package client

import (
	"context"
	"net/http"

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

// ActionFilter picks actions. Empty fields pick all.
type ActionFilter struct {
	Workload, Verb, Status, Host string
	// Limit is how many are wanted; zero leaves it to the server.
	Limit int
}

// Actions returns actions, newest first.
func (c *Client) Actions(ctx context.Context, f ActionFilter) (v1.ActionList, error) {
	var out v1.ActionList
	query := values("workload", f.Workload, "verb", f.Verb, "status", f.Status, "host", f.Host, "limit", number(f.Limit))
	err := c.do(ctx, call{method: http.MethodGet, path: []string{"v1/actions"}, query: query, out: &out})
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
