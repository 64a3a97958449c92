// Package logs reads a workload's last lines of output on its host, by a workflow that lives for one question.
package logs

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/berth-dev/berth/workflows/contract"
)

// answerWithin bounds the whole question: whoever asks is waiting. An offline host answers nobody.
const answerWithin = 10 * time.Second

// Logs asks the workload's host once.
func Logs(ctx workflow.Context, in contract.LogsIn) (contract.LogsOut, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:              contract.HostControlQueue(in.Host, in.Instance),
		ScheduleToCloseTimeout: answerWithin,
		RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 2},
	})
	var out contract.LogsOut
	err := workflow.ExecuteActivity(ctx, contract.ActivityName(in.Ref.Kind, contract.StepLogs), in).Get(ctx, &out)
	return out, err
}
