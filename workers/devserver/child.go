package devserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

const (
	restartMin = 200 * time.Millisecond
	restartMax = 10 * time.Second
	// steady is how long a child must have run for its next death to count as the first.
	steady = 30 * time.Second
)

// Child is a process that is started, watched, restarted when it dies, and stopped. It dies with its parent, even if
// the parent is killed.
type Child struct {
	// Name is for logs and errors.
	Name string
	// Command is the path of the program and its arguments. They hold no secrets: every user of the host can read them.
	Command []string
	// Env is the whole environment.
	Env []string
	// Log is the file that gets the child's output.
	Log string
	// Check says whether the child is ready. Nil means: as soon as it runs.
	Check func(context.Context) error
	// ReadyWithin bounds each start; StopWithin is the time between SIGTERM and SIGKILL.
	ReadyWithin time.Duration
	StopWithin  time.Duration
	Logger      *slog.Logger

	mu       sync.Mutex
	current  *process
	stopping chan struct{}
	done     chan struct{}
}

// Start starts the child and waits until it is ready. A child that exits first, or is not ready in time, is an error
// that carries the end of its output. After Start has succeeded, the child is restarted whenever it dies.
func (c *Child) Start(ctx context.Context) error {
	p, err := c.launch(ctx)
	if err != nil {
		return err
	}
	c.stopping, c.done = make(chan struct{}), make(chan struct{})
	go c.supervise(p)
	return nil
}

// Stop ends the child: SIGTERM, and SIGKILL after StopWithin. It returns when the process is gone.
func (c *Child) Stop() {
	if c.stopping == nil {
		return
	}
	c.mu.Lock()
	select {
	case <-c.stopping:
	default:
		close(c.stopping)
	}
	c.mu.Unlock()
	<-c.done
}

// PID is the process id of the child, or zero between a death and the restart.
func (c *Child) PID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil || c.current.gone() {
		return 0
	}
	return c.current.cmd.Process.Pid
}

// launch starts one process and waits until it is ready; if that fails, no process is left.
func (c *Child) launch(ctx context.Context) (*process, error) {
	p, err := startProcess(c.Command, c.Env, c.Log)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	c.mu.Lock()
	c.current = p
	c.mu.Unlock()
	if err := c.awaitReady(ctx, p); err != nil {
		p.stop(c.StopWithin)
		return nil, fmt.Errorf("%s: %w (its output is in %s)%s", c.Name, err, c.Log, tail(c.Log))
	}
	return p, nil
}

func (c *Child) awaitReady(ctx context.Context, p *process) error {
	if c.Check == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.ReadyWithin)
	defer cancel()
	for {
		err := c.Check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return fmt.Errorf("exited before it was ready: %w", p.reason())
		case <-ctx.Done():
			return fmt.Errorf("not ready within %s: %w", c.ReadyWithin, errors.Join(err, ctx.Err()))
		case <-time.After(25 * time.Millisecond):
		}
	}
}

// supervise restarts the child whenever it dies, until Stop.
func (c *Child) supervise(p *process) {
	defer close(c.done)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-c.stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	pause := restartMin
	for {
		select {
		case <-c.stopping:
			p.stop(c.StopWithin)
			return
		case <-p.exited:
		}
		if time.Since(p.started) > steady {
			pause = restartMin
		}
		c.Logger.Warn("a child process died and is started again", "child", c.Name, "error", p.reason(), "in", pause, "log", c.Log)
		next := c.restart(ctx, &pause)
		if next == nil {
			return
		}
		p = next
	}
}

// restart tries until a new process is ready; it returns nil once ctx has ended.
func (c *Child) restart(ctx context.Context, pause *time.Duration) *process {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(*pause):
		}
		*pause = min(2**pause, restartMax)
		p, err := c.launch(ctx)
		if err == nil {
			c.Logger.Info("a child process is up again", "child", c.Name, "pid", p.cmd.Process.Pid)
			return p
		}
		if ctx.Err() == nil {
			c.Logger.Error("a child process cannot be started", "child", c.Name, "error", err, "nextTry", *pause)
		}
	}
}
