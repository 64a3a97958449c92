package v1

import "strings"

func checkContainer(m *mistakes, p Path, c *ContainerSpec) {
	checkCommon(m, p, &c.Common)
	checkImageReference(m, p.Key("image"), c.Image)
	checkOneOf(m, p.Key("pull"), c.Pull, PullMissing, PullAlways, PullNever)
	checkCommand(m, p.Key("command"), c.Command)
	checkArguments(m, p.Key("args"), c.Args)
	checkEnv(m, p.Key("env"), c.Env)
	if c.WorkingDir != "" {
		checkAbsolute(m, p.Key("workingDir"), c.WorkingDir)
	}
	checkUser(m, p.Key("user"), c.User)
	checkHostname(m, p.Key("hostname"), c.Hostname)
	if c.StopSignal != "" && !isSignal(c.StopSignal) {
		m.add(p.Key("stopSignal"), "must be a signal such as SIGTERM, SIGRTMIN+3 or 15")
	}
	checkPorts(m, p.Key("ports"), c.Ports)
	checkMounts(m, p.Key("volumes"), c.Volumes)
	checkDevices(m, p.Key("devices"), c.Devices)
	checkResources(m, p.Key("resources"), c.Resources)
	if c.HealthCheck != nil {
		checkHealth(m, p.Key("healthCheck"), c.HealthCheck)
	}
	checkContainerLabels(m, p.Key("labels"), c.Labels)
}

// checkCommand checks a program and its arguments; an empty one means the image's own.
func checkCommand(m *mistakes, p Path, command []string) {
	checkArguments(m, p, command)
	if len(command) > 0 && command[0] == "" {
		m.add(p.Index(0), "must name a program")
	}
}

func checkArguments(m *mistakes, p Path, args []string) {
	if !checkCount(m, p, len(args), MaxArguments) {
		return
	}
	total := 0
	for i, arg := range args {
		total += len(arg)
		if strings.ContainsRune(arg, 0) {
			m.add(p.Index(i), "must not hold a NUL character")
		}
	}
	if total > MaxArgumentBytes {
		m.add(p, "takes %d bytes in all; the limit is %d", total, MaxArgumentBytes)
	}
}

// checkEnv never tells a value: it may be secret.
func checkEnv(m *mistakes, p Path, env map[string]string) {
	if !checkCount(m, p, len(env), MaxEnv) {
		return
	}
	total := 0
	for key, value := range env {
		total += len(key) + len(value)
		switch {
		case key == "" || len(key) > 256 || !isPlain(key) || strings.ContainsAny(key, "= "):
			m.add(p, "the key %q must be 1 to 256 bytes without '=', spaces and control characters", clip(key, 64))
		case strings.ContainsRune(value, 0):
			m.add(p.Key(key), "must not hold a NUL character")
		}
	}
	if total > MaxEnvBytes {
		m.add(p, "takes %d bytes in all; the limit is %d", total, MaxEnvBytes)
	}
}

// checkUser allows a name or number, and a group behind a colon.
func checkUser(m *mistakes, p Path, user string) {
	if user == "" {
		return
	}
	name, group, hasGroup := strings.Cut(user, ":")
	if len(user) > 128 || !isUserName(name) || (hasGroup && !isUserName(group)) {
		m.add(p, "must be a user such as app, 1000 or app:www")
	}
}

func isUserName(s string) bool {
	s = strings.TrimSuffix(s, "$")
	for i := range len(s) {
		if !isAlphanumeric(s[i]) && s[i] != '_' && (i == 0 || (s[i] != '-' && s[i] != '.')) {
			return false
		}
	}
	return s != ""
}

// checkHostname allows several labels, at most as long as the kernel holds.
func checkHostname(m *mistakes, p Path, hostname string) {
	if hostname == "" {
		return
	}
	for label := range strings.SplitSeq(strings.ToLower(hostname), ".") {
		if !isDNSLabel(label) || len(hostname) > 64 {
			m.add(p, "must be a host name of at most 64 characters")
			return
		}
	}
}

func checkHealth(m *mistakes, p Path, h *HealthCheck) {
	if len(h.Command) == 0 {
		m.add(p.Key("command"), "is required")
	}
	checkCommand(m, p.Key("command"), h.Command)
	checkDuration(m, p.Key("interval"), h.Interval, MinCheckDuration, MaxCheckDuration)
	checkDuration(m, p.Key("timeout"), h.Timeout, MinCheckDuration, MaxCheckDuration)
	checkDuration(m, p.Key("startPeriod"), h.StartPeriod, 0, MaxCheckDuration)
	checkRange(m, p.Key("retries"), h.Retries, 1, MaxCheckRetries)
	checkDuration(m, p.Key("readyTimeout"), h.ReadyTimeout, MinCheckDuration, MaxCheckDuration)
	if h.ReadyTimeout >= MinCheckDuration && h.ReadyTimeout <= h.Interval {
		m.add(p.Key("readyTimeout"), "must be longer than the interval of %s: the first check comes after one interval", h.Interval)
	}
}

// checkContainerLabels is looser than checkLabels: these go to Docker, which takes almost anything.
func checkContainerLabels(m *mistakes, p Path, labels map[string]string) {
	if !checkCount(m, p, len(labels), MaxContainerLabels) {
		return
	}
	total := 0
	for key, value := range labels {
		total += len(key) + len(value)
		switch {
		case strings.HasPrefix(key, "berth."):
			m.add(p.Key(key), "the prefix berth. is Berth's own")
		case key == "" || len(key) > 256 || !isPlain(key) || strings.ContainsAny(key, "= "):
			m.add(p, "the key %q must be 1 to 256 bytes without '=', spaces and control characters", clip(key, 64))
		case !isText(value):
			m.add(p.Key(key), "must be text without control characters")
		}
	}
	if total > MaxContainerLabelBytes {
		m.add(p, "takes %d bytes in all; the limit is %d", total, MaxContainerLabelBytes)
	}
}
