package sweep

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	grace = 10 * time.Minute
	since = 1_000 // when the fleet first heard of the host
)

// thing is one of a workload "web" with generation 2 and fence 5000, an hour old.
func thing(kind contract.ThingKind, change ...func(*contract.Thing)) contract.Thing {
	t := contract.Thing{Kind: kind, Name: string(kind) + "-web", Workload: "web", Generation: 2, Fence: 5_000, Age: time.Hour, Known: true}
	for _, c := range change {
		c(&t)
	}
	return t
}

func tombstone(fence int64) contract.Thing {
	return contract.Thing{Kind: contract.ThingRecord, Name: "web", Workload: "web", Fence: fence, Tombstone: true, Age: time.Hour, Known: true}
}

func open(change ...func(*contract.Want)) contract.Want {
	w := contract.Want{Workload: "web", Presence: contract.PresenceOpen, Kind: v1.KindVM, Host: "h1", Fence: 6_000, Running: 2, Since: 6_000}
	for _, c := range change {
		c(&w)
	}
	return w
}

// judged compares things of "web" on host h1.
func judged(w contract.Want, change func(*View), things ...contract.Thing) Judgement {
	v := View{Ledger: contract.HostLedger{Host: "h1", Since: since}, Things: things, ReadAt: 9_000}
	if change != nil {
		change(&v)
	}
	wants := map[string]contract.Want{}
	if w.Workload != "" {
		wants[w.Workload] = w
	}
	return Compare(v, wants, grace)
}

