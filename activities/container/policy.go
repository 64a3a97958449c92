package container

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// policy says what of its host a container may have.
type policy struct {
	host           string
	paths, devices []string
}

// grants are the host's paths and devices that a spec asks for and may have, with symbolic links resolved.
type grants struct {
	paths   map[string]string // by the path in the spec
	devices []v1.Device
}

// check resolves what a spec asks for. It is called before every start, because a link may have been changed since: what
// is mounted is the path that was checked.
func (p policy) check(spec *v1.ContainerSpec) (grants, error) {
	g := grants{paths: map[string]string{}}
	for key := range spec.Labels {
		if strings.HasPrefix(key, labelPrefix) {
			return g, contract.Permanent(v1.ReasonPolicyDenied, "choose another label", "the label %s is reserved", key)
		}
	}
	for _, m := range spec.Volumes {
		if m.Bind == "" {
			continue
		}
		path, err := p.bind(m.Bind)
		if err != nil {
			return g, err
		}
		g.paths[m.Bind] = path
	}
	for _, d := range spec.Devices {
		if err := p.device(d.Host); err != nil {
			return g, err
		}
		if d.Container == "" {
			d.Container = d.Host
		}
		if d.Permissions == "" {
			d.Permissions = "rwm"
		}
		g.devices = append(g.devices, d)
	}
	return g, nil
}

func (p policy) bind(path string) (string, error) {
	const advice = "use a path under one of the host's allowed paths, or add one to the agent's configuration"
	resolved, err := p.resolve(path)
	if contract.ReasonOf(err) == v1.ReasonInvalid && filepath.IsAbs(path) && !p.names(path) {
		// What does not exist where a workload may not look is refused like what does: refusals are no way to look.
		return "", contract.Permanent(v1.ReasonPolicyDenied, advice, "host %s does not allow binds from %s", p.host, path)
	}
	if err != nil {
		return "", err
	}
	for _, allowed := range p.paths {
		if root, err := filepath.EvalSymlinks(allowed); err == nil && within(root, resolved) {
			return resolved, nil
		}
	}
	if resolved != filepath.Clean(path) {
		return "", contract.Permanent(v1.ReasonPolicyDenied, advice, "host %s does not allow binds from %s, which leads to %s", p.host, path, resolved)
	}
	return "", contract.Permanent(v1.ReasonPolicyDenied, advice, "host %s does not allow binds from %s", p.host, path)
}

// names reports whether a path, as it is written, lies under one that is allowed.
func (p policy) names(path string) bool {
	return slices.ContainsFunc(p.paths, func(allowed string) bool { return within(filepath.Clean(allowed), filepath.Clean(path)) })
}

// stands reports whether a container that was made earlier may still have what it mounts, and its devices: a path that was
// checked then may be a link to elsewhere by now, and the engine follows it at each start.
func (p policy) stands(c Container) error {
	for _, path := range c.Binds {
		resolved, err := p.bind(path)
		if err != nil {
			return err
		}
		if resolved != path {
			return contract.Permanent(v1.ReasonPolicyDenied, "put the path back, or deploy a changed spec, and retry",
				"%s on host %s was replaced by a link to %s", path, p.host, resolved)
		}
	}
	for _, path := range c.Devices {
		if err := p.device(path); err != nil {
			return err
		}
	}
	return nil
}

func (p policy) device(path string) error {
	resolved, err := p.resolve(path)
	if err != nil {
		return err
	}
	if !p.allowsDevice(resolved) {
		return contract.Permanent(v1.ReasonPolicyDenied, "add the device to the agent's configuration, or choose another host",
			"host %s does not give out the device %s", p.host, path)
	}
	info, err := os.Stat(resolved)
	if err != nil || info.Mode()&os.ModeDevice == 0 {
		return contract.Permanent(v1.ReasonInvalid, "name a device node", "%s on host %s is not a device", path, p.host)
	}
	return nil
}

func (p policy) allowsName(path string) bool {
	resolved, err := filepath.EvalSymlinks(path)
	return err == nil && p.allowsDevice(resolved)
}

func (p policy) allowsDevice(resolved string) bool {
	for _, allowed := range p.devices {
		if ok, err := filepath.Match(allowed, resolved); err == nil && ok {
			return true
		}
		if target, err := filepath.EvalSymlinks(allowed); err == nil && target == resolved {
			return true
		}
	}
	return false
}

func (p policy) resolve(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", contract.Permanent(v1.ReasonInvalid, "give an absolute path", "%s is not an absolute path", path)
	}
	resolved, err := filepath.EvalSymlinks(path)
	switch {
	case err == nil:
		return resolved, nil
	case errors.Is(err, fs.ErrNotExist):
		return "", contract.Permanent(v1.ReasonInvalid, "make it, or choose another path, and retry", "%s does not exist on host %s", path, p.host)
	default:
		return "", contract.Permanent(v1.ReasonPolicyDenied, "look at the path on the host, and retry",
			"%s on host %s can't be resolved", path, p.host).WithCause(err)
	}
}

// within reports whether path is root or lies under it. Both are clean and absolute.
func within(root, path string) bool {
	return path == root || strings.HasPrefix(path, strings.TrimSuffix(root, "/")+"/")
}
