package workload

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// reports draws what a host reports of a fence: each agent's life has a lease, and counts its reports.
type reports struct {
	sent  []contract.Observation
	lease int64
	seq   int64
}

func (r *reports) draw(t *rapid.T, f *fixture) contract.Observation {
	if len(r.sent) > 0 && rapid.IntRange(0, 2).Draw(t, "again") == 0 {
		return rapid.SampledFrom(r.sent).Draw(t, "late") // one that was on its way for long, or came before
	}
	if rapid.IntRange(0, 9).Draw(t, "restarted") == 0 {
		r.lease, r.seq = r.lease+1, 0 // the agent was restarted
	}
	r.seq++
	o := contract.Observation{
		Host: rapid.SampledFrom([]string{"h1", "h1", "h1", "h2"}).Draw(t, "host"),
		// One behind is what an earlier action left, one ahead can't be: nobody has begun it yet.
		Fence: f.Fence + rapid.Int64Range(-1, 1).Draw(t, "fence"), LeaseNo: r.lease, Seq: r.seq,
		State: rapid.SampledFrom([]contract.RunState{
			contract.RunRunning, contract.RunExited, contract.RunAbsent, contract.RunUnhealthy, contract.RunUnobservable,
		}).Draw(t, "state"),
		Restarts: rapid.IntRange(0, 4).Draw(t, "restarts"),
	}
	if o.State == contract.RunExited {
		o.Exit = &contract.Exit{
			Code: rapid.IntRange(0, 2).Draw(t, "code"), At: f.now,
			Outcome: rapid.SampledFrom([]v1.Reason{v1.ReasonExited, v1.ReasonOutOfMemory, v1.ReasonInterrupted}).Draw(t, "outcome"),
		}
		o.RestartIn = time.Duration(rapid.IntRange(0, 3).Draw(t, "in")) * time.Second
	}
	r.sent = append(r.sent, o)
	return o
}

// drive does the next step, and lets actions succeed.
func drive(f *fixture) {
	switch s := f.next(); s.Kind {
	case StepAct:
		f.Begin(s, f.now)
		if s.Action == v1.VerbDeploy {
			f.placed()
		}
	case StepNote:
		f.Note(s)
	case StepCancel:
		f.Doing.Cancelled = true
	case StepAcknowledge:
		f.Acknowledge()
		f.Acknowledged(*f.Job.Unacknowledged, nil, f.now)
	case StepWait:
		switch {
		case f.Doing != nil:
			f.ok()
		case !s.Until.IsZero():
			f.now = s.Until
		}
	case StepGrace:
		f.BeginGrace(f.now)
	case StepEvict, StepWaitAnew, StepClose:
	}
}

func encoded(t require.TestingT, s *State) string {
	data, err := json.Marshal(s)
	require.NoError(t, err)
	return string(data)
}

// What comes twice, late, out of order, from another host or of a fence that is not, changes nothing; what a host reports
// never changes the spec, takes back how something ended, or counts a repair twice.
func TestReportsInAnyOrderChangeNothingWrong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom([]func() *fixture{
			func() *fixture { return service(t, "", 0) },
			func() *fixture { return service(t, v1.RestartOnFailure, 2) },
			func() *fixture { return service(t, v1.RestartNo, 0) },
			func() *fixture { return job(t, 3, 0) },
		}).Draw(t, "kind")()
		f.running()
		spec, r, ended := f.Digest, reports{lease: 1}, map[int]v1.Attempt{}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			if rapid.IntRange(0, 2).Draw(t, "what") == 0 {
				drive(f)
				continue
			}
			o, before, was := r.draw(t, f), encoded(t, f.State), *f.State
			changed := f.Observe(o, f.now)
			if !o.After(was.Seen) || o.Host != "h1" || o.Fence > was.Fence {
				require.False(t, changed)
			}
			if !changed {
				require.Equal(t, before, encoded(t, f.State))
			}
			require.Equal(t, encoded(t, f.State), func() string { f.Observe(o, f.now.Add(time.Hour)); return encoded(t, f.State) }(),
				"the second time changes nothing")
			if was.Ended != nil {
				require.Equal(t, was.Ended, f.Ended)
			}
			require.LessOrEqual(t, f.Repairs-was.Repairs, 1)
			if was.RepairOf != 0 && was.RepairOf == f.RepairOf {
				require.Equal(t, was.Repairs, f.Repairs)
			}
			require.Equal(t, spec, f.Digest)
			require.Equal(t, int64(1), f.Generation)
			require.Less(t, statusSize(t, f), 2048)
			if f.Job == nil {
				continue
			}
			for _, a := range f.Job.Attempts { // how an attempt ended is recorded once
				if first, has := ended[a.Number]; has {
					require.Equal(t, first, a)
				} else if a.EndedAt != nil {
					ended[a.Number] = a
				}
			}
			require.LessOrEqual(t, f.Job.Count, 3)
		}
	})
}

// What counts is the latest report, whatever the order in which they come, as long as nothing was done meanwhile.
func TestTheLatestReportCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := service(t, "", 0).running()
		r := reports{lease: 1}
		for range rapid.IntRange(1, 20).Draw(t, "reports") {
			r.draw(t, draw)
		}
		f := service(t, "", 0).running()
		latest := f.Seen
		for _, o := range rapid.Permutation(r.sent).Draw(t, "order") {
			f.Observe(o, f.now)
			if o.Host == "h1" && o.Fence <= f.Fence && o.After(latest) {
				latest = o
			}
		}
		require.Equal(t, latest, f.Seen)
	})
}

func TestTheNextTryShows(t *testing.T) {
	seen := func(f *fixture, seq int64, o contract.Observation) v1.Status {
		o.Host, o.Fence, o.LeaseNo, o.Seq = "h1", f.Deployed.Fence, 1, seq
		require.True(t, f.Observe(o, f.now))
		return f.Status(f.now)
	}
	f := service(t, "", 0).running()
	exit := &contract.Exit{Code: 3, Outcome: v1.ReasonExited, Message: "boom"}
	st := seen(f, 1, contract.Observation{State: contract.RunExited, Exit: exit, Restarts: 4, RestartIn: time.Second})
	require.Equal(t, v1.PhaseDegraded, st.Phase)
	require.Equal(t, f.now.Add(time.Second), *st.NextTry)
	require.Contains(t, st.Message, "boom")
	st = seen(f, 2, contract.Observation{State: contract.RunRunning, Restarts: 5})
	require.Equal(t, v1.PhaseRunning, st.Phase)
	require.Nil(t, st.NextTry)
	require.Equal(t, "5 restarts since it was deployed; the last time it exited with code 3: boom", st.Message)

	st = seen(f, 3, contract.Observation{State: contract.RunAbsent})
	require.Equal(t, f.NextTry, *st.NextTry, "a repair that waits")
	due := f.NextTry
	f.now = f.now.Add(100 * time.Millisecond)
	seen(f, 4, contract.Observation{State: contract.RunAbsent})
	require.Equal(t, due, f.NextTry, "being told again puts nothing off")

	f = job(t, 2, 0).running()
	f.exits(1)
	require.Equal(t, f.NextTry, *f.Status(f.now).NextTry, "a job's next attempt")
}
