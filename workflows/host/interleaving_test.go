package host_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
	"github.com/berth-dev/berth/workflows/host"
)

// world is a host's entity, the workloads that ask it for room as the control plane does, and the messages that are under
// way. Workers die, messages come late, twice and in another order, grants lapse, and the host is lost and comes back.
type world struct {
	*rapid.T
	s         *host.State
	now       time.Time
	workloads []*asker
	// flight are the signals under way. What was delivered stays: it may come again.
	flight []func()
	// reserves are all that were ever sent: an activity's earlier attempt may land at any time.
	reserves []contract.ReserveRequest
}

// asker is one workload, as far as the host's ledger is concerned.
type asker struct {
	name  string
	fence int64
	// granted is a grant that has been recorded, and may be bound.
	granted *contract.ReserveRequest
	exact   bool
	// runs is what it may take on this host: all that was bound and not yet removed.
	runs []contract.Needs
	// released is the highest fence of a release that was delivered, owed what runs here though it moved elsewhere.
	released int64
	owed     bool
}

func newWorld(t *rapid.T) *world {
	w := &world{T: t, s: &host.State{Timings: contract.DefaultTimings(), Phase: v1.HostJoining}, now: t0}
	for i := range 3 {
		w.workloads = append(w.workloads, &asker{name: fmt.Sprint("w", i), fence: 100})
	}
	w.online()
	return w
}

func (w *world) online() {
	welcome, admitted := w.s.Hello(contract.Hello{
		Host: "h", Fleet: "f", Instance: "i", Contract: contract.Number,
		Capacity: v1.Amounts{CPUs: 4000, Memory: 1000, Disk: 1000},
		Runtimes: []v1.Runtime{{Name: "docker", Kinds: []v1.Kind{v1.KindContainer}, Ready: true}},
	}, w.now)
	require.True(w, admitted)
	w.s.Live(contract.LeaseLive{LeaseNo: welcome.LeaseNo}, w.now)
	if len(welcome.Debts) == 0 {
		return
	}
	// The agent removes what it owes before it says so.
	for _, d := range welcome.Debts {
		a := w.workloads[slices.IndexFunc(w.workloads, func(a *asker) bool { return a.name == d.Workload })]
		a.owed = false
	}
	w.send(func() { w.s.Paid(contract.DebtsPaid{Paid: welcome.Debts}, w.now) })
}

func (w *world) lose() { w.s.Ended(contract.LeaseEnded{LeaseNo: w.s.LeaseNo}, w.now) }

func (w *world) send(deliver func()) { w.flight = append(w.flight, deliver) }

func (w *world) needs() contract.Needs {
	n := needs(v1.Bytes(rapid.IntRange(100, 500).Draw(w.T, "memory")))
	for _, port := range rapid.SliceOfNDistinct(rapid.IntRange(1, 3), 0, 2, rapid.ID[int]).Draw(w.T, "ports") {
		n.Ports = append(n.Ports, contract.PortClaim{Port: port, Protocol: "tcp"})
	}
	n.Devices = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"/dev/a", "/dev/b"}), 0, 2, rapid.ID[string]).Draw(w.T, "devices")
	return n
}

// reserve asks for room. If the worker dies before the grant is recorded, nobody ever binds it.
func (w *world) reserve(a *asker) {
	a.fence++
	req := contract.ReserveRequest{Workload: a.name, Fence: a.fence, Needs: w.needs()}
	w.reserves = append(w.reserves, req)
	reply := w.s.Reserve(req, w.now)
	a.granted = nil
	if reply.Granted && rapid.Bool().Draw(w.T, "recorded") {
		a.granted, a.exact = &req, reply.Exact
	}
}

func (w *world) bind(a *asker) {
	if a.granted == nil {
		return
	}
	req := *a.granted
	err := w.s.Bind(contract.BindRequest{Workload: a.name, Fence: req.Fence}, w.now)
	a.granted = nil
	if err != nil { // the deploy fails before it has changed anything
		if len(a.runs) == 0 {
			w.release(a, req.Fence)
		} else {
			w.settle(a, req.Fence, a.runs[len(a.runs)-1])
		}
		return
	}
	for _, other := range w.workloads {
		require.False(w, other.owed, "%s may start while the host still has what %s left there", a.name, other.name)
	}
	a.runs = append(a.runs, req.Needs)
	if len(a.runs) > 1 || !a.exact { // the old one is stopped, the new one runs
		a.runs = a.runs[len(a.runs)-1:]
		w.settle(a, req.Fence, req.Needs)
	}
}

func (w *world) settle(a *asker, fence int64, n contract.Needs) {
	w.send(func() { w.s.Settle(contract.SettleRequest{Workload: a.name, Fence: fence, Needs: n}, w.now) })
}

func (w *world) release(a *asker, fence int64) {
	w.send(func() {
		w.s.Release(contract.ReleaseRequest{Workload: a.name, Fence: fence}, w.now)
		a.released = max(a.released, fence)
		late := w.s.Reserve(contract.ReserveRequest{Workload: a.name, Fence: a.released, Needs: needs(0)}, w.now)
		require.False(w, late.Granted, "a reserve that lands after its release is granted")
	})
}

