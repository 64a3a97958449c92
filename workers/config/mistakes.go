package config

import (
	"fmt"
	"slices"
	"strings"
)

// Mistakes collects what is wrong with the settings. The zero value has none.
type Mistakes struct{ list []string }

// Add notes a mistake in a setting.
func (m *Mistakes) Add(setting, format string, args ...any) {
	m.list = append(m.list, setting+": "+fmt.Sprintf(format, args...))
}

// Require notes a mistake unless ok.
func (m *Mistakes) Require(ok bool, setting, format string, args ...any) {
	if !ok {
		m.Add(setting, format, args...)
	}
}

// Check notes an error, if there is one.
func (m *Mistakes) Check(setting string, err error) {
	if err != nil {
		m.Add(setting, "%v", err)
	}
}

// Err returns the mistakes as an error, or nil if there are none.
func (m *Mistakes) Err() error {
	if len(m.list) == 0 {
		return nil
	}
	return m
}

// Error lists all mistakes, in order, a line each.
func (m *Mistakes) Error() string {
	lines := slices.Sorted(slices.Values(m.list))
	if len(lines) == 1 {
		return "wrong setting: " + lines[0]
	}
	return fmt.Sprintf("%d wrong settings:\n  %s", len(lines), strings.Join(lines, "\n  "))
}
