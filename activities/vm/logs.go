package vm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/berth-dev/berth/activities/record"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Bounds of what Logs returns.
const (
	maxLogLines = 10_000
	maxLogBytes = 2 << 20
)

// Logs returns the last lines of the serial console, over its rotated logs.
func (r *Runtime) Logs(ctx context.Context, rec record.Record, tail int) ([]string, error) {
	path := filepath.Join(r.dir(rec.Workload), consoleFile)
	lines, err := consoleTail(ctx, path, min(max(tail, 0), maxLogLines))
	if err != nil {
		return nil, contract.Retryable(v1.ReasonRuntimeUnavailable, "", "the console's log can't be read").WithCause(err)
	}
	return lines, nil
}

// consoleTail reads backwards, from the newest log to the oldest, until it has enough.
func consoleTail(ctx context.Context, path string, tail int) ([]string, error) {
	text := ""
	for i := -1; i < rotations && strings.Count(text, "\n") <= tail && len(text) < maxLogBytes; i++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		name := path
		if i >= 0 {
			name = fmt.Sprintf("%s.%d", path, i)
		}
		part, err := readEnd(name, maxLogBytes-len(text))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has not been written yet, or is just being rotated
		}
		if err != nil {
			return nil, err
		}
		text = part + text
	}
	if text == "" {
		return nil, nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	lines = lines[max(0, len(lines)-tail):]
	for i, line := range lines {
		lines[i] = cleanLine(line)
	}
	return lines, nil
}

// readEnd reads at most the last limit bytes of a file.
func readEnd(path string, limit int) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	start := max(0, info.Size()-int64(limit))
	data, err := io.ReadAll(io.NewSectionReader(f, start, int64(limit)))
	return string(data), err
}

// lastLine is the last line of the console that says something, bounded.
func lastLine(ctx context.Context, path string) string {
	lines, err := consoleTail(ctx, path, 50)
	if err != nil {
		return ""
	}
	for i := len(lines) - 1; i >= 0; i-- {
		if line := strings.TrimSpace(lines[i]); line != "" {
			return bounded(line, lineLength)
		}
	}
	return ""
}

// bounded cuts a text to a number of characters.
func bounded(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit]) + "…"
}
