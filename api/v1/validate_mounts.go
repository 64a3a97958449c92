package v1

import "strings"

func checkMounts(m *mistakes, p Path, mounts []Mount) {
	if !checkCount(m, p, len(mounts), MaxMounts) {
		return
	}
	targets := map[string]Path{}
	for i, mount := range mounts {
		at := p.Index(i)
		switch {
		case (mount.Name == "") == (mount.Bind == ""):
			m.add(at, "exactly one of name and bind must be set")
		case mount.Bind != "":
			checkAbsolute(m, at.Key("bind"), mount.Bind)
		default:
			checkName(m, at.Key("name"), mount.Name)
		}
		if !checkAbsolute(m, at.Key("target"), mount.Target) {
			continue
		}
		if mount.Target == "/" {
			m.add(at.Key("target"), "must not be the container's root")
			continue
		}
		checkFirst(m, targets, at.Key("target"), mount.Target)
	}
}

func checkDevices(m *mistakes, p Path, devices []Device) {
	if !checkCount(m, p, len(devices), MaxDevices) {
		return
	}
	inside := map[string]Path{}
	for i, d := range devices {
		at := p.Index(i)
		if checkAbsolute(m, at.Key("host"), d.Host) && !strings.HasPrefix(d.Host, "/dev/") {
			m.add(at.Key("host"), "must be a path under /dev")
		}
		if d.Container != d.Host { // else it is told already, or filled in
			checkAbsolute(m, at.Key("container"), d.Container)
		}
		if d.Container != "" {
			checkFirst(m, inside, at.Key("container"), d.Container)
		}
		if !isPermissions(d.Permissions) {
			m.add(at.Key("permissions"), "must be of the letters r, w and m, each at most once")
		}
	}
}

func isPermissions(s string) bool {
	rest := "rwm"
	for _, r := range s {
		if !strings.ContainsRune(rest, r) {
			return false
		}
		rest = strings.ReplaceAll(rest, string(r), "")
	}
	return s != ""
}
