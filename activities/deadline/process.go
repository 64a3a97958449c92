package deadline

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Process names one process of this boot: numbers are given again, but never with the same start.
type Process struct {
	PID int `json:"pid"`
	// Start is when it was started, in the kernel's ticks since boot.
	Start uint64 `json:"start"`
}

// ErrGone says that a process does not run any more.
var ErrGone = errors.New("the process is gone")

// ProcessOf looks a running process up by its number. One that does not run is ErrGone.
func ProcessOf(pid int) (Process, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return Process{}, ErrGone
	}
	if err != nil {
		return Process{}, fmt.Errorf("look at process %d: %w", pid, err)
	}
	// The name stands in parentheses and may hold anything; the state follows, and the start is 19 fields later.
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 20 {
		return Process{}, fmt.Errorf("process %d: its state can't be read", pid)
	}
	if state := fields[0][0]; state == 'Z' || state == 'X' {
		return Process{}, ErrGone
	}
	start, err := strconv.ParseUint(string(fields[19]), 10, 64)
	if err != nil {
		return Process{}, fmt.Errorf("process %d: its start can't be read: %w", pid, err)
	}
	return Process{PID: pid, Start: start}, nil
}

// Self is the calling process.
func Self() (Process, error) { return ProcessOf(os.Getpid()) }

// Runs reports whether this very process runs.
func (p Process) Runs() bool {
	now, err := ProcessOf(p.PID)
	return err == nil && now == p
}

// Kill ends this very process with SIGKILL, which reaches a stopped one too, and waits until it is gone. One that is gone is
// no error.
func (p Process) Kill(within time.Duration) error {
	if p.PID <= 1 {
		return nil // never written
	}
	// The descriptor stands for one process: after the check below it can't be another's any more.
	fd, err := unix.PidfdOpen(p.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("take hold of process %d: %w", p.PID, err)
	}
	defer unix.Close(fd)
	if !p.Runs() {
		return nil
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill process %d: %w", p.PID, err)
	}
	end := Now() + within
	for {
		left := end - Now()
		if left <= 0 {
			return fmt.Errorf("process %d is still there %s after SIGKILL", p.PID, within)
		}
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, int(left.Milliseconds())+1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("wait for the end of process %d: %w", p.PID, err)
		}
		if n > 0 {
			return nil
		}
	}
}
