package faults

// fault is something that happens to a fleet.
type fault struct {
	name string
	// strike lets it happen. It is over when strike returns; the processes that it did not kill are still held at their
	// failpoints.
	strike func(*fleet)
}

var faults = []fault{
	{"kill the agent", func(f *fleet) { f.agent.Restart() }},
	{"kill the control worker", func(f *fleet) { f.server.Restart() }},
	{"restart Temporal", func(f *fleet) { f.Temporal.Restart() }},
}
