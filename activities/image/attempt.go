package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/berth-dev/berth/activities/disk"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

var (
	errStalled  = errors.New("stalled")
	errMismatch = errors.New("the server sent another range than was asked for")
)

// attempt makes one request and appends what it brings. It returns nil when everything is there, a *contract.Error if
// another attempt would not help now, and any other error if it might.
func (d *download) attempt(ctx context.Context) error {
	if d.complete() {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := time.AfterFunc(d.cache.opts.StallTimeout, func() { cancel(errStalled) })
	defer stall.Stop()

	err := d.request(ctx, stall)
	if err != nil && errors.Is(context.Cause(ctx), errStalled) {
		return contract.Retryable(v1.ReasonFetchStalled, "check the server and the network; Berth goes on from here by itself",
			"%s: the server sent nothing for %s, after %d bytes", d.source.where, d.cache.opts.StallTimeout, d.part.size)
	}
	return err
}

func (d *download) complete() bool {
	return d.part.state != nil && d.part.state.Total > 0 && d.part.size == d.part.state.Total
}

func (d *download) request(ctx context.Context, stall *time.Timer) error {
	req, err := newRequest(ctx, d.source)
	if err != nil {
		return err
	}
	if err := d.askForRest(req); err != nil {
		return err
	}
	d.progress("fetching " + d.source.name)(d.part.size)
	resp, err := d.cache.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()

	if done, err := d.accept(resp); done || err != nil {
		return err
	}
	return d.receive(ctx, resp.Body, stall)
}

// askForRest asks for what is missing if there is a way to know that it fits: the server compares a validator, or the
// checksum of the whole tells. Otherwise it starts again.
func (d *download) askForRest(req *http.Request) error {
	if d.part.size == 0 {
		return nil
	}
	proof := ""
	if d.part.state != nil {
		proof = validator(d.part.state.ETag, d.part.state.LastModified)
	}
	if proof == "" && d.source.alg == "" {
		return disk.Classify("start again", d.part.reset())
	}
	req.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.part.size))
	if proof != "" {
		req.Header.Set("If-Range", proof)
	} else {
		d.blind = true
	}
	return nil
}

// accept looks at an answer before its body. It reports true if nothing is missing any more.
func (d *download) accept(resp *http.Response) (bool, error) {
	etag, modified := resp.Header.Get("ETag"), resp.Header.Get("Last-Modified")
	switch resp.StatusCode {
	case http.StatusOK: // of the whole: no range was asked for, or it is not supported, or the image has changed
		if err := d.part.reset(); err != nil {
			return false, disk.Classify("start again", err)
		}
		d.blind = false
		if err := d.checkRoom(resp.ContentLength); err != nil {
			return false, err
		}
		return false, disk.Classify("fetch "+d.source.name, d.part.begin(etag, modified, resp.ContentLength))
	case http.StatusPartialContent:
		start, total, ok := contentRange(resp.Header.Get("Content-Range"))
		state := d.part.state
		if !ok || start != d.part.size || state == nil || (etag != "" && etag != state.ETag) || (state.Total > 0 && total > 0 && total != state.Total) {
			return false, errors.Join(errMismatch, d.part.reset())
		}
		state.Total = max(state.Total, total)
		return false, d.checkRoom(total)
	case http.StatusRequestedRangeNotSatisfiable:
		if start, total, ok := contentRange(resp.Header.Get("Content-Range")); ok && start < 0 && total == d.part.size && total > 0 {
			return true, nil
		}
		return false, errors.Join(errMismatch, d.part.reset())
	default:
		return false, statusError(d.source, resp)
	}
}

// checkRoom refuses an image of a total size that is too large for the host, as early as that is known. Sizes below one
// are unknown.
func (d *download) checkRoom(total int64) error {
	if limit := d.cache.opts.MaxSize; limit > 0 && max(total, d.part.size) > limit {
		return tooLarge(d.source, limit)
	}
	if total <= d.part.size {
		return nil
	}
	return disk.RequireFree(d.cache.dir, total-d.part.size)
}

func tooLarge(s source, limit int64) error {
	return contract.Permanent(v1.ReasonPolicyDenied, "use a smaller image, or raise the host's limit",
		"%s is larger than the limit of %d bytes for images", s.where, limit)
}

// receive appends a body. The clock of the stall timer runs only while it waits for the server, not for the disk.
func (d *download) receive(ctx context.Context, body io.Reader, stall *time.Timer) error {
	report := d.progress("fetching " + d.source.name)
	buffer := make([]byte, bufferSize)
	for {
		stall.Reset(d.cache.opts.StallTimeout)
		n, err := body.Read(buffer)
		stall.Stop()
		if n > 0 {
			if err := d.part.write(buffer[:n]); err != nil {
				return disk.Classify("fetch "+d.source.name, err)
			}
			report(d.part.size)
			if limit := d.cache.opts.MaxSize; limit > 0 && d.part.size > limit {
				return tooLarge(d.source, limit)
			}
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, io.EOF) && (d.part.state.Total == 0 || d.complete()):
			return nil
		case errors.Is(err, io.EOF):
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		}
	}
}
