// Package deadline is what a host's agent and the guard beside it tell each other, in files on tmpfs: until when the agent's
// lease lasts, which workloads must not outlive it, and that a guard is there. Neither needs the other, or Temporal, to read
// them.
package deadline

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
)

// File is what the agent writes: at each acknowledged beat, and before a strict workload may start. The guard needs nothing
// else to end what must not outlive the lease.
type File struct {
	// BootID is the boot in which it was written: in another one nothing of it runs.
	BootID string `json:"bootId"`
	Fleet  string `json:"fleet"`
	Host   string `json:"host"`
	// Agent is the process that wrote it.
	Agent Process `json:"agent"`
	// Held is true once this very process has held the lease. Until then it can't have started anything strict.
	Held bool `json:"held"`
	// Deadline is when the lease ends, by Now: counted from when the last acknowledged beat was sent.
	Deadline time.Duration `json:"deadline"`
	// Stopping is true once the agent has noticed that its deadline has passed, and stops them itself.
	Stopping bool `json:"stopping,omitempty"`
	// DockerHost and LibvirtURI say where the runtimes are, as in the agent's settings.
	DockerHost string    `json:"dockerHost,omitempty"`
	LibvirtURI string    `json:"libvirtUri,omitempty"`
	Runtimes   []Runtime `json:"runtimes,omitempty"`
}

// Runtime is a strict workload that may run on this host.
type Runtime struct {
	Workload string  `json:"workload"`
	Kind     v1.Kind `json:"kind"`
	// Grace is how long it may take to stop by itself.
	Grace time.Duration `json:"grace"`
	// Stopped is true if the agent saw it stopped, and has not begun to start it since.
	Stopped bool `json:"stopped,omitempty"`
	// Processes are a container's first process, or QEMU, for when the runtime does not answer. It is empty until the
	// workload was seen running.
	Processes []Process `json:"processes,omitempty"`
}

const fileName = "deadline.json"

// Dir is the directory of one host's files. It stands on tmpfs, so that a busy disk delays nothing.
type Dir string

// DirOf is the directory of a host below the one that all agents of a machine share.
func DirOf(runDir, fleet, host string) Dir { return Dir(filepath.Join(runDir, fleet+"."+host)) }

// Make makes the directory, for root only.
func (d Dir) Make() error {
	if err := os.MkdirAll(filepath.Join(string(d), stoppedDir), 0o700); err != nil {
		return fmt.Errorf("make the directory of the deadline: %w", err)
	}
	return nil
}

// Write replaces the deadline file as a whole. The agent alone writes it.
func (d Dir) Write(f File) error { return d.write(fileName, f) }

// Read reads the deadline file. Without one the error is os.ErrNotExist.
func (d Dir) Read() (File, error) {
	var f File
	return f, d.read(fileName, &f)
}

func (d Dir) write(name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	// One process writes each file, so the temporary name needs not be unique.
	tmp := d.path("." + name)
	if err := os.WriteFile(tmp, data, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, d.path(name))
}

func (d Dir) read(name string, v any) error {
	data, err := os.ReadFile(d.path(name))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("read %s: %w", d.path(name), err)
	}
	return nil
}

func (d Dir) path(name string) string { return filepath.Join(string(d), name) }
