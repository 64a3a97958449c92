package client

import (
	"context"
	"net/http"

	v1 "github.com/berth-dev/berth/api/v1"
)

// LatestSweep stands for the sweep that was started last.
const LatestSweep = "latest"

// StartSweep starts a sweep. While one runs it is refused as v1.ReasonSweepRunning.
func (c *Client) StartSweep(ctx context.Context, r v1.SweepRequest, change Change) (v1.Sweep, error) {
	var out v1.Sweep
	err := c.do(ctx, call{method: http.MethodPost, path: []string{"v1/sweeps"}, header: change.header(), body: r, out: &out})
	return out, err
}

// Sweep returns one sweep, with a page of what it found; zero leaves the size of the page to the server.
func (c *Client) Sweep(ctx context.Context, id string, limit int, pageToken string) (v1.Sweep, error) {
	var out v1.Sweep
	query := values("limit", number(limit), "pageToken", pageToken)
	err := c.do(ctx, call{method: http.MethodGet, path: []string{"v1/sweeps", id}, query: query, out: &out})
	return out, err
}

// SweepSchedule returns when sweeps run by themselves, and how.
func (c *Client) SweepSchedule(ctx context.Context) (v1.SweepSchedule, error) {
	var out v1.SweepSchedule
	err := c.do(ctx, call{method: http.MethodGet, path: []string{"v1/sweep-schedule"}, out: &out})
	return out, err
}

// ChangeSweepSchedule changes when sweeps run by themselves, and how, and returns the schedule as it is then.
func (c *Client) ChangeSweepSchedule(ctx context.Context, change v1.SweepScheduleChange) (v1.SweepSchedule, error) {
	var out v1.SweepSchedule
	err := c.do(ctx, call{method: http.MethodPatch, path: []string{"v1/sweep-schedule"}, body: change, out: &out})
	return out, err
}
