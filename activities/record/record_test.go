package record_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/record"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func open(t *testing.T, dir string) *record.Store {
	t.Helper()
	s, err := record.Open(dir, "f", "h")
	require.NoError(t, err)
	return s
}

func in(fence int64, attempt int) contract.StepIn {
	return contract.StepIn{
		Ref:  contract.Ref{Workload: "web", Kind: v1.KindContainer, Generation: 1, Fence: fence, Attempt: attempt},
		Spec: v1.Workload{Kind: v1.KindContainer, Container: &v1.ContainerSpec{Image: "i"}},
	}
}

func TestAdmit(t *testing.T) {
	done := contract.StepOut{RuntimeID: "c1"}
	rec := record.Record{Fence: 5, Finished: 5, FinishedStep: contract.StepStart, FinishedOut: &done}
	for name, c := range map[string]struct {
		rec   record.Record
		fence int64
		step  contract.Step
		stale bool
		out   *contract.StepOut
	}{
		"a new fence":                             {rec, 6, contract.StepStart, false, nil},
		"an older fence":                          {rec, 4, contract.StepStart, true, nil},
		"the finishing step again":                {rec, 5, contract.StepStart, false, &done},
		"another step of a finished action":       {rec, 5, contract.StepPrepare, true, nil},
		"an acknowledge follows the end":          {rec, 5, contract.StepAcknowledge, false, nil},
		"an open action goes on":                  {record.Record{Fence: 5, Finished: 4}, 5, contract.StepStart, false, nil},
		"an acknowledge of an older one is stale": {rec, 4, contract.StepAcknowledge, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := c.rec.Admit(in(c.fence, 0), c.step)
			require.Equal(t, c.stale, contract.ReasonOf(err) == v1.ReasonStaleFence, "%v", err)
			require.Equal(t, c.out, out)
		})
	}
}

func TestARemoveOfVolumesIsNoRetryOfOneThatKeepsThem(t *testing.T) {
	keep := in(5, 0)
	take := keep
	take.Volumes = true
	for name, c := range map[string]struct {
		done, asked contract.StepIn
		stale       bool
	}{
		"again":                {keep, keep, false},
		"again, with volumes":  {take, take, false},
		"volumes were kept":    {keep, take, true},
		"volumes were removed": {take, keep, false},
	} {
		t.Run(name, func(t *testing.T) {
			rec := record.Record{}.Begin(c.done, contract.StepRemove).Finish(contract.StepRemove, contract.StepOut{}, time.Now())
			_, err := rec.Admit(c.asked, contract.StepRemove)
			require.Equal(t, c.stale, contract.ReasonOf(err) == v1.ReasonStaleFence, "%v", err)
		})
	}
}

func TestBeginAndFinish(t *testing.T) {
	r := record.Record{Workload: "web", Restarts: 3, Exit: &contract.Exit{Code: 1}}.Begin(in(7, 2), contract.StepStart)
	require.True(t, r.Open)
	require.Equal(t, record.WantedRunning, r.Wanted)
	require.Equal(t, 2, r.Attempt)
	require.Zero(t, r.Restarts)
	require.Nil(t, r.Exit)

	r.Restarts = 1
	require.Equal(t, 1, r.Begin(in(7, 2), contract.StepStart).Restarts, "a retry of the same action does not count anew")

	r = r.Finish(contract.StepStart, contract.StepOut{RuntimeID: "c1"}, time.Now())
	require.False(t, r.Open)
	require.EqualValues(t, 7, r.Finished)
	require.Equal(t, "c1", r.RuntimeID)

	r = r.Begin(in(8, 0), contract.StepStop)
	require.Equal(t, record.WantedStopped, r.Wanted)
	r = r.Begin(in(9, 0), contract.StepRemove).Finish(contract.StepRemove, contract.StepOut{}, time.Now())
	require.True(t, r.Tombstone())
	require.Nil(t, r.Spec, "a tombstone holds no secrets")
}

func TestStoreSurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	r, err := s.Get("web")
	require.NoError(t, err)
	require.NoError(t, s.Put(r.Begin(in(7, 0), contract.StepStart)))
	require.NoError(t, s.Close())

	again := open(t, dir)
	r, err = again.Get("web")
	require.NoError(t, err)
	require.EqualValues(t, 7, r.Fence)
	require.Len(t, again.List(), 1)
	info, err := os.Stat(filepath.Join(again.Dir("web"), "record.json"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "it holds the spec's secrets")
}

func TestOneAgentADataDirectory(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	_, err := record.Open(dir, "f", "h")
	require.ErrorContains(t, err, "used by another agent")
}

func TestAnUnreadableRecordIsUnobservableAndTouchesNoOther(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for _, name := range []string{"web", "db"} {
		r, err := s.Get(name)
		require.NoError(t, err)
		require.NoError(t, s.Put(r))
	}
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir("web"), "record.json"), []byte("{"), 0o600))
	require.NoError(t, s.Close())

	again := open(t, dir)
	_, err := again.Get("web")
	require.Equal(t, v1.ReasonRuntimeUnavailable, contract.ReasonOf(err))
	_, err = again.Get("db")
	require.NoError(t, err)
}

func TestABrokenRecordIsReadAgainOnceItIsMended(t *testing.T) {
	for name, mend := range map[string]struct {
		by    func(path string, good []byte) error
		fence int64
	}{
		"restored":   {func(path string, good []byte) error { return os.WriteFile(path, good, 0o600) }, 7},
		"moved away": {func(path string, _ []byte) error { return os.Rename(path, path+".bad") }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			path := filepath.Join(s.Dir("web"), "record.json")
			r, err := s.Get("web")
			require.NoError(t, err)
			require.NoError(t, s.Put(r.Begin(in(7, 0), contract.StepStart)))
			good, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, good[:len(good)/2], 0o600))
			require.NoError(t, s.Close())

			again := open(t, dir)
			_, err = again.Get("web")
			require.Equal(t, v1.ReasonRuntimeUnavailable, contract.ReasonOf(err))
			require.NoError(t, mend.by(path, good))
			r, err = again.Get("web")
			require.NoError(t, err, "the agent need not be restarted for it")
			require.Equal(t, mend.fence, r.Fence)
			require.Equal(t, "web", r.Workload)
		})
	}
}

