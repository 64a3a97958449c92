package contract

// ControlPlaneQueue is polled by the control worker: all workflows, and the activities that need no host.
const ControlPlaneQueue = "berth-control"

// HostControlQueue is polled by one instance of a host's agent with many slots: start, stop, inspect, boot, and waiting
// for an image. The instance is part of the name, so that an agent of an earlier life of this host gets nothing.
func HostControlQueue(host, instance string) string {
	return "host/" + host + "/" + instance + "/control"
}

// HostBulkQueue is polled by the same agent with few slots: steps that keep the host's disks busy.
func HostBulkQueue(host, instance string) string { return "host/" + host + "/" + instance + "/bulk" }
