package v1

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Placement says on which hosts a workload may run. Empty fields allow all.
type Placement struct {
	// Hosts are the only hosts that may run it.
	Hosts []string `json:"hosts,omitempty"`
	// Labels are conditions on a host's labels, all of which must hold: "rack=a", "disk!=hdd", "zone in (a, b)", or
	// "gpu" alone for a label that must exist.
	Labels []string `json:"labels,omitempty"`
	// Apart names a label that the workload has: no host runs two workloads that carry it with the same value.
	Apart string `json:"apart,omitempty"`
}

// LabelCondition is one condition on a host's labels, read by ParseLabelCondition.
type LabelCondition struct {
	Key string
	// Values are those allowed, or with Not those refused. None with Not unset means that the label must exist.
	Values []string
	Not    bool
}

// ParseLabelCondition reads "key=value", "key!=value", "key in (a, b)" or "key".
func ParseLabelCondition(s string) (LabelCondition, error) {
	t := strings.TrimSpace(s)
	c := LabelCondition{}
	if key, list, found := strings.Cut(t, " in "); found {
		inner, ok := strings.CutPrefix(strings.TrimSpace(list), "(")
		inner, closed := strings.CutSuffix(inner, ")")
		if !ok || !closed {
			return c, fmt.Errorf("%q needs its values in parentheses, as in: zone in (a, b)", clip(s, MaxLabelLength))
		}
		c.Key = strings.TrimSpace(key)
		if strings.TrimSpace(inner) == "" {
			return c, fmt.Errorf("%q needs at least one value, as in: zone in (a, b)", clip(s, MaxLabelLength))
		}
		for _, v := range strings.Split(inner, ",") {
			c.Values = append(c.Values, strings.TrimSpace(v))
		}
		return c, c.check(s)
	}
	if key, value, found := strings.Cut(t, "!="); found {
		c.Key, c.Values, c.Not = strings.TrimSpace(key), []string{strings.TrimSpace(value)}, true
		return c, c.check(s)
	}
	if key, value, found := strings.Cut(t, "="); found {
		c.Key, c.Values = strings.TrimSpace(key), []string{strings.TrimSpace(value)}
		return c, c.check(s)
	}
	c.Key = t
	return c, c.check(s)
}

func (c LabelCondition) check(s string) error {
	if !isLabelText(c.Key) {
		return fmt.Errorf("%q is not a condition such as rack=a, disk!=hdd, zone in (a, b) or gpu", clip(s, MaxLabelLength))
	}
	for _, v := range c.Values {
		if v != "" && !isLabelText(v) {
			return fmt.Errorf("%q is not a label's value", clip(v, MaxLabelLength))
		}
	}
	return nil
}

// Holds reports whether a host with these labels meets the condition. As everywhere, a label that is not there differs
// from every value.
func (c LabelCondition) Holds(labels map[string]string) bool {
	value, exists := labels[c.Key]
	switch {
	case c.Not:
		return !exists || !slices.Contains(c.Values, value)
	case len(c.Values) == 0:
		return exists
	default:
		return exists && slices.Contains(c.Values, value)
	}
}

// Refuses says why a host may not run the workload, or nothing if it may. Conditions that can't be read are refused by
// Validate, and here.
func (p *Placement) Refuses(host string, labels map[string]string) string {
	if p == nil {
		return ""
	}
	if len(p.Hosts) > 0 && !slices.Contains(p.Hosts, host) {
		return "the spec names other hosts"
	}
	for _, s := range p.Labels {
		c, err := ParseLabelCondition(s)
		if err != nil {
			return err.Error()
		}
		if !c.Holds(labels) {
			return fmt.Sprintf("the host does not meet %q", s)
		}
	}
	return ""
}

func checkPlacement(m *mistakes, p Path, placement *Placement) {
	if placement == nil {
		return
	}
	if checkCount(m, p.Key("hosts"), len(placement.Hosts), MaxPlacementHosts) {
		for i, h := range placement.Hosts {
			checkName(m, p.Key("hosts").Index(i), h)
		}
	}
	if checkCount(m, p.Key("labels"), len(placement.Labels), MaxLabels) {
		for i, s := range placement.Labels {
			if _, err := ParseLabelCondition(s); err != nil {
				m.add(p.Key("labels").Index(i), "%s", err.Error())
			}
		}
	}
	if placement.Apart != "" && !isLabelText(placement.Apart) {
		m.add(p.Key("apart"), "must be the key of a label")
	}
}

// checkApart refuses to keep a workload apart by a label that it does not have: it would be kept apart from nothing.
func checkApart(m *mistakes, p Path, w *Workload) {
	c := w.Spec()
	if c == nil || c.Placement == nil || c.Placement.Apart == "" || !isLabelText(c.Placement.Apart) {
		return
	}
	if _, has := w.Metadata.Labels[c.Placement.Apart]; !has {
		m.add(p, "must be the key of one of metadata.labels")
	}
}

// Pinned reports whether the workload has data on its host, without which it can't start anywhere else.
func (w *Workload) Pinned() bool {
	switch {
	case w.Container != nil:
		return len(w.Container.Volumes) > 0
	case w.VM != nil:
		return len(w.VM.Disks) > 0
	default:
		return false
	}
}

// DefaultMoveAfter is how long a lost host is waited for before a move.
const DefaultMoveAfter = Duration(5 * time.Minute)

// MovesAfter says whether the workload moves when its host is lost, and after how long. It is not filled in by Default: what
// a user wrote keeps its digest whatever Berth learns to do.
func (w *Workload) MovesAfter() (time.Duration, bool) {
	c := w.Spec()
	if c == nil || w.Pinned() || c.OnHostLoss == LossWait || w.Kind == KindVM && c.OnHostLoss == "" {
		return 0, false
	}
	if c.MoveAfter > 0 {
		return c.MoveAfter.D(), true
	}
	return DefaultMoveAfter.D(), true
}

// checkLoss refuses a promise that can't be kept: what has data on its host does not move.
func checkLoss(m *mistakes, p Path, w *Workload) {
	c := w.Spec()
	if c == nil || c.OnHostLoss != "" && !checkOneOf(m, p.Key("onHostLoss"), c.OnHostLoss, LossWait, LossReschedule) {
		return
	}
	if c.OnHostLoss == LossReschedule && w.Pinned() {
		m.add(p.Key("onHostLoss"), "must be %s: its volumes and disks are on one host", LossWait)
	}
	checkDuration(m, p.Key("moveAfter"), c.MoveAfter, 0, MaxMoveAfter)
	checkStrict(m, p.Key("strict"), w)
}

// checkStrict refuses strict where it would promise nothing: what never moves has no second copy.
func checkStrict(m *mistakes, p Path, w *Workload) {
	if !w.Spec().Strict {
		return
	}
	if w.Pinned() {
		m.add(p, "must be false: its volumes and disks are on one host, so that it never moves and never has a second copy")
	} else if _, moves := w.MovesAfter(); !moves {
		m.add(p, "only with onHostLoss: %s: what waits for its host never has a second copy", LossReschedule)
	}
}
