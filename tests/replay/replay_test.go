// Package replay holds recorded histories against the workflows of today: a running fleet must survive an upgrade. A change
// that breaks one needs workflow.GetVersion. `make histories` records new ones.
package replay_test

import (
	"io/fs"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/berth-dev/berth/workers/control"
	"github.com/berth-dev/berth/workflows/contract"
)

// recorded are the workflow types of which there must be histories.
var recorded = []string{
	contract.WorkflowWorkload, contract.WorkflowDeploy, contract.WorkflowStop, contract.WorkflowRemove,
	contract.WorkflowHost, contract.WorkflowLease, contract.WorkflowLogs, contract.WorkflowQueue,
	contract.WorkflowSweep, contract.WorkflowScheduledSweep,
}

func TestRecordedHistoriesReplay(t *testing.T) {
	seen := map[string]int{}
	err := filepath.WalkDir("testdata", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".json" {
			return err
		}
		kind := filepath.Base(filepath.Dir(filepath.Dir(path)))
		seen[kind]++
		t.Run(kind+"/"+filepath.Base(path), func(t *testing.T) {
			replayer := worker.NewWorkflowReplayer()
			control.RegisterWorkflows(replayer)
			logger := log.NewStructuredLogger(slog.New(slog.DiscardHandler))
			require.NoError(t, replayer.ReplayWorkflowHistoryFromJSONFile(logger, path))
		})
		return nil
	})
	require.NoError(t, err)
	for _, kind := range recorded {
		require.NotZero(t, seen[kind], "no history of %s", kind)
	}
}
