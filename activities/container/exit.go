package container

import (
	"context"
	"strconv"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// exitOf is how a container that does not run ended.
func (r *Runtime) exitOf(ctx context.Context, k Container, spec *v1.ContainerSpec) *contract.Exit {
	exit := &contract.Exit{Code: k.ExitCode, Outcome: v1.ReasonExited, At: k.FinishedAt}
	switch {
	case k.OutOfMemory && k.ExitCode != 0, r.outside.ranOut(k): // a child that was killed is the main process's affair if that went on
		exit.Outcome = v1.ReasonOutOfMemory
	case r.outside.ended(k):
		exit.Outcome = v1.ReasonInterrupted
	}
	if exit.Message = bounded(redact(k.Error, spec)); exit.Message == "" {
		exit.Message = r.lastWords(ctx, k.ID, spec)
	}
	return exit
}

func exitError(workload string, exit *contract.Exit) error {
	message := workload + " exited with code " + strconv.Itoa(exit.Code)
	advice := "look at its log"
	if exit.Outcome == v1.ReasonOutOfMemory {
		message, advice = workload+" ran out of memory", "give it more memory, or look at what it does with it"
	}
	if exit.Message != "" {
		message += ": " + exit.Message
	}
	return contract.Retryable(exit.Outcome, advice, "%s", message)
}
