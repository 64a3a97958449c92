package vm

import (
	"net/url"
	"path/filepath"
	"strings"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// checkPaths refuses a spec that names files of the host which the host does not allow.
func checkPaths(allowed []string, spec *v1.VMSpec) error {
	for _, d := range spec.Disks {
		paths := []string{d.Path}
		if d.Image != nil {
			paths = append(paths, d.Image.Path, filePath(d.Image.URL))
		}
		for _, p := range paths {
			if p != "" && !pathAllowed(allowed, p) {
				return contract.Permanent(v1.ReasonPolicyDenied, "use a path below one that the host's agent allows, or allow it there",
					"disk %s: the host does not allow the path %s", d.Name, p)
			}
		}
	}
	return nil
}

// filePath is the path in a URL with the scheme file, or empty.
func filePath(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || !strings.EqualFold(u.Scheme, "file") {
		return ""
	}
	return u.Path
}

// pathAllowed reports whether a path, with all symbolic links resolved, lies below an allowed one. A path that does not
// exist is judged by its nearest directory that does.
func pathAllowed(allowed []string, path string) bool {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return false
	}
	real := resolve(path)
	for _, prefix := range allowed {
		if rel, err := filepath.Rel(resolve(filepath.Clean(prefix)), real); err == nil && filepath.IsLocal(rel) && rel != "." {
			return true
		}
	}
	return false
}

func resolve(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil || path == "/" {
		return real
	}
	return filepath.Join(resolve(filepath.Dir(path)), filepath.Base(path))
}
