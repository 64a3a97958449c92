package harness

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Limits of waiting. They are generous, as only a test that fails waits for that long: a slow machine is no failure.
const (
	// readyWithin is how long a process may take until it is ready, stopWithin until it has ended after SIGTERM.
	readyWithin = 2 * time.Minute
	stopWithin  = 2 * time.Minute
	// briefly bounds programs and conditions that take a moment on an idle machine.
	briefly = 5 * time.Minute
)

// Command says what to run.
type Command struct {
	// Name is for logs and failures.
	Name string
	Path string
	Args []string
	// Env is added to the test's environment, which is passed on without its Temporal and Berth settings.
	Env []string
	// Ready, if set, is asked until it returns nil; ReadyWithin bounds that (default readyWithin).
	Ready       func(context.Context) error
	ReadyWithin time.Duration
}

// Process is a program that a test starts, kills and starts again. All its runs write to one log. Its methods are for
// the test's own goroutine, except PID, Running and Log.
type Process struct {
	t   testing.TB
	cmd Command
	log string

	mu  sync.Mutex
	run *run
}

// run is one life of a process.
type run struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // set before done is closed
}

// Run starts a program, waits until it is ready, and ends it with the test. The end of its log is shown if the test
// fails.
func Run(t testing.TB, c Command) *Process {
	t.Helper()
	p := &Process{t: t, cmd: c, log: filepath.Join(t.TempDir(), c.Name+".log")}
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("the end of %s's log:\n%s", c.Name, lastLines(p.Log(), 80))
		}
	})
	p.Start()
	return p
}

// Start starts the program if it does not run, and waits until it is ready.
func (p *Process) Start() {
	p.t.Helper()
	p.Launch()
	p.AwaitReady()
}

// Launch starts the program if it does not run, without waiting for it.
func (p *Process) Launch() {
	p.t.Helper()
	if p.Running() {
		return
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(p.t, err)
	defer log.Close() // the process has its own copy
	// The process outlives any context: Kill and the test's end stop it.
	cmd := exec.CommandContext(context.WithoutCancel(p.t.Context()), p.cmd.Path, p.cmd.Args...)
	cmd.Env = append(cleanEnv(os.Environ()), p.cmd.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	// A group of its own, so that its children die with it. If the tests are killed, the kernel ends it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	require.NoErrorf(p.t, cmd.Start(), "start %s", p.cmd.Name)
	r := &run{cmd: cmd, done: make(chan struct{})}
	go func() {
		r.err = cmd.Wait()
		close(r.done)
	}()
	p.mu.Lock()
	p.run = r
	p.mu.Unlock()
}

// AwaitReady waits until the program says that it is ready. It fails the test at once if the program ends first.
func (p *Process) AwaitReady() {
	p.t.Helper()
	if p.cmd.Ready == nil {
		return
	}
	within := p.cmd.ReadyWithin
	if within == 0 {
		within = readyWithin
	}
	r := p.current()
	ctx, cancel := context.WithTimeout(p.t.Context(), within)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := p.cmd.Ready(ctx)
		if err == nil {
			return
		}
		select {
		case <-r.done:
			require.FailNowf(p.t, "it ended before it was ready", "%s: %v", p.cmd.Name, r.err)
		case <-ctx.Done():
			require.FailNowf(p.t, "it is not ready", "%s after %s: %v", p.cmd.Name, within, errors.Join(err, ctx.Err()))
		case <-tick.C:
		}
	}
}

// Kill ends the program and its children with SIGKILL, if it runs, and waits until it is gone.
func (p *Process) Kill() { p.end(syscall.SIGKILL) }

// Stop ends the program with SIGTERM and waits until it is gone. It fails the test if that takes too long.
func (p *Process) Stop() {
	p.t.Helper()
	r := p.current()
	if r == nil || !p.Running() {
		return
	}
	p.signal(r, syscall.SIGTERM)
	select {
	case <-r.done:
	case <-time.After(stopWithin):
		p.Kill()
		require.FailNowf(p.t, "it does not stop", "%s ignored SIGTERM for %s", p.cmd.Name, stopWithin)
	}
}

// Restart kills the program and starts it again.
func (p *Process) Restart() {
	p.t.Helper()
	p.Kill()
	p.Start()
}

// Pause stops the program's processes where they are, and Resume lets them go on: a machine that hangs.
func (p *Process) Pause() { p.signal(p.current(), syscall.SIGSTOP) }

// Resume undoes Pause.
func (p *Process) Resume() { p.signal(p.current(), syscall.SIGCONT) }

// Await waits until the program has ended by itself, and returns its exit code.
func (p *Process) Await(within time.Duration) int {
	p.t.Helper()
	r := p.current()
	select {
	case <-r.done:
		return r.cmd.ProcessState.ExitCode()
	case <-time.After(within):
		require.FailNowf(p.t, "it does not end", "%s runs on after %s", p.cmd.Name, within)
		return -1
	}
}

// SetArgs changes the arguments of the next start.
func (p *Process) SetArgs(args ...string) { p.cmd.Args = args }

// SetEnv changes the added environment of the next start.
func (p *Process) SetEnv(env ...string) { p.cmd.Env = env }

// Running reports whether the program runs.
func (p *Process) Running() bool {
	r := p.current()
	if r == nil {
		return false
	}
	select {
	case <-r.done:
		return false
	default:
		return true
	}
}

// PID is the process id of the last start.
func (p *Process) PID() int { return p.current().cmd.Process.Pid }

// Log is all that the program has written in all its runs.
func (p *Process) Log() string {
	data, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func (p *Process) current() *run {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.run
}

func (p *Process) end(sig syscall.Signal) {
	r := p.current()
	if r == nil {
		return
	}
	p.signal(r, sig)
	<-r.done
}

// signal reaches the whole group. A group that is gone already is what was wanted.
func (p *Process) signal(r *run, sig syscall.Signal) {
	if err := syscall.Kill(-r.cmd.Process.Pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		p.t.Errorf("%s: %v: %v", p.cmd.Name, sig, err)
	}
}

// cleanEnv drops settings of the caller's own fleet: a test that followed them would act there.
func cleanEnv(env []string) []string {
	var out []string
	for _, kv := range env {
		if !strings.HasPrefix(kv, "TEMPORAL_") && !strings.HasPrefix(kv, "BERTH_") {
			out = append(out, kv)
		}
	}
	return out
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
