package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// output is the flag -o.
type output struct{ format string }

func (o *output) define(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&o.format, "output", "o", "table", "table, json or yaml")
}

// table is what is shown to people.
type table struct {
	head []string
	rows [][]string
}

// print writes value as JSON or YAML, or else the table.
func (o *output) print(w io.Writer, value any, t table) error {
	switch o.format {
	case "json":
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(value)
	case "yaml":
		data, err := yaml.Marshal(value)
		if err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	case "table":
		return t.print(w)
	default:
		return fmt.Errorf("the output %q is not table, json or yaml", o.format)
	}
}

// note writes lines below a table; JSON and YAML have said it already.
func (o *output) note(w io.Writer, lines []string) error {
	if o.format != "table" {
		return nil
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

func (t table) print(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			if cell == "" {
				row[i] = "-"
			}
		}
		if _, err := fmt.Fprintln(tw, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return tw.Flush()
}

// age writes how long ago something was, in its largest unit.
func age(now, at time.Time) string {
	if at.IsZero() {
		return ""
	}
	switch d := max(0, now.Sub(at)); {
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + "m"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + "h"
	default:
		return strconv.Itoa(int(d.Hours()/24)) + "d"
	}
}

// sortedPairs writes a mapping as key=value each, in order.
func sortedPairs(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out = append(out, key+"="+m[key])
	}
	return out
}

func itoa(n int) string { return strconv.Itoa(n) }