func TestWhoHasAThing(t *testing.T) {
	young := func(t *contract.Thing) { t.Age = time.Minute }
	ageless := func(t *contract.Thing) { t.Age, t.Known = 0, false }
	elsewhere := open(func(w *contract.Want) { w.Host = "h2" })
	removed := contract.Want{Workload: "web", Presence: contract.PresenceRemoved, Fence: 6_000}
	namesake, reborn := removed, removed
	namesake.Born, reborn.Born = 5_001, 5_000
	broken := contract.Want{Workload: "web", Presence: contract.PresenceBroken, Fence: 6_000}
	const live = v1.Verdict("")
	for name, c := range map[string]struct {
		thing   contract.Thing
		want    contract.Want
		beside  []contract.Thing
		debts   []contract.Debt
		verdict v1.Verdict
		proven  bool
	}{
		"of a workload here":                      {thing: thing(contract.ThingDomain), want: open(), verdict: live},
		"disk of a workload here":                 {thing: thing(contract.ThingDisk), want: open(), verdict: live},
		"old volume of a workload here":           {thing: thing(contract.ThingVolume, func(t *contract.Thing) { t.Generation = 1 }), want: open(), verdict: live},
		"elsewhere, while an action runs":         {thing: thing(contract.ThingDomain), want: open(func(w *contract.Want) { w.Host, w.Busy = "", true }), verdict: live},
		"stopped":                                 {thing: thing(contract.ThingDomain), want: open(func(w *contract.Want) { w.Running = 0 }), verdict: live},
		"only an old generation is left":          {thing: thing(contract.ThingDomain, func(t *contract.Thing) { t.Generation = 1 }), want: open(), verdict: live},
		"old generation beside the one that runs": {thing: thing(contract.ThingDomain, func(t *contract.Thing) { t.Generation = 1 }), want: open(), beside: []contract.Thing{thing(contract.ThingDomain)}, verdict: v1.VerdictOrphan},
		"old generation, and none runs":           {thing: thing(contract.ThingDomain, func(t *contract.Thing) { t.Generation = 1 }), want: open(func(w *contract.Want) { w.Running = 0 }), beside: []contract.Thing{thing(contract.ThingDomain)}, verdict: live},
		"runs elsewhere":                          {thing: thing(contract.ThingDomain), want: elsewhere, verdict: v1.VerdictOrphan},
		"seed of one that runs elsewhere":         {thing: thing(contract.ThingSeed), want: elsewhere, verdict: v1.VerdictOrphan},
		"disk of one that runs elsewhere":         {thing: thing(contract.ThingDisk), want: elsewhere, verdict: v1.VerdictUnexplained},
		"disk, with a debt":                       {thing: thing(contract.ThingDisk), want: elsewhere, debts: []contract.Debt{{Workload: "web", Fence: 5_000}}, verdict: v1.VerdictOrphan, proven: true},
		"disk, with an older debt":                {thing: thing(contract.ThingDisk), want: elsewhere, debts: []contract.Debt{{Workload: "web", Fence: 4_999}}, verdict: v1.VerdictUnexplained},
		"disk, with another's debt":               {thing: thing(contract.ThingDisk), want: elsewhere, debts: []contract.Debt{{Workload: "db", Fence: 9_000}}, verdict: v1.VerdictUnexplained},
		"disk, with a tombstone":                  {thing: thing(contract.ThingDisk), want: elsewhere, beside: []contract.Thing{tombstone(5_000)}, verdict: v1.VerdictOrphan, proven: true},
		"disk, with an older tombstone":           {thing: thing(contract.ThingDisk), want: elsewhere, beside: []contract.Thing{tombstone(4_999)}, verdict: v1.VerdictUnexplained},
		"on no host":                              {thing: thing(contract.ThingContainer), want: open(func(w *contract.Want) { w.Host = "" }), verdict: v1.VerdictOrphan},
		"later than its workload knows":           {thing: thing(contract.ThingContainer, func(t *contract.Thing) { t.Fence = 6_001 }), want: elsewhere, verdict: v1.VerdictUnexplained},
		"removed":                                 {thing: thing(contract.ThingContainer), want: removed, verdict: v1.VerdictOrphan, proven: true},
		"volume of a removed one":                 {thing: thing(contract.ThingVolume), want: removed, verdict: v1.VerdictUnexplained},
		"volume, with a tombstone":                {thing: thing(contract.ThingVolume), want: removed, beside: []contract.Thing{tombstone(5_000)}, verdict: v1.VerdictOrphan, proven: true},
		"volume that was kept":                    {thing: thing(contract.ThingVolume, func(t *contract.Thing) { t.Kept = true }), want: removed, beside: []contract.Thing{tombstone(5_000)}, verdict: v1.VerdictUnexplained},
		"volume that was kept, with a debt that names volumes": {
			thing: thing(contract.ThingVolume, func(t *contract.Thing) { t.Kept = true }), beside: []contract.Thing{tombstone(5_000)},
			debts: []contract.Debt{{Workload: "web", Fence: 5_000, Volumes: true}}, verdict: v1.VerdictOrphan, proven: true,
		},
		"volume that was kept, and is used again": {thing: thing(contract.ThingVolume, func(t *contract.Thing) { t.Kept = true }), want: open(), verdict: live},
		"volume, with a debt":                     {thing: thing(contract.ThingVolume), debts: []contract.Debt{{Workload: "web", Fence: 5_000}}, verdict: v1.VerdictUnexplained},
		"volume, with a debt that names volumes":  {thing: thing(contract.ThingVolume), debts: []contract.Debt{{Workload: "web", Fence: 5_000, Volumes: true}}, verdict: v1.VerdictOrphan, proven: true},
		"record of a removed one":                 {thing: thing(contract.ThingRecord), want: removed, verdict: v1.VerdictOrphan, proven: true},
		"disk of a removed one":                   {thing: thing(contract.ThingDisk), want: reborn, verdict: v1.VerdictOrphan, proven: true},
		"disk of one before the removed one":      {thing: thing(contract.ThingDisk), want: namesake, verdict: v1.VerdictUnexplained},
		"the same, with a tombstone":              {thing: thing(contract.ThingDisk), want: namesake, beside: []contract.Thing{tombstone(5_000)}, verdict: v1.VerdictOrphan, proven: true},
		"record of one before the removed one":    {thing: thing(contract.ThingRecord), want: namesake, verdict: v1.VerdictUnexplained},
		"domain of one before the removed one":    {thing: thing(contract.ThingDomain), want: namesake, verdict: v1.VerdictOrphan},
		"later than its removal":                  {thing: thing(contract.ThingVolume, func(t *contract.Thing) { t.Fence = 6_001 }), want: removed, verdict: v1.VerdictUnexplained},
		"terminated":                              {thing: thing(contract.ThingDomain), want: broken, verdict: v1.VerdictOrphan},
		"disk of a terminated one":                {thing: thing(contract.ThingDisk), want: broken, verdict: v1.VerdictUnexplained},
		"record of a terminated one":              {thing: thing(contract.ThingRecord), want: broken, verdict: v1.VerdictUnexplained},
		"unknown":                                 {thing: thing(contract.ThingNetwork), verdict: v1.VerdictOrphan},
		"unknown volume":                          {thing: thing(contract.ThingVolume), verdict: v1.VerdictUnexplained},
		"young":                                   {thing: thing(contract.ThingContainer, young), verdict: v1.VerdictYoung},
		"seed beside a young domain":              {thing: thing(contract.ThingSeed), beside: []contract.Thing{thing(contract.ThingDomain, young)}, verdict: v1.VerdictYoung},
		"ageless":                                 {thing: thing(contract.ThingDomain, ageless), verdict: v1.VerdictUnexplained},
		"with labels alone":                       {thing: thing(contract.ThingContainer, func(t *contract.Thing) { t.Odd = "odd" }), verdict: v1.VerdictUnexplained},
		"tombstone":                               {thing: tombstone(5_000), verdict: live},
		"download":                                {thing: contract.Thing{Kind: contract.ThingDownload, Name: "x", Age: time.Hour, Known: true}, verdict: v1.VerdictOrphan, proven: true},
		"download under way":                      {thing: contract.Thing{Kind: contract.ThingDownload, Name: "x", Age: time.Hour, Known: true, InUse: true}, verdict: live},
		"image that nothing uses":                 {thing: contract.Thing{Kind: contract.ThingImage, Name: "x", Age: time.Hour, Known: true}, want: open(func(w *contract.Want) { w.Running = 0 }), verdict: v1.VerdictOrphan, proven: true},
		"image that was used within the grace":    {thing: contract.Thing{Kind: contract.ThingImage, Name: "x", Age: time.Minute, Known: true}, verdict: v1.VerdictYoung},
		"image in use":                            {thing: contract.Thing{Kind: contract.ThingImage, Name: "x", Age: time.Hour, Known: true, InUse: true}, verdict: live},
		"download that a VM here may still need":  {thing: contract.Thing{Kind: contract.ThingDownload, Name: "x", Age: time.Hour, Known: true}, want: open(func(w *contract.Want) { w.Running = 0 }), verdict: live},
	} {
		t.Run(name, func(t *testing.T) {
			j := judged(c.want, func(v *View) { v.Ledger.Debts = c.debts }, append([]contract.Thing{c.thing}, c.beside...)...)
			var verdict v1.Verdict
			var discard *contract.Orphan
			for _, f := range j.Findings {
				if f.Thing == c.thing {
					verdict, discard = f.Verdict, f.Discard
				}
			}
			require.Equal(t, c.verdict, verdict)
			require.Equal(t, c.verdict == v1.VerdictOrphan, discard != nil)
			if discard != nil {
				require.Equal(t, c.proven, discard.Proven)
				require.Equal(t, grace, discard.Grace)
			}
			require.Empty(t, j.Forgotten)
		})
	}
}

