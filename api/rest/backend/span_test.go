package backend

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	v1 "github.com/berth-dev/berth/api/v1"
)

// begun is what began, in no order.
type begun []v1.Action

func (b begun) of(s span) []v1.Action {
	var out []v1.Action
	for _, a := range b {
		if (s.from.IsZero() || !a.StartedAt.Before(s.from)) && (s.to.IsZero() || !a.StartedAt.After(s.to)) {
			out = append(out, a)
		}
	}
	return out
}

// page is what Backend.Actions does with a span.
func (b begun) page(t require.TestingT, from *cursor, size int, now time.Time) (items []v1.Action, next *cursor) {
	all, need := span{}, size+1
	if from != nil {
		all.to = from.At
		need += len(b.of(span{from.At, from.At}))
	}
	s, err := newestSpan(context.Background(), all, need, now, func(_ context.Context, s span) (int, error) { return len(b.of(s)), nil })
	require.NoError(t, err)
	items = b.of(s)
	if s != all {
		require.GreaterOrEqual(t, len(items), need, "a stretch that is not the whole holds enough")
	}
	if from != nil {
		items = slices.DeleteFunc(items, func(a v1.Action) bool { return !from.after(a) })
	}
	slices.SortFunc(items, newestFirst)
	more := s != all
	if len(items) > size {
		items, more = items[:size], true
	}
	if !more {
		return items, nil
	}
	last := items[len(items)-1]
	return items, &cursor{last.StartedAt, last.ID}
}

// Whatever began when, in bursts or years apart, also at the very same time, and whatever begins while the pages are read:
// together they hold each action that was there at first once, newest first.
func TestPagesHoldEachActionOnce(t *testing.T) {
	now := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		var all begun
		at := now
		gaps := []time.Duration{0, 0, time.Microsecond, time.Millisecond, time.Second, time.Hour, 1000 * time.Hour}
		for i := range rapid.IntRange(0, 300).Draw(t, "actions") {
			at = at.Add(-rapid.SampledFrom(gaps).Draw(t, "gap"))
			all = append(all, v1.Action{ID: fmt.Sprintf("workload/w/deploy/%d", i), StartedAt: at})
		}
		want := slices.Clone(all)
		slices.SortFunc(want, newestFirst)
		size := rapid.IntRange(1, 60).Draw(t, "size")
		var got []v1.Action
		var from *cursor
		for {
			items, next := all.page(t, from, size, now)
			got = append(got, items...)
			if next == nil {
				break
			}
			from = next
			now = now.Add(time.Second)
			all = append(all, v1.Action{ID: fmt.Sprintf("workload/new/deploy/%d", len(all)), StartedAt: now})
		}
		require.Equal(t, want, begun(got))
	})
}

// Where little was done the whole is looked at, after a few counts.
func TestAFewAreFoundWhereverTheyAre(t *testing.T) {
	now := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	for _, all := range []begun{nil, {{StartedAt: now}}, {{StartedAt: now.AddDate(-30, 0, 0)}, {StartedAt: now}}} {
		counts := 0
		s, err := newestSpan(t.Context(), span{}, 51, now, func(_ context.Context, s span) (int, error) {
			counts++
			return len(all.of(s)), nil
		})
		require.NoError(t, err)
		require.Equal(t, span{}, s)
		require.Equal(t, 5, counts)
	}
}

// A burst among many is found without reading what is far away.
func TestASpanIsNotMuchLongerThanNeeded(t *testing.T) {
	now := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	var all begun
	for i := range 10_000 {
		all = append(all, v1.Action{StartedAt: now.Add(-time.Duration(i) * 100 * time.Millisecond)})
	}
	counts := 0
	s, err := newestSpan(t.Context(), span{}, 51, now, func(_ context.Context, s span) (int, error) {
		counts++
		return len(all.of(s)), nil
	})
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(all.of(s)), 51)
	require.LessOrEqual(t, len(all.of(s)), 126)
	require.LessOrEqual(t, counts, 10)
}
