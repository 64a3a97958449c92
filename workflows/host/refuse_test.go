package host

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// standings makes a host in each state that an admin can meet it in.
var standings = []struct {
	name string
	make func(*testing.T) *State
}{
	{"joining", func(t *testing.T) *State {
		t.Helper()
		s := &State{Timings: contract.DefaultTimings(), Phase: v1.HostJoining}
		_, ok := s.Hello(hello("i1"), now)
		require.True(t, ok)
		return s
	}},
	{"online", online},
	{"online, another was refused", func(t *testing.T) *State {
		t.Helper()
		s := online(t)
		_, ok := s.Hello(hello("i2"), now)
		require.False(t, ok)
		return s
	}},
	{"draining", func(t *testing.T) *State {
		t.Helper()
		s := online(t)
		drain(s, v1.DrainRequest{})
		return s
	}},
	{"offline", offline},
	{"left", func(t *testing.T) *State {
		t.Helper()
		s := online(t)
		s.Ended(contract.LeaseEnded{LeaseNo: s.LeaseNo, Left: true}, now)
		return s
	}},
	{"forgotten", forgotten},
	{"adopted", func(t *testing.T) *State {
		t.Helper()
		s := forgotten(t)
		s.Adopt(now)
		return s
	}},
	{"online, named as a forgotten one", func(t *testing.T) *State {
		t.Helper()
		s := forgotten(t)
		w, ok := s.Hello(hello("i2"), now)
		require.True(t, ok)
		s.Live(contract.LeaseLive{LeaseNo: w.LeaseNo}, now)
		return s
	}},
}

func forgotten(t *testing.T) *State {
	t.Helper()
	s := offline(t)
	require.NoError(t, s.Forget(now, true))
	s.outbox = nil
	return s
}

// Every verb meets every state: what makes no sense is refused with a reason and advice, and changes nothing.
func TestWhatMakesNoSenseOfAHostIsRefused(t *testing.T) {
	on, off := true, false
	change := func(c contract.HostChange) func(*State) error {
		return func(s *State) error { return s.checkChange(c) }
	}
	verbs := map[string]func(*State) error{
		"cordon":          change(contract.HostChange{Cordon: &on}),
		"uncordon":        change(contract.HostChange{Cordon: &off}), // also the end of a drain
		"drain":           change(contract.HostChange{Drain: &v1.DrainRequest{}}),
		"disable-runtime": change(contract.HostChange{DisableRuntimes: []string{"docker"}}),
		"enable-runtime":  change(contract.HostChange{EnableRuntimes: []string{"docker"}}),
		"unknown runtime": change(contract.HostChange{DisableRuntimes: []string{"podman"}}),
		"forget":          (*State).checkForget,
		"adopt":           (*State).checkAdopt,
	}
	const there, own = "only a host that is away", "it was not forgotten"
	refused := map[string]map[string]string{ // by state, then verb: what the refusal says
		"joining":                          {"forget": there, "adopt": own},
		"online":                           {"forget": there, "adopt": own},
		"online, another was refused":      {"forget": there, "adopt": own},
		"draining":                         {"forget": there, "adopt": own},
		"offline":                          {"adopt": own},
		"left":                             {"adopt": own},
		"forgotten":                        {"drain": "nothing to drain", "disable-runtime": "no runtimes", "enable-runtime": "no runtimes"},
		"adopted":                          {"drain": "nothing to drain", "disable-runtime": "no runtimes", "enable-runtime": "no runtimes"},
		"online, named as a forgotten one": {"forget": there, "adopt": "another machine has the name"},
	}
	for _, standing := range standings {
		want, known := refused[standing.name]
		require.True(t, known, "%s is judged", standing.name)
		for verb, check := range verbs {
			t.Run(standing.name+"/"+verb, func(t *testing.T) {
				s := standing.make(t)
				before, err := json.Marshal(s)
				require.NoError(t, err)
				text := want[verb]
				if verb == "unknown runtime" {
					text = "no runtime"
				}
				err = check(s)
				after, merr := json.Marshal(s)
				require.NoError(t, merr)
				require.Equal(t, string(before), string(after), "a check only reads")
				if text == "" {
					require.NoError(t, err)
					return
				}
				var e *contract.Error
				require.ErrorAs(t, err, &e)
				require.Contains(t, e.Message, text)
				require.Contains(t, e.Message, "h1")
				require.NotEmpty(t, e.Reason)
				require.NotEmpty(t, e.Advice)
				require.True(t, e.Permanent)
			})
		}
	}
}
