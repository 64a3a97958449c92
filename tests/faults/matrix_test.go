package faults

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

var (
	update = flag.Bool("update", false, "write the failpoints that were passed to testdata")
	match  = flag.String("cases", "", "run only the cases whose names contain this")
)

const placesFile = "testdata/failpoints.txt"

// place is a failpoint that a verb passes.
type place struct{ scenario, verb, point string }

func (p place) String() string { return p.scenario + " " + p.verb + " " + p.point }

func readPlaces(t *testing.T) []place {
	t.Helper()
	data, err := os.ReadFile(placesFile)
	require.NoError(t, err)
	var all []place
	for line := range strings.Lines(string(data)) {
		words := strings.Fields(line)
		require.Len(t, words, 3)
		all = append(all, place{words[0], words[1], words[2]})
	}
	return all
}

// tried is a case: a workload that meets a fault at a place. A case without a fault is only run and looked at.
type tried struct {
	place
	work     *work
	accepted v1.Accepted
	err      error
}

func (c *tried) armed() string { return c.point + "@" + c.work.name }

// holdsHeartbeats says whether the step shows no sign of life while it is held: it is not held for long.
func (c *tried) holdsHeartbeats() bool {
	return strings.HasSuffix(c.point, ".begin") || strings.HasSuffix(c.point, ".end") || strings.HasPrefix(c.point, "Place.")
}

// each does something for all cases that have not failed, some at a time.
func each(cases []*tried, atOnce int, do func(*tried) error) {
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for _, c := range cases {
		if c.err != nil {
			continue
		}
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			c.err = do(c)
		})
	}
	all.Wait()
}

// TestPlaces runs every verb of every scenario without a fault, and holds the failpoints that it passes against the list:
// one that is gone, or new, is noticed.
func TestPlaces(t *testing.T) {
	f := newFleet(t)
	var cases []*tried
	for _, s := range scenarios {
		for _, v := range s.verbs {
			cases = append(cases, &tried{place: place{scenario: s.name, verb: v}, work: f.newWork(s)})
		}
	}
	ctx := t.Context()
	each(cases, 4, func(c *tried) error { return c.work.begin(ctx, f, c.verb) })
	for _, c := range cases {
		for _, seen := range f.seenBy(c.work.name) {
			require.NoError(t, os.Remove(seen))
		}
	}
	each(cases, 4, func(c *tried) error { return c.carryOut(ctx, f) })
	var seen []string
	for _, c := range cases {
		for _, path := range f.seenBy(c.work.name) {
			point, _, _ := strings.Cut(filepath.Base(path), "@")
			if scenarioOf(c.scenario).only.MatchString(point) {
				seen = append(seen, place{c.scenario, c.verb, point}.String())
			}
		}
	}
	each(cases, 8, func(c *tried) error { return c.clear(ctx, f) })
	report(t, cases)
	if t.Failed() {
		return
	}
	if *update {
		require.NoError(t, os.WriteFile(placesFile, []byte(strings.Join(seen, "\n")+"\n"), 0o600))
	}
	want, err := os.ReadFile(placesFile)
	require.NoError(t, err)
	require.Equal(t, strings.Split(strings.TrimSpace(string(want)), "\n"), seen, "run with -update if this is what it should be")
}

// seenBy are the files of the failpoints that were passed on behalf of a workload.
func (f *fleet) seenBy(name string) []string {
	found, err := filepath.Glob(filepath.Join(f.FailpointsDir, "seen", "*@"+name))
	require.NoError(f.t, err)
	return found
}

// TestMatrix lets faults meet the places. A batch of cases is held at their places at the same time.
func TestMatrix(t *testing.T) {
	f := newFleet(t)
	begin, done := time.Now(), 0
	var ran []*tried
	for i, fault := range faults {
		places := chosen(readPlaces(t), i)
		for batch := range slices.Chunk(places, batchSize) {
			cases := f.insist(batch, fault)
			done += len(cases)
			ran = append(ran, cases...)
			t.Run(fault.name, func(t *testing.T) { report(t, cases) })
		}
	}
	t.Logf("%d cases in %s", done, time.Since(begin).Round(time.Second))
	require.NotEmpty(t, ran)
}

// batchSize bounds how many workloads are held at once: the places of those that hold their heartbeats are reached
// within the time that a step may show no sign of life.
const batchSize = 40

// chosen are the places that meet the n-th fault: all of them in the full matrix, else each failpoint of a scenario with
// one of its verbs and one fault in turn.
func chosen(all []place, n int) []place {
	var out []place
	verbsOf := map[place][]place{}
	var order []place
	for _, p := range all {
		if *match != "" && !strings.Contains(p.String(), *match) {
			continue
		}
		if full() || *match != "" {
			out = append(out, p)
			continue
		}
		key := place{scenario: p.scenario, point: p.point}
		if verbsOf[key] == nil {
			order = append(order, key)
		}
		verbsOf[key] = append(verbsOf[key], p)
	}
	for i, key := range order {
		if i%len(faults) == n {
			of := verbsOf[key]
			out = append(out, of[i%len(of)])
		}
	}
	return out
}

