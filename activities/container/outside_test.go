package container

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEndedFromOutside(t *testing.T) {
	t0 := time.Now().Add(-time.Hour)
	at := func(seconds int) time.Time { return t0.Add(time.Duration(seconds) * time.Second) }
	ran := func(from, to, code int) Container {
		return Container{ID: "c", StartedAt: at(from), FinishedAt: at(to), ExitCode: code}
	}
	killed := func() *outside { return &outside{kills: times{"c": at(100)}} }
	outage := func() *outside { return &outside{past: []outage{{at(100), at(200)}}} }

	for name, test := range map[string]struct {
		o    *outside
		c    Container
		want bool
	}{
		"nothing known":                     {&outside{}, ran(0, 100, 137), false},
		"never started":                     {outage(), Container{FinishedAt: at(150)}, false},
		"obeyed a kill":                     {killed(), ran(0, 101, 0), true},
		"was forced after the grace":        {killed(), ran(0, 111, 137), true},
		"survived the kill, ended later":    {killed(), ran(0, 400, 0), false},
		"was gone when the kill was told":   {&outside{kills: times{"c": at(100).Add(time.Millisecond)}}, ran(99, 100, 137), true},
		"was killed in an earlier run":      {killed(), ran(101, 102, 1), false},
		"ended while the engine was away":   {outage(), ran(0, 150, 137), true},
		"ended before that":                 {outage(), ran(0, 99, 0), false},
		"ended after that":                  {outage(), ran(0, 201, 0), false},
		"the engine is still away":          {&outside{gone: at(100)}, ran(0, 150, 0), true},
		"lost with the machine":             {&outside{boot: at(100)}, ran(0, 110, 255), true},
		"ended by itself before the boot":   {&outside{boot: at(100)}, ran(0, 50, 255), false},
		"started after the boot, ended 255": {&outside{boot: at(100)}, ran(110, 120, 255), false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, test.want, test.o.ended(test.c)) })
	}
}

func TestOutsideIsBounded(t *testing.T) {
	o := &outside{kills: times{}}
	for n := range maxTimes + 10 {
		o.killed(string(rune('a'+n%20))+time.Duration(n).String(), time.Unix(int64(n), 0))
	}
	require.Len(t, o.kills, maxTimes)
	for _, at := range o.kills {
		require.GreaterOrEqual(t, at.Unix(), int64(10), "the oldest are forgotten first")
	}
	for range maxOutages + 3 {
		o.away()
		o.away()
		o.back()
		o.back()
	}
	require.Len(t, o.past, maxOutages)
}

func TestTheCauseMayBeToldAfterTheEnd(t *testing.T) {
	begin := time.Now()
	fresh := func(code int) Container {
		return Container{ID: "c", StartedAt: begin.Add(-time.Minute), FinishedAt: time.Now(), ExitCode: code}
	}
	for name, tell := range map[string]func(*outside, time.Time){
		"a kill":           func(o *outside, at time.Time) { o.killed("c", at) },
		"a want of memory": func(o *outside, at time.Time) { o.starved("c", at) },
	} {
		t.Run(name, func(t *testing.T) {
			o, k := &outside{kills: times{}, ooms: times{}}, fresh(killedCode)
			time.AfterFunc(2*tellPoll, func() { tell(o, time.Now()) })
			o.await(t.Context(), k)
			require.True(t, o.ended(k) || o.ranOut(k))
		})
	}
	o, now := &outside{kills: times{}, ooms: times{}}, time.Now()
	o.await(t.Context(), fresh(1)) // it ended by itself
	o.await(t.Context(), Container{ID: "c", StartedAt: begin.Add(-time.Hour), FinishedAt: begin.Add(-time.Minute), ExitCode: killedCode})
	require.Less(t, time.Since(now), hearsay, "there is nothing to wait for")
	require.True(t, o.starved("c", now))
	require.False(t, o.starved("c", now.Add(time.Millisecond)), "one of dozens")
	require.False(t, o.ranOut(fresh(1)), "a child's want of memory is not the end of all")
}
