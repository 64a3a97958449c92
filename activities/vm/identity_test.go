package vm

import (
	"net"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestIdentityIsStableAndItsOwn(t *testing.T) {
	a, b := identity{"prod", "a"}, identity{"prod", "b"}
	require.Equal(t, "berth.prod.a.web", a.domain("web"))
	require.Equal(t, identity{"prod", "a"}.uuid("web"), a.uuid("web"))
	require.NotEqual(t, a.uuid("web"), b.uuid("web"))
	_, err := uuid.Parse(a.uuid("web"))
	require.NoError(t, err)

	macs := map[string]bool{}
	for _, mac := range []string{a.mac("web", 0), a.mac("web", 1), a.mac("db", 0), b.mac("web", 0)} {
		parsed, err := net.ParseMAC(mac)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(mac, "52:54:00:"), mac)
		require.Zero(t, parsed[0]&1, "not a multicast address")
		macs[mac] = true
	}
	require.Len(t, macs, 4)
}

func TestWorkloadOfDomain(t *testing.T) {
	ids := identity{"prod", "a"}
	for domain, want := range map[string]string{
		"berth.prod.a.web":   "web",
		"berth.prod.b.web":   "", // another host's
		"berth.test.a.web":   "", // another fleet's
		"berth.prod.a.b.web": "", // of a host named "a.b"
		"berth.prod.a.":      "",
		"web":                "",
	} {
		got, ok := ids.workload(domain)
		require.Equal(t, want != "", ok, domain)
		if ok {
			require.Equal(t, want, got)
		}
	}
}
