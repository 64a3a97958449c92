package host

import (
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func wants(workload string, fence int64, devices ...string) contract.ReserveRequest {
	return contract.ReserveRequest{
		Workload: workload, Fence: fence, Passed: true, Needs: contract.Needs{Kind: v1.KindContainer, Devices: devices},
	}
}

// named is an online host whose /dev/sdb has further names.
func named(t *testing.T, names ...string) *State {
	t.Helper()
	s := online(t)
	c := contract.Capability{LeaseNo: s.LeaseNo, Capacity: s.Ledger.Capacity, Runtimes: s.Runtimes, DeviceNames: map[string]string{}}
	for _, n := range names {
		c.DeviceNames[n] = "/dev/sdb"
	}
	s.Capability(c, now)
	return s
}

func TestADeviceIsReservedUnderAllItsNames(t *testing.T) {
	s := named(t, "/dev/by-id", "/dev/by-path")
	require.True(t, s.Reserve(wants("one", 1, "/dev/by-id"), now).Granted)
	require.NoError(t, s.Bind(contract.BindRequest{Workload: "one", Fence: 1}, now))
	s.outbox = nil
	for _, name := range []string{"/dev/sdb", "/dev/by-path"} {
		require.Equal(t, "device "+name+" is reserved by one, as /dev/by-id", s.Would(wants("two", 0, name)).Short)
		reply := s.Reserve(wants("two", 1, "/dev/null", name), now)
		require.Equal(t, v1.ReasonNoCapacity, reply.Reason)
		require.Equal(t, "device "+name+" is reserved by one, as /dev/by-id", reply.Short)
	}
	require.Equal(t, "device /dev/by-id is reserved by one", s.Would(wants("two", 0, "/dev/by-id")).Short)
	require.True(t, s.Would(wants("two", 0, "/dev/sdc")).Granted)
	require.Empty(t, offered(s))
	s.Release(contract.ReleaseRequest{Workload: "one", Fence: 1}, now)
	require.Len(t, offered(s), 1, "who waits is told, by whatever name it waits")
	require.True(t, s.Reserve(wants("two", 2, "/dev/sdb"), now).Granted)
}

func TestWhoHasADeviceIsNotRefusedItForANameThatCameLater(t *testing.T) {
	s := named(t)
	require.True(t, s.Reserve(wants("one", 1, "/dev/by-id"), now).Granted)
	require.True(t, s.Reserve(wants("two", 1, "/dev/sdb"), now).Granted, "by-id led elsewhere")
	c := contract.Capability{
		LeaseNo: s.LeaseNo, Capacity: s.Ledger.Capacity, Runtimes: s.Runtimes, DeviceNames: map[string]string{"/dev/by-id": "/dev/sdb"},
	}
	s.Capability(c, now)
	require.True(t, s.Reserve(wants("one", 2, "/dev/by-id"), now).Granted, "it has it: whether it may start is for the host to say")
	require.True(t, s.Reserve(wants("two", 2, "/dev/sdb"), now).Granted)
	require.False(t, s.Reserve(wants("two", 3, "/dev/sdb", "/dev/by-id"), now).Granted, "not so what it asks for anew")
	require.False(t, s.Reserve(wants("three", 1, "/dev/sdb"), now).Granted)

	w, ok := s.Hello(hello("i1"), now)
	require.True(t, ok)
	s.Live(contract.LeaseLive{LeaseNo: w.LeaseNo}, now)
	require.True(t, s.Would(wants("two", 0, "/dev/by-path")).Granted, "a hello says anew what it has")
}
