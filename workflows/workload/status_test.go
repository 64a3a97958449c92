package workload

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func statusSize(t require.TestingT, f *fixture) int {
	data, err := json.Marshal(f.Status(f.now))
	require.NoError(t, err)
	return len(data)
}

func TestStatusFitsItsMemoAtTheWorst(t *testing.T) {
	f := service(t, "", 0)
	f.Name = strings.Repeat("n", 63)
	f.act(v1.VerbDeploy).placed()
	f.Placement.Host = strings.Repeat("h", 63)
	f.Failed(&contract.Error{
		Reason: v1.ReasonRuntimeUnavailable, Message: strings.Repeat("é", 4000), Advice: strings.Repeat("a", 4000), Step: "Start",
	}, f.now)
	for range 10 {
		f.AddCondition(v1.ReasonMalformedSignal, strings.Repeat("c", 4000), f.now)
	}
	require.Less(t, statusSize(t, f), 2048)
	require.True(t, json.Valid([]byte(`"`+contract.Clip(strings.Repeat("é", 4000), 601)+`"`)))
}

// What is down is started again by its host, or by a repair, in its time. Who asks for it need not wait.
func TestARetryStartsWhatIsDown(t *testing.T) {
	for _, state := range []contract.RunState{contract.RunExited, contract.RunAbsent} {
		t.Run(string(state), func(t *testing.T) {
			f := service(t, v1.RestartAlways, 0).running()
			f.ask(v1.VerbRetry)
			require.Equal(t, StepWait, f.next().Kind, "there is nothing to retry")
			f.sees(state, &contract.Exit{Code: 137, Outcome: v1.ReasonInterrupted, At: f.now})
			require.Equal(t, StepWait, f.next().Kind)
			f.ask(v1.VerbRetry).act(v1.VerbDeploy)
		})
	}
}
