package host

import "slices"

// device reports whether a device is among some others, and under which other name. A name that the workload has already was
// given to it: two that came to share a device since, because a link was changed, shall not wait for each other here. Which of
// them may start, the host says.
func (l *Ledger) device(name string, among, own []string) (as string, found bool) {
	if slices.Contains(among, name) {
		return "", true
	}
	if slices.Contains(own, name) {
		return "", false
	}
	for _, other := range among {
		if l.firstName(other) == l.firstName(name) {
			return ", as " + other, true
		}
	}
	return "", false
}

// firstName is the name by which a device is known whatever it is called, as far as its host has said.
func (l *Ledger) firstName(name string) string {
	if first := l.DeviceNames[name]; first != "" {
		return first
	}
	return name
}