// insist is batch, and tries once more what was over before the fault: on a slow machine it takes longer to bring all to their places
// than some can be held there. There are fewer each time.
func (f *fleet) insist(places []place, happens fault) []*tried {
	ctx := f.t.Context()
	cases := f.batch(places, happens)
	for range 4 {
		var over []*tried
		for _, c := range cases {
			if errors.Is(c.err, errOver) {
				c.err = nil
				over = append(over, c)
			}
		}
		if len(over) == 0 {
			break
		}
		f.t.Logf("%s: %d of %d cases were over before the fault, and are tried again", happens.name, len(over), len(cases))
		each(over, 8, func(c *tried) error { return c.work.end(ctx, f, verbs[c.verb], c.accepted) })
		each(over, 8, func(c *tried) error { return c.clear(ctx, f) })
		var again []place
		for _, c := range over {
			if c.err == nil {
				again = append(again, c.place)
			}
		}
		cases = slices.DeleteFunc(cases, func(c *tried) bool { return c.err == nil && slices.Contains(over, c) })
		if len(again) > 0 {
			cases = append(cases, f.batch(again, happens)...)
		}
	}
	return cases
}

// batch brings workloads to their places, lets the fault happen, and looks at how each ends.
func (f *fleet) batch(places []place, happens fault) []*tried {
	ctx := f.t.Context()
	cases := make([]*tried, len(places))
	for i, p := range places {
		cases[i] = &tried{place: p, work: f.newWork(scenarioOf(p.scenario))}
	}
	begin := time.Now()
	each(cases, 6, func(c *tried) error { return c.work.begin(ctx, f, c.verb) })
	ready := time.Now()
	var patient, hasty []*tried
	for _, c := range cases {
		f.Arm(c.armed())
		if c.holdsHeartbeats() {
			hasty = append(hasty, c)
		} else {
			patient = append(patient, c)
		}
	}
	for _, some := range [][]*tried{patient, hasty} {
		each(some, len(cases), func(c *tried) error { return c.approach(ctx, f) })
	}
	held := time.Now()
	each(cases, len(cases), func(c *tried) error { return c.checkOpen(ctx, f) })
	happens.strike(f)
	for _, c := range cases {
		f.Disarm(c.armed())
		f.Release(c.armed())
	}
	struck := time.Now()
	each(cases, len(cases), func(c *tried) error { return c.work.end(ctx, f, verbs[c.verb], c.accepted) })
	ended := time.Now()
	each(cases, 8, func(c *tried) error { return c.clear(ctx, f) })
	f.t.Logf("%s at %d places: set up %s, held %s, struck %s, ended %s, cleared %s", happens.name, len(cases),
		ready.Sub(begin).Round(time.Millisecond), held.Sub(ready).Round(time.Millisecond), struck.Sub(held).Round(time.Millisecond),
		ended.Sub(struck).Round(time.Millisecond), time.Since(ended).Round(time.Millisecond))
	return cases
}

// approach begins the verb and waits until the place is reached.
func (c *tried) approach(ctx context.Context, f *fleet) error {
	var err error
	if c.accepted, err = verbs[c.verb].do(ctx, f, c.work); err != nil {
		return err
	}
	return until(ctx, within, func(context.Context) error {
		if _, err := os.Stat(filepath.Join(f.FailpointsDir, c.armed()+".hit")); err != nil {
			return fmt.Errorf("the place is not reached: %w", err)
		}
		return nil
	})
}

var errOver = errors.New("it was over before the fault")

// checkOpen complains if the verb was over before the fault: then the case would prove nothing.
func (c *tried) checkOpen(ctx context.Context, f *fleet) error {
	if c.accepted.Seq == 0 {
		return nil // it was no request, and holds no action open
	}
	view, err := f.client.Get(ctx, c.work.name)
	if err != nil || !view.Status.Settled || view.Status.Seq < c.accepted.Seq {
		return err
	}
	// What a user asked of a job is done when it has ended; the host is told beside that.
	run, err := f.temporal.DescribeWorkflow(ctx, contract.WorkloadID(c.work.name), "")
	if err == nil && len(run.RawResponse.GetPendingActivities()) == 0 {
		err = fmt.Errorf("%w: %+v", errOver, view.Status)
	}
	return err
}

// carryOut does the verb without any fault.
func (c *tried) carryOut(ctx context.Context, f *fleet) error {
	a, err := verbs[c.verb].do(ctx, f, c.work)
	if err != nil {
		return err
	}
	return c.work.end(ctx, f, verbs[c.verb], a)
}

// clear removes the workload, and checks that nothing is left.
func (c *tried) clear(ctx context.Context, f *fleet) error {
	if verbs[c.verb].power == gone {
		return nil
	}
	remove := verbs["purge"]
	a, err := remove.do(ctx, f, c.work)
	if err == nil {
		err = c.work.end(ctx, f, remove, a)
	}
	if err != nil {
		return fmt.Errorf("remove: %w", err)
	}
	return nil
}

// report gives each case a test of its own.
func report(t *testing.T, cases []*tried) {
	t.Helper()
	cases = slices.Clone(cases)
	slices.SortStableFunc(cases, func(a, b *tried) int { return strings.Compare(a.String(), b.String()) })
	for _, c := range cases {
		t.Run(c.String(), func(t *testing.T) { require.NoErrorf(t, c.err, "workload %s", c.work.name) })
	}
}
