package backend

import (
	"context"
	"time"
)

const (
	// firstWidth is the first stretch of time that is looked at for the newest, and widen how much longer each next one is.
	firstWidth = time.Minute
	widen      = 60
	// longest is how long a stretch may become before it is the whole.
	longest = 10 * 365 * 24 * time.Hour
	// narrowest is how short a stretch may become: what began closer together is read at once.
	narrowest = time.Millisecond
)

// span is a stretch of start times, both ends included. A zero end is open.
type span struct{ from, to time.Time }

// newestSpan finds the stretch at the end of a span that holds at least need of its rows, and not many more; or the whole
// span if it does not hold many. Visibility gives rows in an order of its own, which is none by start time, and cannot be
// told to sort on every database: so what is asked for is a stretch that is short enough to be read whole and sorted here.
// Of what is older than needed nothing is counted, however much there is.
func newestSpan(ctx context.Context, all span, need int, now time.Time, count func(context.Context, span) (int, error)) (span, error) {
	enough := need + need/2 + 50
	end := all.to
	if end.IsZero() {
		end = now
	}
	s, tooShort := all, end
	n, last := 0, end
	for width := firstWidth; n < need; width *= widen {
		tooShort, last = last, end.Add(-width)
		s.from = last
		whole := width > longest || last.Before(all.from)
		if whole {
			s.from = all.from
		}
		var err error
		if n, err = count(ctx, s); err != nil || whole && n <= enough {
			return s, err
		}
	}
	if s.from.IsZero() {
		s.from = time.Unix(0, 0)
	}
	// Shrink while there is too much.
	for n > enough && tooShort.Sub(s.from) > narrowest {
		middle := s.from.Add(tooShort.Sub(s.from) / 2)
		m, err := count(ctx, span{from: middle, to: s.to})
		if err != nil {
			return s, err
		}
		if m >= need {
			s.from, n = middle, m
		} else {
			tooShort = middle
		}
	}
	return s, nil
}
