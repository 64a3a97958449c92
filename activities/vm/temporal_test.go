package vm_test

import "go.temporal.io/sdk/worker"

// workerOptions stop a step's worker as the agent's would.
func workerOptions() worker.Options { return worker.Options{} }
