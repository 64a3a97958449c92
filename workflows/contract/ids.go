package contract

import (
	"strconv"
	"strings"

	v1 "github.com/berth-dev/berth/api/v1"
)

const (
	workloadPrefix = "workload/"
	hostPrefix     = "host/"
	leaseSuffix    = "/lease"
)

// WorkloadID is the workflow id of a workload's entity.
func WorkloadID(name string) string { return workloadPrefix + name }

// ActionID is the workflow id of an action. The verb is that of the workflow: deploy, stop or remove.
func ActionID(name string, verb v1.Verb, fence int64) string {
	return workloadPrefix + name + "/" + string(verb) + "/" + strconv.FormatInt(fence, 10)
}

// ParseActionID is the inverse of ActionID; it reports false for the id of anything else.
func ParseActionID(id string) (name string, verb v1.Verb, fence int64, ok bool) {
	rest, ok := strings.CutPrefix(id, workloadPrefix)
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != 3 || v1.ValidateName(parts[0]) != nil {
		return "", "", 0, false
	}
	verb = v1.Verb(parts[1])
	fence, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil || fence <= 0 || strconv.FormatInt(fence, 10) != parts[2] {
		return "", "", 0, false
	}
	return parts[0], verb, fence, verb == v1.VerbDeploy || verb == v1.VerbStop || verb == v1.VerbRemove
}

// HostID is the workflow id of a host's entity.
func HostID(host string) string { return hostPrefix + host }

// LeaseID is the workflow id of a host's lease.
func LeaseID(host string) string { return hostPrefix + host + leaseSuffix }

// WorkloadName is the inverse of WorkloadID; it reports false for the id of anything else.
func WorkloadName(id string) (string, bool) {
	name, ok := strings.CutPrefix(id, workloadPrefix)
	return name, ok && !strings.Contains(name, "/")
}

// HostName is the inverse of HostID; it reports false for the id of anything else.
func HostName(id string) (string, bool) {
	name, ok := strings.CutPrefix(id, hostPrefix)
	return name, ok && !strings.Contains(name, "/")
}

// RuntimeName is what a host's runtime calls something of a workload's: the workload itself, or its volume.
func RuntimeName(fleet, host, workload string, more ...string) string {
	return strings.Join(append([]string{"berth", fleet, host, workload}, more...), ".")
}
