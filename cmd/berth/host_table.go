package main

import (
	"fmt"
	"strings"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
)

// hostsTable shows hosts, one a row.
func hostsTable(hosts []v1.Host, now time.Time) table {
	t := table{head: []string{
		"HOST", "STATE", "BEAT", "WORKLOADS", "CPUS FREE", "MEMORY FREE", "DISK FREE", "RUNTIMES", "GUARD", "LABELS", "SINCE", "REASON",
	}}
	for _, h := range hosts {
		var runtimes []string
		for _, r := range h.Runtimes {
			runtimes = append(runtimes, runtimeText(r))
		}
		t.rows = append(t.rows, []string{
			h.Name, stateText(h), beatText(h, now), itoa(h.Workloads),
			free(h, h.FreeNow().CPUs.String()) + " of " + h.Capacity.CPUs.String(),
			freeBytes(h, h.FreeNow().Memory, h.Capacity.Memory), freeBytes(h, h.FreeNow().Disk, h.Capacity.Disk),
			strings.Join(runtimes, ", "), guardText(h), strings.Join(sortedPairs(h.Labels), ","), age(now, stateSince(h)), reasonText(h),
		})
	}
	return t
}

// hostTable shows one host, a property a row.
func hostTable(h v1.Host, at time.Time) table {
	t := table{head: []string{"HOST", h.Name}}
	row := func(name, value string) {
		if value != "" {
			t.rows = append(t.rows, []string{name, value})
		}
	}
	row("STATE", strings.TrimSpace(stateText(h)+" for "+age(at, stateSince(h))))
	row("REASON", strings.Trim(string(h.Reason)+": "+oneLine(h.Message), ": "))
	if h.Drain != nil {
		row("DRAIN", drainText(h.Drain))
	}
	row("LAST BEAT", beatText(h, at))
	if h.LongestGap > 0 {
		row("LONGEST GAP", h.LongestGap.D().Round(time.Millisecond).String())
	}
	row("LABELS", strings.Join(sortedPairs(h.Labels), " "))
	row("WORKLOADS", itoa(h.Workloads))
	now, all, out := h.FreeNow(), h.Capacity, h.Reserved
	row("CPUS", used(out.CPUs.String(), all.CPUs.String(), free(h, now.CPUs.String())))
	row("MEMORY", used(inBytes(out.Memory), inBytes(all.Memory), free(h, inBytes(now.Memory))))
	row("DISK", used(inBytes(out.Disk), inBytes(all.Disk), free(h, inBytes(now.Disk))))
	for _, r := range h.Runtimes {
		text := runtimeText(r)
		if _, below, ok := strings.Cut(r.Version, ", "); ok && r.Ready {
			text += ", " + below
		}
		row("RUNTIME", strings.Trim(text+": "+oneLine(r.Message), ": ")+lastKnown(h))
	}
	row("GUARD", yesNo(h.Guard)+lastKnown(h))
	row("OWES", strings.Join(h.Debts, " "))
	row("AGENT", h.Version)
	row("INSTANCE", h.Instance)
	return t
}

func stateText(h v1.Host) string {
	switch {
	case h.Drain != nil && h.Drain.EndedAt != nil:
		return string(h.State) + ",drained"
	case h.Drain != nil:
		return string(h.State) + ",draining"
	case h.Cordoned:
		return string(h.State) + ",cordoned"
	default:
		return string(h.State)
	}
}

// stateSince is since when the host is in its state, as far as that is known.
func stateSince(h v1.Host) time.Time {
	if h.StateSince != nil {
		return *h.StateSince
	}
	return h.LastChange
}

// beatText says how long ago the last beat came.
func beatText(h v1.Host, now time.Time) string {
	if h.LastBeat == nil {
		return ""
	}
	return age(now, *h.LastBeat) + " ago"
}

// runtimeText names a runtime with its version, or says that it takes no work. A version may begin with the name itself, and go
// on with what stands below: "libvirt 9.0.0, QEMU 7.2.22".
func runtimeText(r v1.Runtime) string {
	version, _, _ := strings.Cut(strings.TrimPrefix(r.Version, r.Name+" "), ",")
	switch {
	case !r.Ready:
		return r.Name + " (down)"
	case version != "":
		return r.Name + " " + version
	default:
		return r.Name
	}
}

// reasonText says why the host is as it is: its own message, how far a drain has got, and why runtimes take no work.
func reasonText(h v1.Host) string {
	var all []string
	add := func(s string) {
		if s = strings.Trim(s, ": "); s != "" {
			all = append(all, s)
		}
	}
	add(string(h.Reason) + ": " + oneLine(h.Message))
	if h.Drain != nil {
		add(drainText(h.Drain))
	}
	if len(h.Debts) > 0 {
		add("first removes " + strings.Join(h.Debts, ", "))
	}
	for _, r := range h.Runtimes {
		if !r.Ready {
			add(r.Name + ": " + oneLine(r.Message))
		}
	}
	return strings.Join(all, "; ")
}

func used(reserved, capacity, free string) string {
	return fmt.Sprintf("%s/%s, %s free", reserved, capacity, free)
}

// free is what a host has free now. One that takes no work because nobody is there has none, whatever it gave out last.
func free(h v1.Host, amount string) string {
	if h.State != v1.HostOnline {
		return "none"
	}
	return amount
}

func freeBytes(h v1.Host, now, capacity v1.Bytes) string {
	return free(h, inBytes(now)) + " of " + inBytes(capacity)
}

func inBytes(n v1.Bytes) string { return bytes(float64(n)) }

// guardText says whether the guard runs, of a host that somebody is there to speak for.
func guardText(h v1.Host) string {
	if h.Away() {
		return "?"
	}
	return yesNo(h.Guard)
}

// lastKnown follows what is no longer known to hold.
func lastKnown(h v1.Host) string {
	if h.Away() {
		return " (when it was last heard of)"
	}
	return ""
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
