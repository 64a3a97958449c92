package vm

import (
	"context"
	"sync"
	"time"

	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/activities/vm/link"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// addressLimit bounds how long an observation waits for the guest's addresses, which it can do without.
const addressLimit = 2 * time.Second

// Observe looks at one workload's domain.
func (r *Runtime) Observe(ctx context.Context, rec record.Record) (contract.Observation, error) {
	o := contract.Observation{Host: r.cfg.Host, Fence: rec.Fence, Attempt: rec.Attempt, Restarts: rec.Restarts}
	d, err := r.domain(ctx, rec.Workload)
	if contract.ReasonOf(err) == v1.ReasonPolicyDenied {
		// Somebody has defined it anew without its mark: whatever becomes of it, nothing is done about it.
		o.State = contract.RunUnobservable
		o.Findings = append(o.Findings, contract.Finding{Reason: v1.ReasonPolicyDenied, Message: contract.FromActivityError(err).Message})
		return o, nil
	}
	if err != nil {
		return contract.Observation{}, err
	}
	// Without a state only the time of the start is not known.
	s, unread := readState(r.dir(rec.Workload))
	if unread == nil && (d != nil || rec.Attempt > 0) {
		o.StartedAt = s.Boot.At
	}
	if d == nil {
		o.State, o.Exact = contract.RunAbsent, true
		if exit := r.vanished(ctx, rec, s.Boot); exit != nil {
			o.State, o.Exit, o.Message = contract.RunExited, exit, exit.Message
		}
		return o, nil
	}
	if d.Transient {
		o.Mend = d.mark.Fence <= rec.Fence // a later one is another record's
		o.Findings = append(o.Findings, contract.Finding{
			Reason: v1.ReasonUndefined, Message: "its domain was undefined while it runs",
		})
	}
	switch d.Power {
	case PowerRunning:
		o.State = contract.RunRunning
		o.Addresses = r.addresses(ctx, d.Name)
		if lost := cutOff(d.Cards); lost != "" {
			o.State, o.Message = contract.RunUnhealthy, lost
		}
	case PowerPaused:
		o.State = contract.RunUnhealthy
		o.Message = "the guest is paused: " + d.Why
	case PowerOff:
		o.State, o.Exact = contract.RunExited, true
		o.Exit = endOf(d.Domain, o.StartedAt, r.cfg.BootedAt)
		o.Message = o.Exit.Message
	}
	return o, nil
}

// Exit codes of a guest, which has none of its own. They follow what a container's mean.
const (
	codeCrashed   = 1
	codeDestroyed = 137
	codeUnknown   = -1
)

// endOf says how a domain that is off ended, if it was started at a time and the machine booted at another, as far as they
// are known. After a boot libvirt does not know how a domain ended that ran before: it ended with the machine.
func endOf(d Domain, started, booted time.Time) *contract.Exit {
	exit := exitOf(d)
	if d.Ending == EndingUnknown && !started.IsZero() && started.Before(booted) {
		exit.Outcome, exit.Message = v1.ReasonInterrupted, "the guest ended with its host"
	}
	return exit
}

// exitOf says how a domain that is off ended.
func exitOf(d Domain) *contract.Exit {
	exit := &contract.Exit{At: time.Now()} // libvirt does not keep when
	switch d.Ending {
	case EndingShutdown:
		exit.Code, exit.Outcome, exit.Message = 0, v1.ReasonExited, "the guest powered off"
	case EndingCrashed:
		exit.Code, exit.Outcome, exit.Message = codeCrashed, v1.ReasonExited, "the guest crashed"
	case EndingDestroyed:
		exit.Code, exit.Outcome, exit.Message = codeDestroyed, v1.ReasonInterrupted, "the domain was destroyed, or ended by force"
	case EndingFailed:
		exit.Code, exit.Outcome, exit.Message = codeUnknown, v1.ReasonUnknown, "the domain failed to start"
	case EndingUnknown:
		fallthrough
	default:
		exit.Code, exit.Outcome, exit.Message = codeUnknown, v1.ReasonUnknown, "it is not known how the guest ended"
	}
	return exit
}

// addresses are the guest's, as far as they can be had in a moment.
func (r *Runtime) addresses(ctx context.Context, domain string) []string {
	ctx, cancel := context.WithTimeout(ctx, addressLimit)
	defer cancel()
	all, err := r.driver.Addresses(ctx, domain)
	if err != nil {
		r.log.Debug("a guest's addresses are not known", "domain", domain, "error", err)
		return nil
	}
	return all
}

// cutOff says which of a guest's cards has lost its bridge, if any.
func cutOff(cards []Card) string {
	for _, c := range cards {
		if link.CutOff(c.Link) {
			return "the guest's card " + c.Link + " is cut off: " + c.Network +
				" was stopped or removed under it. Start the network, and restart the workload"
		}
	}
	return ""
}

// Watch reports which workloads' domains changed, or may have lost their network.
func (r *Runtime) Watch(ctx context.Context, changed func(workload string)) error {
	ctx, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer stop()
	watching.Go(func() {
		// Which guest a card belongs to is seen when they are looked at.
		if err := link.Watch(ctx, link.Cards, func() { changed("") }); ctx.Err() == nil {
			r.log.Warn("networks that are removed under guests are not noticed at once", "error", err)
		}
	})
	return r.driver.Watch(ctx, func() { changed("") }, func(domain string, how Ending) {
		if workload, ours := r.ids.workload(domain); ours {
			if how != "" {
				r.heard.note(domain, how, time.Now())
			}
			changed(workload)
		}
	})
}
