package v1

import "strings"

// CheckUpdate returns nil, or FieldErrors of ReasonImmutable for all that an update of a workload must not change: its
// kind and type, what its disks are made from, and that managed disks stay. Both are judged with their defaults filled
// in; neither is validated or changed.
func CheckUpdate(old, updated *Workload) error {
	var m mistakes
	before, after := old.Clone(), updated.Clone()
	before.Default()
	after.Default()
	if before == nil || after == nil {
		return nil
	}
	const advice = "remove the workload and apply it again"
	if before.Kind != after.Kind {
		m.put(ReasonImmutable, "kind", "is %s and cannot be changed: %s", before.Kind, advice)
		return m.err() // the specs cannot be compared
	}
	b, a := before.Spec(), after.Spec()
	if b == nil || a == nil {
		return nil
	}
	if b.Type != a.Type {
		m.put(ReasonImmutable, "spec.type", "is %s and cannot be changed: %s", b.Type, advice)
	}
	if before.VM != nil && after.VM != nil {
		checkDisksKept(&m, "spec.disks", before.VM.Disks, after.VM.Disks)
	}
	return m.err()
}

// checkDisksKept finds disks by their names; their order is free, and new ones are too.
func checkDisksKept(m *mistakes, p Path, old, updated []Disk) {
	index := make(map[string]int, len(updated))
	for i, d := range updated {
		index[d.Name] = i
	}
	for _, before := range old {
		i, kept := index[before.Name]
		switch {
		case kept:
			checkDiskKept(m, p.Index(i), before, updated[i])
		case before.Path == "": // a disk that the user brought is only detached
			m.put(ReasonImmutable, p, "disk %q cannot be left out, as an apply removes no data: remove the workload instead", before.Name)
		}
	}
}

func checkDiskKept(m *mistakes, p Path, before, after Disk) {
	const advice = "cannot be changed, as an apply never makes a disk anew: add a disk with another name"
	changed := func(field string) { m.put(ReasonImmutable, p.Key(field), advice) }
	if (before.Image == nil) != (after.Image == nil) {
		changed("image")
		return
	}
	if before.Image != nil {
		checkImageKept(m, p.Key("image"), *before.Image, *after.Image)
	}
	if before.Path != after.Path {
		changed("path")
		return
	}
	if before.Mode != after.Mode {
		changed("mode")
	}
	if before.Format != after.Format {
		changed("format")
	}
	if after.Size < before.Size {
		m.put(ReasonImmutable, p.Key("size"), "is %s and cannot shrink", before.Size)
	}
}

// checkImageKept allows a checksum to be added or left out: it says nothing about another disk.
func checkImageKept(m *mistakes, p Path, before, after DiskImage) {
	const advice = "cannot be changed, as an apply never makes a disk anew: add a disk with another name"
	for _, field := range []struct{ name, before, after string }{
		{"url", before.URL, after.URL},
		{"path", before.Path, after.Path},
		{"format", string(before.Format), string(after.Format)},
	} {
		if field.before != field.after {
			m.put(ReasonImmutable, p.Key(field.name), advice)
		}
	}
	known := before.Checksum != "" && after.Checksum != ""
	if known && !strings.EqualFold(before.Checksum, after.Checksum) {
		m.put(ReasonImmutable, p.Key("checksum"), advice)
	}
}
