package devserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// logMax is the size at which a child's log is set aside when the child starts.
const logMax = 32 << 20

// process is one run of a child.
type process struct {
	cmd     *exec.Cmd
	started time.Time
	exited  chan struct{}
	err     error // set before exited is closed
}

// startProcess runs the command in a process group of its own, so that Ctrl-C on the terminal reaches only the parent,
// which stops its children in order. The kernel kills the process when its parent dies.
func startProcess(command, env []string, logPath string) (*process, error) {
	if err := os.MkdirAll(filepath.Dir(logPath), 0o750); err != nil {
		return nil, fmt.Errorf("make the log's directory: %w", err)
	}
	if info, err := os.Stat(logPath); err == nil && info.Size() > logMax {
		if err := os.Rename(logPath, logPath+".1"); err != nil {
			return nil, fmt.Errorf("set the log aside: %w", err)
		}
	}
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	defer log.Close() // the child has its own copy
	// No context ends it: whoever started it calls stop, which asks first.
	cmd := exec.CommandContext(context.Background(), command[0], command[1:]...)
	p := &process{cmd: cmd, started: time.Now(), exited: make(chan struct{})}
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = env, log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// gone reports whether the process has ended.
func (p *process) gone() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// reason says how the process ended. It may be called once exited is closed.
func (p *process) reason() error {
	if p.err != nil {
		return p.err
	}
	return errors.New("exit status 0")
}

// stop sends SIGTERM, and SIGKILL after grace, and waits for the end.
func (p *process) stop(grace time.Duration) {
	// A failure to signal means that the process has just ended, which is what is waited for.
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(grace):
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
}

// tail returns the last lines of a log, indented for an error message, or nothing if it cannot be read.
func tail(path string) string {
	const lines, bytes = 5, 4096
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > bytes {
		if _, err := f.Seek(-bytes, 2); err != nil {
			return ""
		}
	}
	buf := make([]byte, bytes)
	n, _ := f.Read(buf)
	all := strings.Split(strings.TrimSpace(string(buf[:n])), "\n")
	return "\n    " + strings.Join(all[max(0, len(all)-lines):], "\n    ")
}
