package guard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/deadline"
	"github.com/berth-dev/berth/workflows/contract"
)

func TestPlan(t *testing.T) {
	const end, grace = time.Hour, 10 * time.Second
	web := deadline.Runtime{Workload: "web", Grace: grace}
	stopped := deadline.Runtime{Workload: "web", Grace: grace, Stopped: true}
	file := func(r ...deadline.Runtime) deadline.File {
		return deadline.File{BootID: "b", Held: true, Deadline: end, Runtimes: r}
	}
	for name, c := range map[string]struct {
		file  deadline.File
		after time.Duration // the deadline
		kill  bool
		stops []time.Duration // the graces
	}{
		"the lease is live":              {file(web), -time.Second, false, nil},
		"the agent has its margin":       {file(web), contract.StrictMargin - 1, false, nil},
		"the agent does nothing":         {file(web), contract.StrictMargin, true, []time.Duration{grace}},
		"the guard came late":            {file(web), contract.StrictMargin + 4*time.Second, true, []time.Duration{grace - 4*time.Second}},
		"much too late":                  {file(web), time.Hour, true, []time.Duration{0}},
		"nothing is strict":              {file(), time.Hour, false, nil},
		"the agent stops it":             {with(file(web), func(f *deadline.File) { f.Stopping = true }), contract.StrictMargin + grace - 1, false, nil},
		"the agent does not get on":      {with(file(web), func(f *deadline.File) { f.Stopping = true }), contract.StrictMargin + grace, true, []time.Duration{0}},
		"the agent has stopped it":       {with(file(stopped), func(f *deadline.File) { f.Stopping = true }), time.Hour, false, []time.Duration{0}},
		"one of two is stopped":          {file(stopped, web), time.Hour, true, []time.Duration{0, 0}},
		"the agent never held the lease": {with(file(web), func(f *deadline.File) { f.Held = false }), time.Hour, false, []time.Duration{0}},
		"the file is of another boot":    {with(file(web), func(f *deadline.File) { f.BootID = "a" }), time.Hour, false, nil},
		"no deadline was ever known":     {with(file(web), func(f *deadline.File) { f.Deadline, f.Held = 0, false }), 0, false, []time.Duration{0}},
	} {
		t.Run(name, func(t *testing.T) {
			p := planFor(c.file, "b", end+c.after)
			require.Equal(t, c.kill, p.killAgent)
			var graces []time.Duration
			for _, s := range p.stops {
				graces = append(graces, s.grace)
			}
			require.Equal(t, c.stops, graces)
		})
	}
}

func with(f deadline.File, change func(*deadline.File)) deadline.File {
	change(&f)
	return f
}
