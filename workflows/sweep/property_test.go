package sweep

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// TestComparisonsAreSafe holds any comparison against what must never happen, whatever hosts and the fleet say.
func TestComparisonsAreSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, wants := drawView(t), drawWants(t)
		j := Compare(v, wants, grace)
		require.Equal(t, j, Compare(v, wants, grace), "it is a function")

		seen := j.Live
		for _, f := range j.Findings {
			if f.Thing.Kind == contract.ThingReservation || f.Repair != nil {
				checkRepair(t, v, wants, f)
				continue
			}
			seen++
			if f.Discard != nil {
				checkOrphan(t, v, wants, f)
			}
		}
		for _, thing := range v.Things {
			if thing.Kind == tomorrow {
				seen++
			}
		}
		require.Equal(t, len(v.Things), seen, "every thing is judged once, except what is not known")
		require.LessOrEqual(t, j.Counted(), j.Total)
	})
}

func checkOrphan(t *rapid.T, v View, wants map[string]contract.Want, f Finding) {
	thing, w := f.Thing, wants[f.Thing.Workload]
	require.NotEqual(t, tomorrow, thing.Kind)
	require.Equal(t, v1.VerdictOrphan, f.Verdict)
	require.Empty(t, thing.Odd)
	require.False(t, thing.InUse)
	require.False(t, thing.Tombstone)
	require.True(t, thing.Known && thing.Age >= grace, "older than the grace")
	open := w.Presence == contract.PresenceOpen && thing.Workload != ""
	require.False(t, open && w.Busy, "an action runs")
	if open && w.Host == v.Ledger.Host {
		require.True(t, isRuntime(thing.Kind) && thing.Generation != w.Running && w.Running > 0, "only an older generation")
	}
	if !holdsData(thing.Kind) {
		return
	}
	volume := thing.Kind == contract.ThingVolume
	proof := w.Presence == contract.PresenceRemoved && thing.Fence >= w.Born && thing.Fence <= w.Fence && !volume
	for _, d := range v.Ledger.Debts {
		proof = proof || d.Workload == thing.Workload && d.Fence >= thing.Fence && (d.Volumes || !volume)
	}
	for _, r := range v.Things {
		proof = proof || !thing.Kept && r.Tombstone && r.Workload == thing.Workload && r.Fence >= thing.Fence
	}
	require.True(t, proof, "data goes only on proof")
	require.True(t, f.Discard.Proven)
}

func checkRepair(t *rapid.T, v View, wants map[string]contract.Want, f Finding) {
	w := wants[f.Repair.Workload]
	require.NotEqual(t, f.Repair.Absent == nil, f.Repair.Release == nil)
	require.False(t, w.Presence == contract.PresenceOpen && w.Busy)
	if f.Repair.Absent == nil {
		require.False(t, w.Presence == contract.PresenceOpen && w.Host == v.Ledger.Host)
		return
	}
	require.Equal(t, v.Ledger.Host, w.Host)
	for _, thing := range v.Things {
		require.False(t, thing.Kind == f.Thing.Kind && thing.Workload == f.Thing.Workload && thing.Generation == w.Running)
	}
}

func drawView(t *rapid.T) View {
	v := View{Ledger: contract.HostLedger{Host: "h1", Since: since}, ReadAt: 9_000}
	kinds := []contract.ThingKind{
		contract.ThingContainer, contract.ThingNetwork, contract.ThingVolume, contract.ThingDomain, contract.ThingDisk,
		contract.ThingSeed, contract.ThingDownload, contract.ThingImage, tomorrow,
	}
	for i := range rapid.IntRange(0, 12).Draw(t, "things") {
		thing := contract.Thing{
			Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Name: fmt.Sprint(i), Workload: drawName(t),
			Generation: rapid.Int64Range(1, 3).Draw(t, "generation"), Fence: rapid.Int64Range(998, 1_006).Draw(t, "fence"),
			Age: rapid.SampledFrom([]time.Duration{0, time.Minute, grace, time.Hour}).Draw(t, "age"), Known: rapid.Bool().Draw(t, "known"),
		}
		ofHost := thing.Kind == contract.ThingDownload || thing.Kind == contract.ThingImage
		thing.InUse = ofHost && rapid.Bool().Draw(t, "in use")
		thing.Kept = thing.Kind == contract.ThingVolume && rapid.Bool().Draw(t, "kept")
		if ofHost {
			thing.Workload = ""
		}
		if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
			thing.Odd = "odd"
		}
		v.Things = append(v.Things, thing)
	}
	for _, name := range names {
		if rapid.Bool().Draw(t, "has a record") {
			v.Things = append(v.Things, contract.Thing{
				Kind: contract.ThingRecord, Name: name, Workload: name, Fence: rapid.Int64Range(998, 1_006).Draw(t, "record"),
				Age: time.Hour, Known: true, Tombstone: rapid.Bool().Draw(t, "tombstone"),
			})
		}
		if rapid.Bool().Draw(t, "is reserved for") {
			v.Ledger.Reservations = append(v.Ledger.Reservations, contract.Reservation{
				Workload: name, Fence: rapid.Int64Range(998, 1_006).Draw(t, "reserved"), Bound: rapid.Bool().Draw(t, "bound"),
			})
		}
		if rapid.IntRange(0, 3).Draw(t, "owes") == 0 {
			v.Ledger.Debts = append(v.Ledger.Debts, contract.Debt{Workload: name, Fence: rapid.Int64Range(998, 1_006).Draw(t, "debt"), Volumes: rapid.Bool().Draw(t, "with volumes")})
		}
	}
	return v
}

func drawWants(t *rapid.T) map[string]contract.Want {
	wants := map[string]contract.Want{}
	for _, name := range names {
		wants[name] = contract.Want{
			Workload: name, Kind: rapid.SampledFrom([]v1.Kind{v1.KindContainer, v1.KindVM}).Draw(t, "kind"),
			Presence: rapid.SampledFrom([]contract.Presence{
				contract.PresenceNone, contract.PresenceOpen, contract.PresenceRemoved, contract.PresenceBroken,
			}).Draw(t, "presence"),
			Busy: rapid.Bool().Draw(t, "busy"), Host: rapid.SampledFrom([]string{"", "h1", "h2"}).Draw(t, "host"),
			Fence: rapid.Int64Range(998, 1_006).Draw(t, "fence"), Running: rapid.Int64Range(0, 3).Draw(t, "running"),
			Since: rapid.SampledFrom([]int64{8_000, 9_001}).Draw(t, "since"),
			Born:  rapid.SampledFrom([]int64{0, 1_000, 1_003}).Draw(t, "born"),
		}
	}
	return wants
}

// tomorrow is a kind of things that only agents of a later version know.
const tomorrow contract.ThingKind = "secret"

var names = []string{"a", "b", "c"}

func drawName(t *rapid.T) string { return rapid.SampledFrom(names).Draw(t, "workload") }
