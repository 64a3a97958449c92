package container

import (
	"context"
	"strconv"
	"sync"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// exitOf is how a container that does not run ended.
func (r *Runtime) exitOf(ctx context.Context, k Container, spec *v1.ContainerSpec) *contract.Exit {
	exit := &contract.Exit{Code: k.ExitCode, Outcome: v1.ReasonExited, At: k.FinishedAt}
	switch {
	case k.OutOfMemory && k.ExitCode != 0: // a child that was killed is the main process's affair if that went on
		exit.Outcome = v1.ReasonOutOfMemory
	case r.outages.interrupted(k):
		exit.Outcome = v1.ReasonInterrupted
	}
	if exit.Message = bounded(redact(k.Error, spec)); exit.Message == "" {
		exit.Message = r.lastWords(ctx, k.ID, spec)
	}
	return exit
}

func exitError(workload string, exit *contract.Exit) error {
	message := workload + " exited with code " + strconv.Itoa(exit.Code)
	advice := "look at its log"
	if exit.Outcome == v1.ReasonOutOfMemory {
		message, advice = workload+" ran out of memory", "give it more memory, or look at what it does with it"
	}
	if exit.Message != "" {
		message += ": " + exit.Message
	}
	return contract.Retryable(exit.Outcome, advice, "%s", message)
}

// maxOutages is how many absences of the engine are remembered.
const maxOutages = 16

// outages remembers when the engine was away. An engine that stops or restarts ends its containers, and their exit codes
// do not say so: what ended while the engine was away, or was found dead after the machine booted, was interrupted.
// A container that ended by itself in that very time can't be told apart, and counts as interrupted too. An absence that
// this process did not see, because it was away as well, is not known.
type outages struct {
	mu   sync.Mutex
	from time.Time // when the engine went away; zero while it is there
	past []outage
}

type outage struct{ from, to time.Time }

func (o *outages) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.from.IsZero() {
		o.from = time.Now()
	}
}

func (o *outages) back() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.from.IsZero() {
		return
	}
	o.past = append(o.past, outage{o.from, time.Now()})
	o.past = o.past[max(0, len(o.past)-maxOutages):]
	o.from = time.Time{}
}

func (o *outages) interrupted(k Container) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if k.StartedAt.IsZero() {
		return false
	}
	if k.FinishedAt.Before(k.StartedAt) { // the engine did not see it end
		return true
	}
	if !o.from.IsZero() && !k.FinishedAt.Before(o.from) {
		return true
	}
	for _, away := range o.past {
		if !k.FinishedAt.Before(away.from) && !k.FinishedAt.After(away.to) {
			return true
		}
	}
	return false
}
