package step

import (
	"context"

	"github.com/berth-dev/berth/workflows/contract"
)

// Logs returns the activity function that reads a workload's last lines. It changes nothing and takes no lock.
func (r *Runner) Logs(rt Runtime) func(context.Context, contract.LogsIn) (contract.LogsOut, error) {
	return func(ctx context.Context, in contract.LogsIn) (contract.LogsOut, error) {
		rec, err := r.store.Get(in.Ref.Workload)
		if err != nil {
			return contract.LogsOut{}, contract.AsActivityError(err)
		}
		lines, err := rt.Logs(ctx, rec, in.Tail)
		if err != nil {
			return contract.LogsOut{}, contract.AsActivityError(err)
		}
		kept, truncated := lastBytes(lines, contract.LogsMaxBytes)
		return contract.LogsOut{Lines: kept, Truncated: truncated}, nil
	}
}

// lastBytes keeps the last lines that fit into limit bytes.
func lastBytes(lines []string, limit int) (kept []string, truncated bool) {
	for i := len(lines) - 1; i >= 0; i-- {
		if limit -= len(lines[i]) + 1; limit < 0 {
			return lines[i+1:], true
		}
	}
	return lines, false
}
