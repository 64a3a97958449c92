package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// sight is what a host has of a workload.
type sight struct {
	power power
	// starts is how often the container or domain was started in all.
	starts int
	// generation is what the container or domain was made for.
	generation int64
	// disks tells the volumes or disks from others of the same names.
	disks string
}

// run runs a program that is short.
func run(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// inspected is what docker inspect says of a container.
type inspected struct {
	ID    string
	State struct {
		Running bool
		Pid     int
	}
	Config struct{ Labels map[string]string }
}

func inspectContainers(ctx context.Context, f *fleet, w *work) ([]inspected, error) {
	out, err := run(ctx, "docker", "ps", "--all", "--quiet", "--no-trunc",
		"--filter", "label=berth.fleet="+f.ID, "--filter", "label=berth.workload="+w.name)
	if err != nil || strings.TrimSpace(out) == "" {
		return nil, err
	}
	if out, err = run(ctx, "docker", append([]string{"inspect"}, strings.Fields(out)...)...); err != nil {
		return nil, err
	}
	var all []inspected
	return all, json.Unmarshal([]byte(out), &all)
}

func lookAtContainer(f *fleet, w *work) (sight, error) {
	ctx := f.t.Context()
	all, err := inspectContainers(ctx, f, w)
	if err != nil {
		return sight{}, err
	}
	s := sight{power: absent}
	if len(all) > 1 {
		return s, fmt.Errorf("there are %d containers: %+v", len(all), all)
	}
	for _, c := range all {
		s.power = stopped
		if c.State.Running {
			s.power = running
		}
		if _, err := fmt.Sscan(c.Config.Labels["berth.generation"], &s.generation); err != nil {
			return s, err
		}
	}
	out, err := run(ctx, "docker", "volume", "ls", "--quiet", "--filter", "label=berth.fleet="+f.ID, "--filter", "label=berth.workload="+w.name)
	volumes := strings.Fields(out)
	if err != nil || len(volumes) == 0 {
		return s, err
	}
	s.disks = strings.Join(volumes, " ")
	out, err = run(ctx, "docker", "volume", "inspect", "--format", "{{.Mountpoint}}", volumes[0])
	if err != nil {
		return s, err
	}
	// The container counts from inside, in the volume: this also shows that it is the same volume.
	lines, err := os.ReadFile(filepath.Join(strings.TrimSpace(out), "starts"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	s.starts = strings.Count(string(lines), "\n")
	return s, nil
}

// killProcess kills the container's first process behind the engine's back.
func killProcess(ctx context.Context, f *fleet, w *work) error {
	all, err := inspectContainers(ctx, f, w)
	if err != nil {
		return err
	}
	if len(all) != 1 || !all[0].State.Running {
		return fmt.Errorf("no container to kill: %+v", all)
	}
	return syscall.Kill(all[0].State.Pid, syscall.SIGKILL)
}

func virsh(ctx context.Context, args ...string) error {
	_, err := run(ctx, "virsh", append([]string{"-q", "-c", "qemu:///system"}, args...)...)
	return err
}

func lookAtDomain(f *fleet, w *work) (sight, error) {
	ctx := f.t.Context()
	s := sight{power: absent}
	out, err := run(ctx, "virsh", "-q", "-c", "qemu:///system", "list", "--all", "--name")
	if err != nil {
		return s, err
	}
	files, err := diskFiles(f, w)
	if err != nil {
		return s, err
	}
	s.disks = files
	name := w.domain(f)
	// libvirt's own log of the domain has a line for each start.
	log, err := os.ReadFile(filepath.Join("/var/log/libvirt/qemu", name+".log"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	s.starts = strings.Count(string(log), ": starting up libvirt version")
	if !containsLine(out, name) {
		return s, nil
	}
	if out, err = run(ctx, "virsh", "-q", "-c", "qemu:///system", "domstate", name); err != nil {
		return s, err
	}
	s.power = running
	if strings.TrimSpace(out) == "shut off" {
		s.power = stopped
	}
	if out, err = run(ctx, "virsh", "-q", "-c", "qemu:///system", "dumpxml", name); err != nil {
		return s, err
	}
	if _, after, ok := strings.Cut(out, `generation="`); ok {
		_, err = fmt.Sscanf(after, "%d", &s.generation)
	} else if _, after, ok := strings.Cut(out, `generation='`); ok {
		_, err = fmt.Sscanf(after, "%d", &s.generation)
	}
	return s, err
}

func containsLine(text, line string) bool {
	for l := range strings.Lines(text) {
		if strings.TrimSpace(l) == line {
			return true
		}
	}
	return false
}

// diskFiles are the workload's disks with their inodes, and complains about anything in its directory that a crash left.
func diskFiles(f *fleet, w *work) (string, error) {
	dir := filepath.Join(f.agent.DataDir, "workloads", w.name)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var disks []string
	for _, e := range entries {
		switch name := e.Name(); {
		case name == "disk-root.qcow2" || name == "disk-data.qcow2":
			info, err := e.Info()
			if err != nil {
				return "", err
			}
			stat, ok := info.Sys().(*syscall.Stat_t)
			if !ok {
				return "", fmt.Errorf("%s has no inode", name)
			}
			disks = append(disks, fmt.Sprintf("%s:%d", name, stat.Ino))
		case w.power == gone && name != "record.json":
			return "", fmt.Errorf("%s is left in the workload's directory", name)
		}
	}
	return strings.Join(disks, " "), nil
}
