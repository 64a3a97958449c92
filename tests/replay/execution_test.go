//go:build record

package replay_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// execution is a line of `temporal workflow list -o jsonl`.
type execution struct {
	Execution struct {
		WorkflowID string `json:"workflowId"`
		RunID      string `json:"runId"`
	} `json:"execution"`
	Type struct {
		Name string `json:"name"`
	} `json:"type"`
}

func parseExecution(t *testing.T, line string) (e execution) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(line), &e), line)
	return e
}
