package container

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"strconv"
	"strings"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// The labels on everything that Berth makes in a container engine. An engine can't change a container's labels: a
// container that was kept by later actions carries the fence of the one that made it, and the host's record the latest.
const (
	LabelFleet      = labelPrefix + "fleet"
	LabelHost       = labelPrefix + "host"
	LabelWorkload   = labelPrefix + "workload"
	LabelGeneration = labelPrefix + "generation"
	LabelFence      = labelPrefix + "fence"
	LabelAttempt    = labelPrefix + "attempt"
	// LabelSpec is a digest of the spec. Generations count from one again after a workload was removed: what a forced
	// removal left behind is told by it.
	LabelSpec = labelPrefix + "spec"
	// LabelVolume is a volume's name in the spec.
	LabelVolume = labelPrefix + "volume"

	labelPrefix = "berth."
)

// hostLabels select everything of this host.
func (r *Runtime) hostLabels() map[string]string {
	return map[string]string{LabelFleet: r.cfg.Fleet, LabelHost: r.cfg.Host}
}

// workloadLabels select everything of one workload on this host.
func (r *Runtime) workloadLabels(workload string) map[string]string {
	l := r.hostLabels()
	l[LabelWorkload] = workload
	return l
}

// ownLabels are what is stamped on what an action makes.
func (r *Runtime) ownLabels(ref contract.Ref) map[string]string {
	l := r.workloadLabels(ref.Workload)
	l[LabelGeneration] = strconv.FormatInt(ref.Generation, 10)
	l[LabelFence] = strconv.FormatInt(ref.Fence, 10)
	l[LabelAttempt] = strconv.Itoa(ref.Attempt)
	return l
}

// containerLabels are the user's labels and, over them, our own.
func (r *Runtime) containerLabels(ref contract.Ref, spec *v1.ContainerSpec) map[string]string {
	l := make(map[string]string, len(spec.Labels)+8)
	maps.Copy(l, spec.Labels)
	maps.Copy(l, r.ownLabels(ref))
	l[LabelSpec] = digest(spec)
	return l
}

// name is unique on the machine, also if several agents and fleets use its engine.
func (r *Runtime) name(workload string, more ...string) string {
	return contract.RuntimeName(r.cfg.Fleet, r.cfg.Host, workload, more...)
}

// named reports whether something has a name that Berth gives to what it makes of a kind for a workload. Labels alone do not
// make a thing Berth's: an image that was committed from a container hands them on to whatever a user makes of it, and tools
// copy them. What is not Berth's by its name too is never taken for the workload's, stopped or removed.
func (r *Runtime) named(kind contract.ThingKind, name, workload string) bool {
	own := r.name(workload)
	if kind == contract.ThingContainer {
		return name == own
	}
	return strings.HasPrefix(name, own+".")
}

func digest(spec *v1.ContainerSpec) string {
	data, err := json.Marshal(spec)
	if err != nil {
		return "" // a spec came in as JSON; it can be written as JSON
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

func fenceOf(c Container) int64 { return number(c.Labels[LabelFence]) }

func number(label string) int64 {
	n, _ := strconv.ParseInt(label, 10, 64) // a label that is no number is older than any
	return n
}

// isOf reports whether a container was made for this generation and attempt.
func isOf(c Container, generation int64, attempt int) bool {
	return c.Labels[LabelGeneration] == strconv.FormatInt(generation, 10) && c.Labels[LabelAttempt] == strconv.Itoa(attempt)
}
