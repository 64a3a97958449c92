//go:build load

package load_test

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"github.com/stretchr/testify/require"

	api "github.com/berth-dev/berth/api/client"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// containers are workloads to be stopped, all Running.
func (s *storm) containers(name string, n int) []string {
	var names []string
	for i := range n {
		each := fmt.Sprint(name, "-", i)
		s.Apply(s.Parse("apiVersion: berth/v1\nkind: Container\nmetadata: {name: " + each + "}\nspec:\n  image: " +
			harness.ContainerImage(s.t) + "\n  pull: never\n  command: [/bin/sh, -c, \"trap 'exit 0' TERM; sleep 1000 & wait\"]\n"))
		names = append(names, each)
	}
	for _, each := range names {
		s.AwaitPhase(each, time.Minute, v1.PhaseRunning)
	}
	return names
}

// stop stops workloads one after the other, and returns how long each took beyond what the engine takes: the time from the
// request to when the workload shows as Stopped, less that of `docker stop` for another one just before.
func (s *storm) stop(names []string) (beyond []time.Duration) {
	c := s.Client()
	for i := 0; i+1 < len(names); i += 2 {
		bare := s.bareStop(names[i])
		sent := time.Now()
		_, err := c.Do(s.t.Context(), names[i+1], v1.VerbStop, api.Change{})
		require.NoError(s.t, err)
		v := s.AwaitPhase(names[i+1], time.Minute, v1.PhaseStopped)
		beyond = append(beyond, (v.Status.ChangedAt.Sub(sent) - bare).Round(time.Millisecond))
	}
	return beyond
}

// stopWithin spreads the stops over some time.
func (s *storm) stopWithin(names []string, within time.Duration) (beyond []time.Duration) {
	tick := time.NewTicker(within / time.Duration(len(names)/2))
	defer tick.Stop()
	for i := 0; i+1 < len(names); i += 2 {
		<-tick.C
		beyond = append(beyond, s.stop(names[i:i+2])...)
	}
	return beyond
}

// bareStop is how long the engine takes to stop a container.
func (s *storm) bareStop(name string) time.Duration {
	begin := time.Now()
	out, err := exec.CommandContext(s.t.Context(), "docker", "stop", "berth."+s.ID+".h1."+name).CombinedOutput()
	require.NoErrorf(s.t, err, "%s", out)
	return time.Since(begin)
}

// client, do and await are for goroutines beside the test.
func (s *storm) client() (*api.Client, error) {
	return api.New(api.Options{Address: s.API, Patience: time.Minute})
}

func (s *storm) do(ctx context.Context, name string, verb v1.Verb) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	a, err := c.Do(ctx, name, verb, api.Change{})
	if err != nil {
		return err
	}
	return s.until(ctx, c, name, func(v v1.View) bool { return v.Status.Seq >= a.Seq && v.Status.Settled })
}

func (s *storm) await(ctx context.Context, c *api.Client, name string, phase v1.Phase) error {
	return s.until(ctx, c, name, func(v v1.View) bool { return v.Status.Phase == phase })
}

// until returns when a workload is as wanted, when it is gone, or when the storm is over.
func (s *storm) until(ctx context.Context, c *api.Client, name string, wanted func(v1.View) bool) error {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		v, err := c.Get(ctx, name)
		switch {
		case api.IsNotFound(err):
			return nil
		case err != nil:
			return err
		case wanted(v):
			return nil
		case v.Status.Phase == v1.PhaseFailed:
			return fmt.Errorf("%s: %s %s", name, v.Status.Reason, v.Status.Message)
		}
		select {
		case <-tick.C:
		case <-s.done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
