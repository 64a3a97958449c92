package image

import (
	"context"
	"errors"
	"time"

	"github.com/berth-dev/berth/activities/disk"
	"github.com/berth-dev/berth/activities/failpoint"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	// maxFruitless is how many attempts in a row may bring nothing new before the fetch fails.
	maxFruitless = 5
	backoffStart = 50 * time.Millisecond
	backoffMax   = 2 * time.Second
)

// download is one fetch over HTTP, over as many connections as it takes.
type download struct {
	cache  *Cache
	source source
	part   *partial
	report func(v1.Progress)

	// best is the largest size reached: a server that always breaks off at the same byte makes no progress.
	best int64
	// blind says that bytes were joined with nothing but the checksum to prove that they fit: those that an earlier
	// process left, or those of a server that gives its answers no validator.
	blind bool
}

func (c *Cache) fetchHTTP(ctx context.Context, s source, report func(v1.Progress)) (Image, error) {
	failpoint.Hit("image.fetch.before", s.name)
	defer failpoint.Hit("image.fetch.after", s.name)
	p, err := c.openPartial(s)
	if err != nil {
		return Image{}, err
	}
	d := &download{cache: c, source: s, part: p, report: report}
	if err := d.run(ctx); err != nil {
		d.end(err)
		return Image{}, err
	}
	e := entry{}
	if p.state != nil {
		e.ETag, e.LastModified = p.state.ETag, p.state.LastModified
	}
	image, err := c.publish(s, p, e)
	if err != nil {
		d.end(err)
	}
	return image, err
}

// end keeps what a retry can use: not what turned out to be wrong.
func (d *download) end(err error) {
	switch contract.ReasonOf(err) {
	case v1.ReasonDigestMismatch, v1.ReasonImageInvalid, v1.ReasonImageNotFound:
		d.part.discard()
	default:
		d.part.keep()
	}
}

// run gets the whole and verifies it.
func (d *download) run(ctx context.Context) error {
	if d.part.size > 0 {
		if err := d.part.rehash(ctx, d.progress("checking the part of "+d.source.name+" that is here")); err != nil {
			return err
		}
		d.blind = true
	}
	d.best = d.part.size
	for again := false; ; again = true {
		if err := d.all(ctx); err != nil {
			return err
		}
		err := verify(d.source, d.part)
		if err == nil || !d.blind || again {
			return err
		}
		// Perhaps what was here had gone bad, or the image changed between two answers: only a fetch from the start can tell.
		d.blind, d.best = false, 0
		if err := d.part.reset(); err != nil {
			return disk.Classify("start again", err)
		}
	}
}

// all makes attempts until everything is there, as long as they bring something.
func (d *download) all(ctx context.Context) error {
	for fruitless := 0; ; {
		err := d.attempt(ctx)
		if err == nil {
			return nil
		}
		var own *contract.Error
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.As(err, &own) {
			return err
		}
		if d.part.size > d.best {
			fruitless, d.best = 0, d.part.size
		} else {
			fruitless++
		}
		if fruitless >= maxFruitless {
			return contract.Retryable(v1.ReasonFetchFailed, "check that the host reaches the server; Berth tries again by itself",
				"%s: %d attempts in a row brought nothing", d.source.where, fruitless).WithCause(safeCause(err))
		}
		if err := pause(ctx, min(backoffStart<<fruitless, backoffMax)); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d *download) progress(detail string) func(done int64) {
	return func(done int64) {
		p := v1.Progress{Detail: detail, Done: done}
		if d.part.state != nil {
			p.Total = d.part.state.Total
		}
		d.report(p)
	}
}