func TestAnOrphanCarriesTheFenceOfItsRecord(t *testing.T) {
	rec := thing(contract.ThingRecord, func(t *contract.Thing) { t.Fence = 5_432 })
	j := judged(contract.Want{}, nil, thing(contract.ThingContainer), rec)
	require.Equal(t, int64(5_432), j.Discards()[0].Discard.Record)
}

func TestWhatTheFleetHasForgotten(t *testing.T) {
	old := func(t *contract.Thing) { t.Fence = since - 1 }
	forgotten := []string{"container container-web"}
	for name, c := range map[string]struct {
		thing     contract.Thing
		want      contract.Want
		rewound   int64
		beside    []contract.Thing
		forgotten []string
	}{
		"older than the memory":                 {thing: thing(contract.ThingContainer, old), forgotten: forgotten},
		"younger":                               {thing: thing(contract.ThingContainer)},
		"older than a rewind":                   {thing: thing(contract.ThingContainer), rewound: 5_001, forgotten: forgotten},
		"known to have been removed":            {thing: thing(contract.ThingContainer, old), want: contract.Want{Workload: "web", Presence: contract.PresenceRemoved, Fence: 6_000}},
		"known to have been ended":              {thing: thing(contract.ThingContainer, old), want: contract.Want{Workload: "web", Presence: contract.PresenceBroken}},
		"known here, by a tombstone":            {thing: thing(contract.ThingContainer, old), beside: []contract.Thing{tombstone(since)}},
		"not made by Berth":                     {thing: thing(contract.ThingContainer, old, func(t *contract.Thing) { t.Odd = "odd" })},
		"a volume, which outlives its workload": {thing: thing(contract.ThingVolume, old)},
		"a record":                              {thing: thing(contract.ThingRecord, old), forgotten: []string{"record record-web"}},
		"wanted":                                {thing: thing(contract.ThingContainer, old), want: open()},
	} {
		t.Run(name, func(t *testing.T) {
			j := judged(c.want, func(v *View) { v.Rewound = c.rewound }, append([]contract.Thing{c.thing}, c.beside...)...)
			require.Equal(t, c.forgotten, j.Forgotten)
		})
	}
}

