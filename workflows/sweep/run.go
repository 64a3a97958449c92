package sweep

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// shownHosts bounds how many hosts a report names.
const shownHosts = 100

// run is one sweep under way.
type run struct {
	request v1.SweepRequest
	// deadline is after when nothing more is begun.
	deadline time.Time
	hosts    []*host
	report   v1.Sweep
	failures []string
}

// host is one host of a run.
type host struct {
	name      string
	view      View
	judgement Judgement
	// away, if set, says why the host is left alone; message is what else there is to say.
	away, message string
}

func (r *run) fail(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

// why says on one line why the run failed.
func (r *run) why() string {
	const most = 10
	if over := len(r.failures) - most; over > 0 {
		return fmt.Sprintf("%s; and %d more", strings.Join(r.failures[:most], "; "), over)
	}
	return strings.Join(r.failures, "; ")
}

// readable are the hosts that are not left alone.
func (r *run) readable() []*host {
	var all []*host
	for _, h := range r.hosts {
		if h.away == "" {
			all = append(all, h)
		}
	}
	return all
}

// withhold keeps everything as it is, but for what only shows: that a host has seen more of a workload than that knows itself.
func (r *run) withhold(shows bool) {
	for _, h := range r.readable() {
		for i := range h.judgement.Findings {
			f := &h.judgement.Findings[i]
			f.Discard = nil
			if !shows || f.Repair == nil || f.Repair.Absent == nil || f.Repair.Absent.Later == 0 {
				f.Repair = nil
			}
		}
	}
}

// show writes the report as it stands into the memo, where it can be read without a worker.
func (r *run) show(ctx workflow.Context) error {
	return workflow.UpsertMemo(ctx, map[string]any{contract.MemoSweep: r.summarized()})
}

// summarized is the report without its things.
func (r *run) summarized() v1.Sweep {
	out := r.report
	out.Summary, out.Hosts = v1.SweepSummary{Hosts: len(r.hosts)}, nil
	for _, h := range r.hosts {
		if h.away != "" {
			out.Summary.Unreachable++
		}
		h.judgement.count(&out.Summary)
		if (h.away != "" || h.message != "") && len(out.Hosts) < shownHosts {
			shown := v1.SweepHost{Name: h.name, Things: len(h.view.Things), Unreachable: h.away != "", Message: h.message}
			if h.away != "" {
				shown.Message = h.away
			}
			out.Hosts = append(out.Hosts, shown)
		}
	}
	return out
}

// count adds a host's findings to a summary.
func (j Judgement) count(s *v1.SweepSummary) {
	s.SkippedLive += j.Live
	for _, f := range j.Findings {
		if f.orphan() {
			s.Orphaned++
		}
		switch f.Verdict {
		case v1.VerdictDeleted:
			s.Deleted++
		case v1.VerdictYoung:
			s.SkippedGrace++
		case v1.VerdictUnexplained:
			s.Unexplained++
		case v1.VerdictRepaired:
			s.Repaired++
		case v1.VerdictFailed:
			s.Failed++
		case v1.VerdictOrphan, v1.VerdictMissing:
		}
	}
}

// orphan reports whether a finding is about an orphan, whatever became of it.
func (f Finding) orphan() bool {
	switch f.Verdict {
	case v1.VerdictOrphan, v1.VerdictDeleted, v1.VerdictYoung:
		return true
	case v1.VerdictFailed:
		return f.Repair == nil
	default:
		return false
	}
}

// page is the report with some of its things.
func (r *run) page(p contract.SweepPage) v1.Sweep {
	out := r.summarized()
	at := 0
	for _, h := range r.hosts {
		for _, f := range h.judgement.Findings {
			switch {
			case at < p.Offset:
			case len(out.Things) < p.Limit:
				out.Things = append(out.Things, f.shown(h.name))
			default:
				out.NextPageToken = strconv.Itoa(at)
				return out
			}
			at++
		}
	}
	return out
}

func (f Finding) shown(host string) v1.SweepThing {
	t := f.Thing
	return v1.SweepThing{
		Host: host, Kind: string(t.Kind), Name: t.Name, Workload: t.Workload, Generation: t.Generation, Fence: t.Fence,
		Age: v1.Duration(t.Age.Truncate(time.Second)), Size: v1.Bytes(t.Size), Verdict: f.Verdict, Message: f.Message,
	}
}
