package harness

import (
	"time"

	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
)

// Unhurried gives a workflow's test the time that a loaded machine takes: its slowness is neither an end nor a deadlock.
func Unhurried(env *testsuite.TestWorkflowEnvironment) {
	env.SetTestTimeout(5 * time.Minute)
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute})
}