// stop keeps ports and devices.
func (w *world) stop(a *asker) {
	if len(a.runs) == 0 {
		return
	}
	a.fence++
	kept := a.runs[0]
	kept.Amount.CPUs, kept.Amount.Memory = 0, 0
	a.granted, a.runs = nil, []contract.Needs{kept}
	w.settle(a, a.fence, kept)
}

func (w *world) remove(a *asker) {
	a.fence++
	a.granted, a.runs = nil, nil
	w.release(a, a.fence)
}

// evict moves a workload away from the host, if that is lost.
func (w *world) evict(a *asker) {
	a.fence++
	reply := w.s.Evict(contract.EvictRequest{Host: "h", Instance: "i", Workload: a.name, Fence: a.fence}, w.now)
	if reply.Refused == "" {
		a.owed = a.owed || len(a.runs) > 0
		a.granted, a.runs = nil, nil
		a.released = max(a.released, a.fence)
	}
}

// stray lets a reserve or a bind of the past land once more.
func (w *world) stray() {
	if len(w.reserves) == 0 {
		return
	}
	req := rapid.SampledFrom(w.reserves[max(0, len(w.reserves)-6):]).Draw(w.T, "late reserve")
	reply := w.s.Reserve(req, w.now)
	a := w.workloads[slices.IndexFunc(w.workloads, func(a *asker) bool { return a.name == req.Workload })]
	require.False(w, reply.Granted && req.Fence <= a.released, "a reserve that lands after its release is granted")
	if w.s.Ledger.Entries[a.name].Fence != req.Fence {
		require.Error(w, w.s.Bind(contract.BindRequest{Workload: a.name, Fence: req.Fence}, w.now), "another grant is bound than was given")
	}
}

func (w *world) deliver() {
	if len(w.flight) > 0 {
		i := rapid.IntRange(0, len(w.flight)-1).Draw(w.T, "message")
		w.flight[i]()
		if rapid.Bool().Draw(w.T, "once") {
			w.flight = slices.Delete(w.flight, i, i+1)
		}
	}
}

// check holds the ledger against what the workloads may take.
func (w *world) check() {
	l := &w.s.Ledger
	require.LessOrEqual(w, l.Reserved().Memory, l.Capacity.Memory, "more is given out than there is")
	holders := map[any]string{}
	for name, e := range l.Entries {
		for thing := range claims(e.Needs, old(e)) {
			require.Empty(w, holders[thing], "%v is held by %s and %s", thing, name, holders[thing])
			holders[thing] = name
		}
	}
	for _, a := range w.workloads {
		for _, n := range a.runs {
			e, ok := l.Entries[a.name]
			require.True(w, ok, "%s runs and holds nothing", a.name)
			require.LessOrEqual(w, n.Amount.Memory, max(e.Needs.Amount.Memory, old(e).Amount.Memory), "%s takes more than it holds", a.name)
			held := claims(e.Needs, old(e))
			for thing := range claims(n) {
				require.Contains(w, held, thing, "%s uses %v without holding it", a.name, thing)
			}
		}
	}
}

func old(e host.Entry) contract.Needs {
	if e.Old == nil {
		return contract.Needs{}
	}
	return e.Old.Needs
}

// claims are the ports and devices that are reserved exclusively.
func claims(all ...contract.Needs) map[any]bool {
	things := map[any]bool{}
	for _, n := range all {
		for _, p := range n.Ports {
			things[p] = true
		}
		for _, d := range n.Devices {
			things[d] = true
		}
	}
	return things
}

// Whatever dies, is lost, late, doubled or out of order: nothing is given out twice, nobody who runs loses what it holds, and
// nothing leaks.
func TestTheHostHoldsUnderRandomInterleavings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		one := func(do func(*asker)) func() {
			return func() { do(rapid.SampledFrom(w.workloads).Draw(t, "workload")) }
		}
		actions := []func(){
			one(w.reserve), one(w.reserve), one(w.bind), one(w.bind), one(w.bind), one(w.stop), one(w.remove), one(w.evict),
			w.stray, w.deliver, w.deliver,
			func() {
				w.now = w.now.Add(time.Duration(rapid.IntRange(1, 12).Draw(t, "seconds")) * time.Second)
				w.s.Expire(w.now)
			},
			w.lose, w.online, w.online,
		}
		for range rapid.IntRange(100, 300).Draw(t, "steps") {
			actions[rapid.IntRange(0, len(actions)-1).Draw(t, "action")]()
			w.check()
		}
		w.online()
		for _, a := range w.workloads {
			w.remove(a)
		}
		for len(w.flight) > 0 {
			w.deliver()
			w.check()
		}
		w.now = w.now.Add(w.s.Timings.Grant)
		w.s.Expire(w.now)
		require.Empty(t, w.s.Ledger.Entries, "it leaks")
		require.Empty(t, w.s.Debts)
	})
}
