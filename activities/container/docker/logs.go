package docker

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	dc "github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"
)

// Logs returns the last lines of a container's two outputs, in the order in which Docker got them.
func (d *Driver) Logs(ctx context.Context, id string, tail, maxBytes int) ([]string, error) {
	ctx, cancel := reading(ctx)
	defer cancel()
	docker, err := d.engine(ctx)
	if err != nil {
		return nil, err
	}
	i, err := docker.ContainerInspect(ctx, id)
	if err != nil {
		return nil, d.classify(ctx, "read the log", err)
	}
	stream, err := docker.ContainerLogs(ctx, id, dc.LogsOptions{ShowStdout: true, ShowStderr: true, Tail: strconv.Itoa(tail)})
	if err != nil {
		return nil, d.classify(ctx, "read the log", err)
	}
	defer func() { _ = stream.Close() }()
	last := &lastBytes{limit: maxBytes}
	if i.Config != nil && i.Config.Tty {
		_, err = io.Copy(last, stream)
	} else {
		_, err = stdcopy.StdCopy(last, last, stream)
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) { // a log that is being written may end in the middle of a frame
		return nil, d.classify(ctx, "read the log", err)
	}
	return last.lines(tail), nil
}

// lastBytes keeps the last bytes that were written to it.
type lastBytes struct {
	limit int
	data  []byte
	cut   bool
}

func (l *lastBytes) Write(p []byte) (int, error) {
	l.data = append(l.data, p...)
	if len(l.data) > 2*l.limit { // so that each byte is moved once at most
		l.trim()
	}
	return len(p), nil
}

func (l *lastBytes) trim() {
	if over := len(l.data) - l.limit; over > 0 {
		l.data, l.cut = append(l.data[:0], l.data[over:]...), true
	}
}

// lines returns at most n last lines. A first line whose beginning was cut off is left out, unless it is the only one.
func (l *lastBytes) lines(n int) []string {
	l.trim()
	text := strings.TrimSuffix(strings.ToValidUTF8(string(l.data), "\uFFFD"), "\n")
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	if l.cut && len(lines) > 1 {
		lines = lines[1:]
	}
	lines = lines[max(0, len(lines)-n):]
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\r")
	}
	return lines
}