func TestARecordThatSomebodyTouchedIsWrittenAgain(t *testing.T) {
	file := func(s *record.Store, name string) string { return filepath.Join(s.Dir(name), "record.json") }
	for what, harm := range map[string]func(s *record.Store) error{
		"its file removed":      func(s *record.Store) error { return os.Remove(file(s, "web")) },
		"its directory removed": func(s *record.Store) error { return os.RemoveAll(s.Dir("web")) },
		"cut off":               func(s *record.Store) error { return os.Truncate(file(s, "web"), 10) },
		"another's put there":   func(s *record.Store) error { return os.Rename(file(s, "db"), file(s, "web")) },
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			for i, name := range []string{"web", "db", "mail"} {
				r, err := s.Get(name)
				require.NoError(t, err)
				require.NoError(t, s.Put(r.Begin(in(int64(7+i), 0), contract.StepStart)))
			}
			again, err := s.Restore()
			require.NoError(t, err)
			require.Empty(t, again, "nothing has been touched yet")
			untouched, err := os.Stat(file(s, "mail"))
			require.NoError(t, err)
			require.NoError(t, harm(s))

			again, err = s.Restore()
			require.NoError(t, err)
			require.Contains(t, again, "web")
			require.NotContains(t, again, "mail")
			now, err := os.Stat(file(s, "mail"))
			require.NoError(t, err)
			require.True(t, os.SameFile(untouched, now))

			require.NoError(t, s.Close())
			s = open(t, dir)
			for i, name := range []string{"web", "db", "mail"} {
				r, err := s.Get(name)
				require.NoError(t, err)
				require.EqualValues(t, 7+i, r.Fence)
			}
		})
	}
}

func TestAnOlderRecordThatWasPutBackDoesNotCount(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	path := filepath.Join(s.Dir("web"), "record.json")
	r, err := s.Get("web")
	require.NoError(t, err)
	r = r.Begin(in(7, 0), contract.StepStart)
	require.NoError(t, s.Put(r))
	older, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, s.Put(r.Begin(in(9, 0), contract.StepStop)))
	require.NoError(t, os.WriteFile(path, older, 0o600))

	unlock, err := s.Lock(t.Context(), "web", time.Minute)
	require.NoError(t, err)
	again, err := s.Restore()
	require.NoError(t, err)
	require.Empty(t, again, "who works on it is about to write it")
	unlock()
	again, err = s.Restore()
	require.NoError(t, err)
	require.Equal(t, []string{"web"}, again)
	require.NoError(t, s.Close())
	r, err = open(t, dir).Get("web")
	require.NoError(t, err)
	require.EqualValues(t, 9, r.Fence)
}

func TestARecordUnderAnotherNameIsNotTaken(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	r, err := s.Get("web")
	require.NoError(t, err)
	require.NoError(t, s.Put(r))
	require.NoError(t, s.Close())
	require.NoError(t, os.Rename(s.Dir("web"), s.Dir("db")))

	again := open(t, dir)
	_, err = again.Get("db")
	require.Equal(t, v1.ReasonRuntimeUnavailable, contract.ReasonOf(err), "what it says would change another workload")
	require.Empty(t, again.List())
}

func TestARecordOfAnotherHostIsNotOurs(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	r, err := s.Get("web")
	require.NoError(t, err)
	require.NoError(t, s.Put(r))
	require.NoError(t, s.Close())
	other, err := record.Open(dir, "f", "other")
	require.NoError(t, err)
	_, err = other.Get("web")
	require.Error(t, err)
}

func TestOldTombstonesGoAtStart(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	r, err := s.Get("web")
	require.NoError(t, err)
	r.RemovedAt = time.Now().Add(-record.TombstoneLife - time.Hour)
	require.NoError(t, s.Put(r))
	require.NoError(t, s.Close())
	require.Empty(t, open(t, dir).List())
	require.NoDirExists(t, s.Dir("web"))
}

func TestALockThatIsHeldIsRuntimeUnavailable(t *testing.T) {
	s := open(t, t.TempDir())
	unlock, err := s.Lock(t.Context(), "web", time.Second)
	require.NoError(t, err)
	_, err = s.Lock(t.Context(), "web", time.Millisecond)
	require.Equal(t, v1.ReasonRuntimeUnavailable, contract.ReasonOf(err))
	other, err := s.Lock(t.Context(), "db", time.Millisecond)
	require.NoError(t, err, "workloads never wait for each other")
	other()
	unlock()
	unlock() // harmless
	unlock, err = s.Lock(t.Context(), "web", time.Second)
	require.NoError(t, err)
	unlock()
}

func TestVolatileRecordsOutliveTheProcess(t *testing.T) {
	dir := t.TempDir()
	s, err := record.Open(dir, "f", "h", record.Volatile())
	require.NoError(t, err)
	want := record.Record{Fleet: "f", Host: "h", Workload: "web", Fence: 7, Wanted: record.WantedRunning}
	require.NoError(t, s.Put(want))
	require.NoError(t, s.Close())
	s, err = record.Open(dir, "f", "h", record.Volatile())
	require.NoError(t, err)
	defer s.Close()
	have, err := s.Get("web")
	require.NoError(t, err)
	require.Equal(t, want, have)
}
