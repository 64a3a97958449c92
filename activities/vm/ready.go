package vm

import (
	"context"
	"path/filepath"
	"time"

	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const defaultBootTimeout = 5 * time.Minute

// awaitReady waits until the guest is what the spec calls ready, or a job's guest has ended.
func (r *Runtime) awaitReady(ctx context.Context, c *step.Call) (contract.StepOut, error) {
	vm, err := spec(c)
	if err != nil {
		return contract.StepOut{}, err
	}
	s, err := readState(c.Dir)
	if err != nil {
		return contract.StepOut{}, err
	}
	timeout := vm.BootTimeout.D()
	if timeout <= 0 {
		timeout = defaultBootTimeout
	}
	since := s.Boot.Since
	if since.IsZero() {
		since = time.Now()
	}
	progress := report(c, contract.StepAwaitReady)
	ready := r.readiness(vm.Readiness, c, s.Boot)
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		elapsed := time.Since(since)
		progress(v1.Progress{
			Detail: "booting", Unit: "ms", Done: min(elapsed, timeout).Milliseconds(), Total: timeout.Milliseconds(),
		})
		out, done, err := r.look(ctx, c, ready)
		if done || err != nil {
			out.StartedAt = s.Boot.At
			return out, err
		}
		if elapsed >= timeout {
			return contract.StepOut{}, bootTimeout(ctx, filepath.Join(c.Dir, consoleFile), timeout, out.Found)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return contract.StepOut{}, context.Cause(ctx)
		}
	}
}

// look looks once; done is true if there is nothing to wait for any more. While libvirt does not answer nothing can be
// said: the wait goes on.
func (r *Runtime) look(ctx context.Context, c *step.Call, ready readyFunc) (out contract.StepOut, done bool, err error) {
	d, err := r.existing(ctx, c.In.Ref.Workload)
	if contract.ReasonOf(err) == v1.ReasonRuntimeUnavailable {
		return out, false, nil
	}
	if err != nil {
		return out, false, err
	}
	out.RuntimeID = d.UUID
	if d.Power == PowerOff {
		exit := exitOf(d.Domain)
		if c.In.Ref.Attempt > 0 {
			out.Exit = exit
			return out, true, nil
		}
		return out, false, contract.Retryable(v1.ReasonExited, "look at its console: berth logs "+c.In.Ref.Workload,
			"the guest ended before it was ready: %s%s", exit.Message, quotedLastLine(ctx, filepath.Join(c.Dir, consoleFile)))
	}
	if d.Power == PowerPaused {
		out.Found = "it is paused: " + d.Why
		return out, false, nil
	}
	if !ready(ctx) {
		return out, false, nil
	}
	out.Addresses = r.addresses(ctx, d.Name)
	return out, true, nil
}

// readyFunc looks once whether a guest that runs is ready.
type readyFunc func(ctx context.Context) bool

func (r *Runtime) readiness(want *v1.Readiness, c *step.Call, b boot) readyFunc {
	when := v1.ReadyRunning
	if want != nil {
		when = want.When
	}
	name := r.ids.domain(c.In.Ref.Workload)
	switch when {
	case v1.ReadyAgent:
		return func(ctx context.Context) bool { return r.driver.PingAgent(ctx, name) == nil }
	case v1.ReadyConsole:
		path, at, finder := filepath.Join(c.Dir, consoleFile), b.Console, lineFinder{want: want.Line}
		return func(context.Context) bool {
			for {
				piece, next, err := readConsole(path, at)
				if err != nil {
					r.log.Warn("the console can't be read", "workload", c.In.Ref.Workload, "error", err)
					return false
				}
				at = next
				if finder.found(piece) || len(piece) == 0 {
					return len(piece) > 0
				}
			}
		}
	case v1.ReadyRunning:
		fallthrough
	default:
		return func(context.Context) bool { return true }
	}
}

func bootTimeout(ctx context.Context, console string, timeout time.Duration, found string) error {
	if found != "" {
		found = "; " + found
	}
	return contract.Retryable(v1.ReasonBootTimeout, "look at its console, or allow more time with bootTimeout",
		"the guest was not ready within %s%s%s", timeout, found, quotedLastLine(ctx, console))
}

// quotedLastLine ends a message with what the console says last, if it says anything.
func quotedLastLine(ctx context.Context, console string) string {
	line := lastLine(ctx, console)
	if line == "" {
		return "; its console is empty"
	}
	return "; its console says last: " + line
}
