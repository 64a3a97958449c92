package backend

import (
	"context"
	"sync"

	commonpb "go.temporal.io/api/common/v1"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// lookers is how many leases are looked at beside each other.
const lookers = 8

// addBeats adds to hosts that hold a lease when they beat last. It stands with the lease's activity, where it costs no history;
// what can't be read is left out.
func (b *Backend) addBeats(ctx context.Context, hosts []v1.Host) {
	slots := make(chan struct{}, lookers)
	var all sync.WaitGroup
	for i := range hosts {
		if s := hosts[i].State; s != v1.HostOnline && s != v1.HostJoining {
			continue
		}
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			b.addBeat(ctx, &hosts[i])
		})
	}
	all.Wait()
}

func (b *Backend) addBeat(ctx context.Context, host *v1.Host) {
	info, err := b.describe(ctx, contract.LeaseID(host.Name))
	if err != nil {
		if !isNotFound(err) {
			b.Logger.WarnContext(ctx, "a host's beats cannot be read", "host", host.Name, "error", err)
		}
		return
	}
	for _, pending := range info.GetPendingActivities() {
		if at := pending.GetLastHeartbeatTime(); at.IsValid() && pending.GetActivityType().GetName() == contract.ActivityHoldLease {
			beat := at.AsTime()
			host.LastBeat = &beat
			host.LongestGap = b.longestGap(pending.GetHeartbeatDetails().GetPayloads())
		}
	}
}

// longestGap reads what the agent says with each beat. Those of older versions say less.
func (b *Backend) longestGap(details []*commonpb.Payload) v1.Duration {
	var beat contract.Beat
	if len(details) == 0 || b.Data.FromPayload(details[0], &beat) != nil {
		return 0
	}
	return v1.Duration(beat.LongestGap)
}
