package contract

// WorkflowLogs is the type of the short workflow that reads a workload's last lines on its host: a host behind NAT
// cannot be asked in any other way.
const WorkflowLogs = "Logs"

// StepLogs reads the last lines of a container's log or a serial console. It changes nothing and takes no lock.
const StepLogs Step = "Logs"

// LogsMaxBytes bounds what a host sends back: older lines are left out.
const LogsMaxBytes = 256 << 10

// LogsIn is the input of the workflow WorkflowLogs and of the step StepLogs.
type LogsIn struct {
	Ref      Ref    `json:"ref"`
	Host     string `json:"host"`
	Instance string `json:"instance"`
	// Tail is how many lines are wanted at most.
	Tail int `json:"tail"`
}

// LogsOut is the output of both.
type LogsOut struct {
	// Lines are the last ones, in order, at most LogsMaxBytes together.
	Lines []string `json:"lines"`
	// Truncated is true if lines that were asked for were left out.
	Truncated bool `json:"truncated,omitempty"`
}
