package v1

import (
	"encoding/json"
	"strings"
)

// Validate returns nil or FieldErrors with all mistakes of the workload. It changes nothing; what was left out is judged
// as if Default had filled it in. Whether a host allows a path, device or network is the host's to say.
func (w *Workload) Validate() error {
	var m mistakes
	if w == nil {
		m.add("", "the workload is missing")
		return m.err()
	}
	c := w.Clone()
	c.Default()
	checkHead(&m, c)
	checkName(&m, "metadata.name", c.Metadata.Name)
	checkLabels(&m, "metadata.labels", c.Metadata.Labels)
	checkBody(&m, c)
	if len(m.list) == 0 {
		checkSize(&m, c)
	}
	return m.err()
}

// ValidateName returns nil or FieldErrors with the path "name": for names that come without a workload around them.
func ValidateName(name string) error {
	var m mistakes
	checkName(&m, "name", name)
	return m.err()
}

// ValidateLabels returns nil or FieldErrors with paths at "labels": for the labels of hosts, which are held to the same as
// those of workloads.
func ValidateLabels(labels map[string]string) error {
	var m mistakes
	checkLabels(&m, "labels", labels)
	return m.err()
}

func checkHead(m *mistakes, w *Workload) {
	if w.APIVersion != APIVersion {
		m.add("apiVersion", "must be %s", APIVersion)
	}
	switch w.Kind {
	case KindContainer, KindVM:
	case KindCompose:
		m.add("kind", "%s is not supported yet", KindCompose)
	case "":
		m.add("kind", "is required: %s or %s", KindContainer, KindVM)
	default:
		m.add("kind", "must be %s or %s", KindContainer, KindVM)
	}
}

func checkBody(m *mistakes, w *Workload) {
	const p = Path("spec")
	switch {
	case w.Kind != KindContainer && w.Kind != KindVM: // told already
	case (w.Container != nil && w.Kind != KindContainer) || (w.VM != nil && w.Kind != KindVM):
		m.add(p, "belongs to another kind than %s", w.Kind)
	case w.Container != nil:
		checkContainer(m, p, w.Container)
	case w.VM != nil:
		checkVM(m, p, w.VM)
	default:
		m.add(p, "is required")
	}
	checkApart(m, p.Key("placement").Key("apart"), w)
	checkLoss(m, p, w)
}

func checkSize(m *mistakes, w *Workload) {
	data, err := json.Marshal(w)
	switch {
	case err != nil:
		m.add("", "cannot be written as JSON: %v", err)
	case len(data) > MaxWorkloadBytes:
		m.add("", "the workload takes %d bytes as JSON; the limit is %d", len(data), MaxWorkloadBytes)
	}
}

func checkName(m *mistakes, p Path, name string) {
	switch {
	case name == "":
		m.add(p, "is required")
	case !isDNSLabel(name):
		m.add(p, "must be 1 to %d of a-z, 0-9 and '-', and begin and end with a letter or digit", MaxNameLength)
	}
}

func checkLabels(m *mistakes, p Path, labels map[string]string) {
	if len(labels) > MaxLabels {
		m.add(p, "at most %d labels, not %d", MaxLabels, len(labels))
	}
	total := 0
	for key, value := range labels {
		total += len(key) + len(value)
		checkLabel(m, p, p.Key(key), key, value)
	}
	if total > MaxLabelTotalBytes {
		m.add(p, "all keys and values take %d bytes; the limit is %d", total, MaxLabelTotalBytes)
	}
}

// checkLabel holds keys and values to characters that mean nothing in a query, a selector or a header.
func checkLabel(m *mistakes, list, p Path, key, value string) {
	const form = "of a-z, A-Z, 0-9, '.', '_', '-' and '/', and begin and end with a letter or digit"
	switch {
	case strings.HasPrefix(key, "berth."):
		m.add(p, "the prefix berth. is Berth's own")
	case !isLabelText(key):
		m.add(list, "the key %q must be 1 to %d %s", clip(key, MaxLabelLength), MaxLabelLength, form)
	}
	if value != "" && !isLabelText(value) {
		m.add(p, "the value must be empty, or 1 to %d %s", MaxLabelLength, form)
	}
}

// checkCommon checks what all kinds share.
func checkCommon(m *mistakes, p Path, c *Common) {
	checkDuration(m, p.Key("stopGracePeriod"), c.StopGracePeriod, 0, MaxStopGracePeriod)
	checkPlacement(m, p.Key("placement"), c.Placement)
	checkRange(m, p.Key("priority"), c.Priority, -MaxPriority, MaxPriority)
	if !checkOneOf(m, p.Key("type"), c.Type, TypeService, TypeJob) {
		return // what else is allowed depends on the type
	}
	checkJob(m, p.Key("job"), c)
	checkRestart(m, p.Key("restart"), c)
}

func checkJob(m *mistakes, p Path, c *Common) {
	if c.Job == nil {
		return
	}
	if c.Type != TypeJob {
		m.add(p, "only a workload of type %s may have one", TypeJob)
		return
	}
	checkRange(m, p.Key("maxAttempts"), c.Job.MaxAttempts, 1, MaxJobAttempts)
	if c.Job.Deadline != 0 {
		checkDuration(m, p.Key("deadline"), c.Job.Deadline, MinJobDeadline, MaxJobDeadline)
	}
}

func checkRestart(m *mistakes, p Path, c *Common) {
	r := c.Restart
	known := checkOneOf(m, p.Key("policy"), r.Policy, RestartNo, RestartAlways, RestartOnFailure, RestartUnlessStopped)
	if known && c.Type == TypeJob && r.Policy != RestartNo {
		m.add(p.Key("policy"), "must be %s for a job: job.maxAttempts says how often it is tried", RestartNo)
	}
	switch {
	case r.MaxRetries != 0 && r.Policy != RestartOnFailure:
		m.add(p.Key("maxRetries"), "only with policy %s", RestartOnFailure)
	default:
		checkRange(m, p.Key("maxRetries"), r.MaxRetries, 0, MaxRestartRetries)
	}
}
