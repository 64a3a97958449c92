package v1

func checkVM(m *mistakes, p Path, v *VMSpec) {
	checkCommon(m, p, &v.Common)
	checkRange(m, p.Key("vcpus"), v.VCPUs, 1, MaxVCPUs)
	if v.Memory == 0 {
		m.add(p.Key("memory"), "is required")
	} else {
		checkRange(m, p.Key("memory"), v.Memory, MinVMMemory, MaxMemory)
	}
	checkDisks(m, p.Key("disks"), v.Disks)
	checkNetworks(m, p.Key("networks"), v.Networks)
	if v.CloudInit != nil {
		checkCloudInit(m, p.Key("cloudInit"), v.CloudInit)
	}
	checkVMMetadata(m, p.Key("metadata"), v.Metadata)
	checkOneOf(m, p.Key("firmware"), v.Firmware, FirmwareBIOS, FirmwareUEFI)
	checkDuration(m, p.Key("bootTimeout"), v.BootTimeout, MinBootTimeout, MaxBootTimeout)
	checkReadiness(m, p.Key("readiness"), v.Readiness)
}

// checkCloudInit never tells a text: it may hold secrets.
func checkCloudInit(m *mistakes, p Path, c *CloudInit) {
	texts := []struct{ name, text string }{
		{"userData", c.UserData},
		{"metaData", c.MetaData},
		{"networkConfig", c.NetworkConfig},
		{"vendorData", c.VendorData},
	}
	total := 0
	for _, t := range texts {
		total += len(t.text)
		if !isText(t.text) {
			m.add(p.Key(t.name), "must be text without control characters")
		}
	}
	switch {
	case total == 0:
		m.add(p, "at least one of userData, metaData, networkConfig and vendorData must be set")
	case total > MaxCloudInitBytes:
		m.add(p, "takes %d bytes in all; the limit is %d: let the guest fetch what is larger", total, MaxCloudInitBytes)
	}
}

func checkVMMetadata(m *mistakes, p Path, metadata map[string]string) {
	if !checkCount(m, p, len(metadata), MaxVMMetadata) {
		return
	}
	total := 0
	for key, value := range metadata {
		total += len(key) + len(value)
		if !isLabelText(key) {
			m.add(p, "the key %q must be 1 to %d of a-z, A-Z, 0-9, '.', '_', '-' and '/', and begin and end with a letter or digit",
				clip(key, MaxLabelLength), MaxLabelLength)
		}
		if !isText(value) {
			m.add(p.Key(key), "must be text without control characters")
		}
	}
	if total > MaxVMMetadataBytes {
		m.add(p, "takes %d bytes in all; the limit is %d", total, MaxVMMetadataBytes)
	}
}

func checkReadiness(m *mistakes, p Path, r *Readiness) {
	if !checkOneOf(m, p.Key("when"), r.When, ReadyRunning, ReadyAgent, ReadyConsole) {
		return
	}
	switch {
	case r.When != ReadyConsole && r.Line != "":
		m.add(p.Key("line"), "only with when: %s", ReadyConsole)
	case r.When == ReadyConsole && r.Line == "":
		m.add(p.Key("line"), "is required with when: %s", ReadyConsole)
	case len(r.Line) > MaxReadinessLine || !isPlain(r.Line):
		m.add(p.Key("line"), "must be at most %d bytes of one line, without control characters", MaxReadinessLine)
	}
}
