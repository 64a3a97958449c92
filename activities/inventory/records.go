package inventory

import (
	"context"
	"time"

	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/activities/step"
	"github.com/berth-dev/berth/workflows/contract"
)

// Records are the host's own records of workloads, with their fences.
type Records struct{ Store *record.Store }

var _ Source = Records{}

// Kinds is contract.ThingRecord.
func (Records) Kinds() []contract.ThingKind { return []contract.ThingKind{contract.ThingRecord} }

// Inventory lists all records, and the workloads whose record can't be read.
func (r Records) Inventory(context.Context, contract.ThingKind) ([]contract.Thing, error) {
	var all []contract.Thing
	for _, rec := range r.Store.List() {
		all = append(all, r.thing(rec))
	}
	for _, name := range r.Store.Broken() {
		all = append(all, contract.Thing{Kind: contract.ThingRecord, Name: name, Workload: name})
	}
	return all, nil
}

func (r Records) thing(rec record.Record) contract.Thing {
	t := contract.Thing{
		Kind: contract.ThingRecord, Name: rec.Workload, Workload: rec.Workload, Generation: rec.Generation, Fence: rec.Fence,
		Tombstone: rec.Tombstone(),
	}
	if at, ok := r.Store.WrittenAt(rec.Workload); ok {
		t.Age, t.Known = max(0, time.Since(at)), true
	}
	return t
}

// Discard turns a record into a tombstone: the fence that it holds keeps late work away.
func (r Records) Discard(_ context.Context, c *step.Call, o contract.Orphan) (string, error) {
	if c.Record.Fence == 0 || c.Record.Tombstone() {
		return "", nil
	}
	if why := o.Differs(r.thing(c.Record)); why != "" {
		return why, nil
	}
	return "", c.Save(func(rec *record.Record) {
		*rec = rec.Finish(contract.StepRemove, contract.StepOut{Found: "a sweep found that it belongs to nobody"}, time.Now())
		rec.Wanted = record.WantedRemoved
	})
}
