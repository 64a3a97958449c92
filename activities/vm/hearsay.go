package vm

import (
	"context"
	"sync"
	"time"

	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	// heardFor is how long it is remembered how a domain ended.
	heardFor = time.Hour
	// tellWait is how long after a job's domain was found gone it is waited for news of how it ended: the news comes on another
	// connection. tellPoll is how often that is looked for.
	tellWait = 500 * time.Millisecond
	tellPoll = 20 * time.Millisecond
)

// hearsay is how domains ended of which libvirt has told. One without a definition vanishes with its end, so that nothing else
// tells of it.
type hearsay struct {
	mu   sync.Mutex
	ends map[string]ended
}

type ended struct {
	how Ending
	at  time.Time
}

func (h *hearsay) note(domain string, how Ending, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for other, e := range h.ends {
		if at.Sub(e.at) > heardFor {
			delete(h.ends, other)
		}
	}
	h.ends[domain] = ended{how, at}
}

// since says how a domain has ended since a time, if it has.
func (h *hearsay) since(domain string, t time.Time) (ended, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e, ok := h.ends[domain]
	return e, ok && e.at.After(t)
}

// vanished says how the attempt of a job ended whose domain is gone; nil if nobody has heard. Of a service that is gone nothing
// is asked: it is made again.
func (r *Runtime) vanished(ctx context.Context, rec record.Record, b boot) *contract.Exit {
	if rec.Attempt == 0 || rec.Attempt != b.Attempt || !b.Done {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, tellWait)
	defer cancel()
	look := time.NewTicker(tellPoll)
	defer look.Stop()
	for {
		if e, ok := r.heard.since(r.ids.domain(rec.Workload), b.At); ok {
			exit := exitOf(Domain{Power: PowerOff, Ending: e.how})
			exit.At = e.at
			return exit
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return nil
		}
	}
}
