package workload

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Whatever happens during drains, in the end the workload holds room on its own host and nowhere else, and nothing is left
// anywhere else. On the way it forgets no drain of a host that it is on, or that it moves away from.
func TestNothingIsEverLeftBehind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := service(t, "", 0)
		holds := map[string]bool{}
		tell := func(l Ledger) {
			if l.Release != nil {
				delete(holds, l.Host)
			}
		}
		place := func() {
			host := "h1"
			if f.Placement != nil {
				host = f.Placement.Host
			}
			if f.Doing.Relocate {
				host = map[string]string{"h1": "h2", "h2": "h3", "h3": "h1"}[host]
			}
			f.placedOn(host)
			holds[host] = true
		}
		drive := func(reason v1.Reason, step contract.Step) {
			switch s := f.next(); s.Kind {
			case StepAct:
				f.Begin(s, f.now)
				if s.Action != v1.VerbDeploy {
					host, _ := f.actsOn(s.Remain)
					require.NotEmpty(t, host)
					break
				}
				if reason != "" && step == contract.ActivityPlace {
					tell(f.Failed(&contract.Error{Reason: reason, Step: string(step)}, f.now))
					break
				}
				place()
				if s.StopFirst && step != contract.ActivityBind {
					f.LeavesHome()
					tell(f.LeftHome())
				}
			case StepNote:
				tell(f.Note(s))
			case StepCancel:
				f.Doing.Cancelled = true
				tell(f.Failed(&contract.Error{Reason: v1.ReasonSuperseded, Step: string(step)}, f.now))
			case StepEvict:
				host := s.Remain
				if host == "" {
					host = f.Placement.Host
				}
				f.Evicted(s.Remain, contract.EvictReply{}, nil, f.now)
				delete(holds, host)
			case StepWait:
				switch {
				case f.Doing != nil && reason == "":
					tell(f.Succeeded(contract.StepOut{}, f.now))
				case f.Doing != nil:
					tell(f.Failed(&contract.Error{Reason: reason, Step: string(step)}, f.now))
				case !s.Until.IsZero():
					f.now = s.Until
				}
			case StepGrace:
				f.BeginGrace(f.now)
			case StepWaitAnew:
				f.WaitAnew(f.now)
			case StepAcknowledge, StepClose:
			}
		}
		var seq int64
		drains := map[string]bool{}
		steps := rapid.SampledFrom([]contract.Step{
			contract.ActivityPlace, contract.ActivityBind, contract.StepPrepare, contract.StepStart, contract.StepRemove,
		})
		reasons := rapid.SampledFrom([]v1.Reason{"", "", v1.ReasonRuntimeUnavailable, v1.ReasonPortConflict, v1.ReasonNoCapacity})
		hosts := rapid.SampledFrom([]string{"h1", "h2", "h3"})
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				f.ask(rapid.SampledFrom([]v1.Verb{v1.VerbStart, v1.VerbStop, v1.VerbRestart, v1.VerbRetry}).Draw(t, "verb"))
			case 1, 2:
				seq++
				n := contract.HostDrain{
					Host: hosts.Draw(t, "host"), Seq: seq, Cancelled: rapid.Bool().Draw(t, "cancelled"),
					StopAt: rapid.SampledFrom([]time.Time{{}, f.now, f.now.Add(time.Minute)}).Draw(t, "stopAt"),
				}
				f.HostDrain(n)
				drains[n.Host] = !n.Cancelled
			case 3:
				lost := rapid.Bool().Draw(t, "lost")
				f.HostLostOrBack(contract.HostStatus{
					Host: hosts.Draw(t, "host"), LeaseNo: int64(len(holds)), Grace: rapid.SampledFrom([]time.Duration{0, 45 * time.Second}).Draw(t, "grace"),
				}, lost, f.now)
			default:
				drive(reasons.Draw(t, "reason"), steps.Draw(t, "step"))
			}
			require.Less(t, statusSize(t, f), 2048)
			for host := range drains {
				if drain, _ := f.drainOf(host); drain == nil {
					delete(drains, host) // it has left, or was never there
				} else {
					require.Equal(t, drains[host], *drain != nil, "drain of %s", host)
				}
			}
		}
		for _, host := range []string{"h1", "h2", "h3"} {
			f.HostLostOrBack(contract.HostStatus{Host: host, LeaseNo: 1 << 40}, false, f.now)
			seq++
			f.HostDrain(contract.HostDrain{Host: host, Seq: seq, Cancelled: true})
		}
		for range 60 {
			drive("", "")
		}
		require.Nil(t, f.Doing)
		require.Empty(t, f.Remains)
		if f.Placement == nil {
			require.Empty(t, holds)
			require.Equal(t, WantStopped, f.Wanted)
			return
		}
		require.Equal(t, map[string]bool{f.Placement.Host: true}, holds)
	})
}