func TestWhatIsWantedAndAbsent(t *testing.T) {
	reserved := func(v *View) {
		v.Ledger.Reservations = []contract.Reservation{{Workload: "web", Fence: 6_000, Generation: 2, Bound: true}}
	}
	for name, c := range map[string]struct {
		want   contract.Want
		change func(*View)
		things []contract.Thing
		absent bool
	}{
		"absent":                      {want: open(), change: reserved, absent: true},
		"absent, with a record alone": {want: open(), things: []contract.Thing{thing(contract.ThingRecord)}, absent: true},
		"there":                       {want: open(), change: reserved, things: []contract.Thing{thing(contract.ThingDomain)}},
		"of a wrong generation":       {want: open(), change: reserved, things: []contract.Thing{thing(contract.ThingDomain, func(t *contract.Thing) { t.Generation = 1 })}, absent: true},
		"stopped":                     {want: open(func(w *contract.Want) { w.Running = 0 }), change: reserved},
		"under way":                   {want: open(func(w *contract.Want) { w.Busy = true }), change: reserved},
		"elsewhere":                   {want: open(func(w *contract.Want) { w.Host = "h2" }), things: []contract.Thing{thing(contract.ThingRecord)}},
		"deployed while it was read":  {want: open(func(w *contract.Want) { w.Since = 9_000 }), change: reserved},
		"not to be seen": {want: open(), change: func(v *View) {
			reserved(v)
			v.Unread = map[contract.ThingKind]string{contract.ThingDomain: "libvirt is down"}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			j := judged(c.want, c.change, c.things...)
			var told []contract.Repair
			for _, f := range j.Findings {
				if f.Repair != nil {
					require.Equal(t, v1.VerdictMissing, f.Verdict)
					told = append(told, *f.Repair)
				}
			}
			if !c.absent {
				require.Empty(t, told)
				return
			}
			require.Len(t, told, 1)
			require.Equal(t, "web", told[0].Workload)
			require.Equal(t, int64(6_000), told[0].Absent.Fence)
			require.Nil(t, told[0].Release)
		})
	}
}

func TestReservationsForNobody(t *testing.T) {
	entry := contract.Reservation{Workload: "web", Fence: 5_500, Generation: 2, Kind: v1.KindVM, Bound: true}
	for name, c := range map[string]struct {
		want    contract.Want
		entry   contract.Reservation
		things  []contract.Thing
		unread  map[contract.ThingKind]string
		release bool
	}{
		"unknown":                     {entry: entry, release: true},
		"removed":                     {entry: entry, want: contract.Want{Workload: "web", Presence: contract.PresenceRemoved, Fence: 6_000}, release: true},
		"terminated":                  {entry: entry, want: contract.Want{Workload: "web", Presence: contract.PresenceBroken}, release: true},
		"elsewhere":                   {entry: entry, want: open(func(w *contract.Want) { w.Host = "h2" }), release: true},
		"elsewhere, by a later fence": {entry: contract.Reservation{Workload: "web", Fence: 6_001, Bound: true}, want: open(func(w *contract.Want) { w.Host = "h2" })},
		"here":                        {entry: entry, want: open(func(w *contract.Want) { w.Running = 0 })},
		"under way":                   {entry: entry, want: open(func(w *contract.Want) { w.Host, w.Busy = "", true })},
		"a grant, which lapses":       {entry: contract.Reservation{Workload: "web", Fence: 5_500}},
		"something is left":           {entry: entry, things: []contract.Thing{thing(contract.ThingDisk)}},
		"a record is left":            {entry: entry, things: []contract.Thing{thing(contract.ThingRecord)}, release: true},
		"not all could be read":       {entry: entry, unread: map[contract.ThingKind]string{contract.ThingDisk: "no"}},
		"another runtime is away":     {entry: entry, unread: map[contract.ThingKind]string{contract.ThingContainer: "no"}, release: true},
	} {
		t.Run(name, func(t *testing.T) {
			j := judged(c.want, func(v *View) {
				v.Ledger.Reservations = []contract.Reservation{c.entry}
				v.Unread = c.unread
			}, c.things...)
			var released []contract.ReleaseRequest
			for _, f := range j.Findings {
				if f.Repair != nil && f.Repair.Release != nil {
					released = append(released, *f.Repair.Release)
				}
			}
			if !c.release {
				require.Empty(t, released)
				return
			}
			require.Equal(t, []contract.ReleaseRequest{{Workload: "web", Fence: 5_500}}, released)
		})
	}
}

