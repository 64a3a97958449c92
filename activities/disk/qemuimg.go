package disk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	qemuImgName   = "qemu-img"
	maxToolOutput = 512
)

// qemuImg runs qemu-img. Callers have inspected every file that it will open, name formats explicitly, and pass paths
// that went through checkPath. The process is killed when ctx ends, and when the agent dies.
func qemuImg(ctx context.Context, doing string, args ...string) error {
	// The kernel ties Pdeathsig to the thread that forks, so that thread has to stay.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, qemuImgName, args...)
	cmd.Env = []string{"LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	cmd.Stderr = &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = time.Second

	err := cmd.Run()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", doing, ctx.Err())
	case errors.Is(err, exec.ErrNotFound):
		return contract.Retryable(v1.ReasonRuntimeUnavailable, "install qemu-img on the host (Debian: qemu-utils)",
			"cannot %s: %s is not installed", doing, qemuImgName)
	case strings.Contains(stderr.String(), syscall.ENOSPC.Error()), strings.Contains(stderr.String(), "No space left"):
		return Classify(doing, syscall.ENOSPC)
	default:
		return contract.Retryable(v1.ReasonRuntimeError, "look at the agent's log and at the host's disks",
			"cannot %s: %s", doing, toolOutput(stderr.String(), err))
	}
}

// toolOutput is what a tool said, in one line of bounded length.
func toolOutput(stderr string, err error) string {
	line := strings.Join(strings.Fields(stderr), " ")
	if line == "" {
		return err.Error()
	}
	if len(line) > maxToolOutput {
		line = strings.ToValidUTF8(line[:maxToolOutput], "") + "…"
	}
	return line
}
