package host

import (
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func cordon(s *State, on bool) { s.Change(contract.HostChange{Cordon: &on}, now) }

// closed is a host that was forgotten while it was cordoned and drained, with docker switched off.
func closed(t *testing.T) *State {
	t.Helper()
	s := offline(t)
	drain(s, v1.DrainRequest{})
	s.Change(contract.HostChange{DisableRuntimes: []string{"docker"}}, now)
	require.NoError(t, s.Forget(now, true))
	return s
}

func joins(t *testing.T, s *State, instance string) v1.Host {
	t.Helper()
	w, ok := s.Hello(hello(instance), now)
	require.True(t, ok)
	s.Live(contract.LeaseLive{LeaseNo: w.LeaseNo}, now)
	return s.View()
}

func TestAMachineThatTakesAForgottenNameStartsClean(t *testing.T) {
	s := closed(t)
	require.False(t, s.View().Cordoned, "what is shown is what the next one gets")
	h := joins(t, s, "i2")
	require.False(t, h.Cordoned)
	require.True(t, h.Runtimes[0].Ready, "docker")
	require.Nil(t, h.Drain)
	require.True(t, ask(s, "new", v1.KindContainer, 1).Granted)
}

func TestACordonAfterForgettingIsForWhoeverComes(t *testing.T) {
	s := closed(t)
	cordon(s, true)
	require.NoError(t, s.Forget(now, true), "a repeat changes nothing")
	require.True(t, s.View().Cordoned)
	require.True(t, joins(t, s, "i2").Cordoned)
	require.False(t, ask(s, "new", v1.KindContainer, 1).Granted)
}

func TestAnAdoptedMachineIsKeptFromWhatItWas(t *testing.T) {
	s := closed(t)
	s.Adopt(now)
	require.Contains(t, s.View().Message, "cordoned")
	h := joins(t, s, "i1")
	require.True(t, h.Cordoned)
	require.False(t, h.Runtimes[0].Ready, "docker")

	s = closed(t)
	s.Adopt(now)
	cordon(s, false)
	require.NotContains(t, s.View().Message, "cordoned")
	require.False(t, joins(t, s, "i1").Cordoned, "unless an admin said otherwise before it came")

	s = forgotten(t)
	s.Adopt(now)
	require.NotContains(t, s.View().Message, "cordoned")
	require.False(t, joins(t, s, "i1").Cordoned)
}

// A history from before names were handed on clean goes on as it went.
func TestWhoWasForgottenEarlierHandsItsCordonOn(t *testing.T) {
	s := offline(t)
	cordon(s, true)
	require.NoError(t, s.Forget(now, false))
	require.True(t, joins(t, s, "i2").Cordoned)
}
