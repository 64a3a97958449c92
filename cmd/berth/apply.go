package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/api/client"
	"github.com/berth-dev/berth/api/manifest"
	v1 "github.com/berth-dev/berth/api/v1"
)

func applyCommand(a *app) *cobra.Command {
	var s clientSettings
	var o output
	var w waiting
	var files []string
	var dryRun bool
	var generation int64
	cmd := &cobra.Command{
		Use:   "apply -f FILE",
		Short: "Create or update workloads from files",
		Long: "Create or update workloads from files, directories, or the standard input (-f -). A file may hold several\n" +
			"documents. All of them are checked before the first is sent.",
		Example: "  berth apply -f examples/container-minimal.yaml --wait\n  cat *.yaml | berth apply -f - --dry-run",
		Args:    cobra.NoArgs,
	}
	a.settings(cmd, s.define)
	o.define(cmd)
	w.define(cmd)
	cmd.Flags().StringArrayVarP(&files, "file", "f", nil, "file or directory; - is the standard input; may stand more than once")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "say what would happen, and do nothing")
	cmd.Flags().Int64Var(&generation, "if-generation", 0, "update only if the workload is at this generation (for one workload)")
	if err := cmd.MarkFlagRequired("file"); err != nil {
		panic(err) // the flag was defined above
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		docs, err := readAll(a, files)
		if err != nil {
			return err
		}
		if generation != 0 && len(docs) != 1 {
			return errors.New("--if-generation is for one workload")
		}
		c, err := s.dial()
		if err != nil {
			return err
		}
		accepted, err := applyAll(cmd.Context(), c, docs, dryRun, client.Change{Generation: generation})
		if len(accepted) > 0 {
			if perr := o.print(a.out, accepted, acceptedTable(accepted)); perr != nil {
				return perr
			}
		}
		if err != nil || dryRun || !w.wait {
			return err
		}
		return w.all(cmd.Context(), a, c, goalsOf(accepted, wantUp))
	}
	return cmd
}

// applyAll sends the documents in their order and stops at the first that is refused.
func applyAll(ctx context.Context, c *client.Client, docs []manifest.Document, dryRun bool, change client.Change) ([]v1.Accepted, error) {
	accepted := []v1.Accepted{}
	for _, d := range docs {
		one, err := c.Put(ctx, d.Workload, dryRun, change)
		if err != nil {
			return accepted, fmt.Errorf("%s: %w", d.Workload.Metadata.Name, err)
		}
		accepted = append(accepted, one)
	}
	return accepted, nil
}

func acceptedTable(list []v1.Accepted) table {
	t := table{head: []string{"WORKLOAD", "RESULT", "GENERATION", "CHANGES"}}
	for _, one := range list {
		result, changes := one.Changed, strings.Join(one.ChangedFields, " ")
		if one.DryRun {
			result += " (dry run)"
			changes = strings.TrimSpace(changes + " " + whereTo(one))
		}
		t.rows = append(t.rows, []string{one.Name, result, fmt.Sprint(one.Generation), changes})
	}
	return t
}

// whereTo says where a new workload would run, or why nowhere.
func whereTo(one v1.Accepted) string {
	switch {
	case one.Host != "":
		return "would run on " + one.Host
	case len(one.Refusals) > 0:
		return "would wait: " + strings.Join(one.Refusals, "; ")
	case one.Changed == "created":
		return "would wait: no host has joined the fleet"
	default:
		return ""
	}
}

// readAll reads and checks all documents of all files. All mistakes of all documents are told.
func readAll(a *app, files []string) ([]manifest.Document, error) {
	var docs []manifest.Document
	var errs []error
	for _, name := range files {
		found, err := filesAt(name)
		if err != nil {
			return nil, err
		}
		for _, file := range found {
			var more []manifest.Document
			if file == "-" {
				more, err = manifest.Read("standard input", a.in)
			} else {
				more, err = manifest.ReadFile(file)
			}
			errs = append(errs, err)
			docs = append(docs, more...)
		}
	}
	seen := map[string]string{}
	for _, d := range docs {
		if d.Workload == nil {
			continue
		}
		errs = append(errs, d.Validate())
		name := d.Workload.Metadata.Name
		if before, twice := seen[name]; twice && name != "" {
			errs = append(errs, fmt.Errorf("%s: the workload %s stands in %s already", d.Source, name, before))
		}
		seen[name] = d.Source
	}
	return docs, errors.Join(errs...)
}

// filesAt returns the file, or the manifests in the directory and those below it, in order.
func filesAt(name string) ([]string, error) {
	if name == "-" {
		return []string{name}, nil
	}
	var out []string
	err := filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() && (path == name || slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path))) {
			out = append(out, path)
		}
		return nil
	})
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("%s: holds no .yaml, .yml or .json file", name)
	}
	return out, err
}