func TestTooMany(t *testing.T) {
	var things []contract.Thing
	for range 8 {
		things = append(things, thing(contract.ThingContainer))
	}
	ghost := func(t *contract.Thing) { t.Workload = "ghost" }
	want := open(func(w *contract.Want) { w.Kind = v1.KindContainer })
	j := judged(want, nil, append(things, thing(contract.ThingContainer, ghost), thing(contract.ThingContainer, ghost))...)
	require.False(t, j.TooMany(), "2 of 10 are a fifth")
	j = judged(want, nil, append(things[:7], thing(contract.ThingContainer, ghost), thing(contract.ThingContainer, ghost), tombstone(1))...)
	require.True(t, j.TooMany(), "tombstones count for nothing")
	require.False(t, judged(want, nil).TooMany())
}

// TestImagesDoNotCount has a cache of which much may go, beside one thing of which nothing may.
func TestImagesDoNotCount(t *testing.T) {
	image := contract.Thing{Kind: contract.ThingImage, Name: "x", Age: time.Hour, Known: true}
	ghost := func(t *contract.Thing) { t.Workload = "ghost" }
	want := open(func(w *contract.Want) { w.Kind = v1.KindContainer })
	j := judged(want, nil, thing(contract.ThingContainer), image, image, image)
	require.False(t, j.TooMany())
	require.Len(t, j.Discards(), 3)
	require.Zero(t, j.Counted())
	require.Equal(t, 1, j.Total)
	j = judged(want, nil, thing(contract.ThingContainer), thing(contract.ThingContainer, ghost), image, image, image)
	require.True(t, j.TooMany(), "nor do they make other things seem few")
	require.Equal(t, 1, j.Counted())
	require.False(t, judged(contract.Want{}, nil, image).TooMany(), "nothing else is there")
}

func TestKindsOfTomorrow(t *testing.T) {
	j := judged(contract.Want{}, nil, contract.Thing{Kind: "secret", Name: "x", Workload: "web", Fence: since - 1, Age: time.Hour, Known: true})
	require.Equal(t, Judgement{}, j)
}

func TestRemovalOrder(t *testing.T) {
	want := contract.Want{Workload: "web", Presence: contract.PresenceRemoved, Fence: 6_000}
	var kinds []contract.ThingKind
	debts := func(v *View) { v.Ledger.Debts = []contract.Debt{{Workload: "web", Fence: 5_000, Volumes: true}} }
	j := judged(want, debts, thing(contract.ThingRecord), thing(contract.ThingDisk), thing(contract.ThingSeed), thing(contract.ThingVolume),
		thing(contract.ThingDomain), thing(contract.ThingContainer), thing(contract.ThingNetwork), contract.Thing{Kind: contract.ThingImage, Name: "x", Age: time.Hour, Known: true})
	for _, f := range j.Discards() {
		kinds = append(kinds, f.Thing.Kind)
	}
	require.Equal(t, []contract.ThingKind{
		contract.ThingContainer, contract.ThingDomain, contract.ThingNetwork, contract.ThingSeed, contract.ThingDisk,
		contract.ThingVolume, contract.ThingImage, contract.ThingRecord,
	}, kinds)
}

func TestAHostThatHasSeenMoreThanTheFleetRemembers(t *testing.T) {
	record := func(fence int64) contract.Thing {
		return thing(contract.ThingRecord, func(t *contract.Thing) { t.Fence = fence })
	}
	newer := thing(contract.ThingDomain, func(t *contract.Thing) { t.Generation, t.Fence = 3, 6_001 })
	for name, c := range map[string]struct {
		things  []contract.Thing
		later   int64
		message string
	}{
		"removed by the last action that is known": {things: []contract.Thing{tombstone(6_000)}, message: "there is no domain of it"},
		"removed since": {things: []contract.Thing{tombstone(6_001)}, later: 6_001, message: "it was removed there since"},
		"updated since": {things: []contract.Thing{record(6_001), newer}, later: 6_001, message: "it was changed there since"},
	} {
		t.Run(name, func(t *testing.T) {
			j := judged(open(), nil, c.things...)
			require.Len(t, j.Findings, 1)
			o := j.Findings[0].Repair.Absent
			require.Equal(t, int64(6_000), o.Fence)
			require.Equal(t, c.later, o.Later)
			require.Contains(t, o.Message, c.message)
			require.Equal(t, c.later > 0, len(j.Ahead) == 1)
		})
	}
	j := judged(open(), nil, record(6_001), thing(contract.ThingDomain))
	require.Empty(t, j.Findings, "what is wanted is there")
	require.Equal(t, []string{"web"}, j.Ahead)
	first := open(func(w *contract.Want) { w.Fence, w.Busy = 0, true })
	require.Empty(t, judged(first, nil, tombstone(6_001)).Ahead, "its first apply is under way")
	require.Empty(t, judged(contract.Want{}, nil, tombstone(6_001)).Ahead, "there is no such workload")
}
