package v1

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
)

func checkDisks(m *mistakes, p Path, disks []Disk) {
	if len(disks) == 0 {
		m.add(p, "is required: the first disk is booted from")
	}
	if !checkCount(m, p, len(disks), MaxDisks) {
		return
	}
	names, paths := map[string]Path{}, map[string]Path{}
	for i, d := range disks {
		at := p.Index(i)
		checkName(m, at.Key("name"), d.Name)
		if d.Name != "" {
			checkFirst(m, names, at.Key("name"), d.Name)
		}
		switch {
		case d.Image != nil && d.Path != "":
			m.add(at, "exactly one of image, path, or size alone says what the disk is made from")
		case d.Image != nil:
			checkImageDisk(m, at, d)
		case d.Path != "":
			checkPathDisk(m, at, d)
			checkFirst(m, paths, at.Key("path"), d.Path)
		default:
			checkBlankDisk(m, at, d)
		}
	}
}

func checkImageDisk(m *mistakes, p Path, d Disk) {
	checkOneOf(m, p.Key("mode"), d.Mode, DiskOverlay, DiskCopy)
	if d.Format != "" {
		m.add(p.Key("format"), "not for a disk made from an image: image.format says what the image is")
	}
	if d.Size != 0 {
		checkRange(m, p.Key("size"), d.Size, MinDiskSize, MaxDiskSize)
	}
	image := p.Key("image")
	checkOneOf(m, image.Key("format"), d.Image.Format, FormatQCOW2, FormatRaw)
	switch {
	case (d.Image.URL == "") == (d.Image.Path == ""):
		m.add(image, "exactly one of url and path must be set")
	case d.Image.Path != "":
		checkAbsolute(m, image.Key("path"), d.Image.Path)
	default:
		if wrong := wrongImageURL(d.Image.URL); wrong != "" {
			m.add(image.Key("url"), "%s", wrong)
		}
	}
	if d.Image.Checksum != "" && !checksumPattern.MatchString(d.Image.Checksum) {
		m.add(image.Key("checksum"), "must be sha256: and 64 hex digits, or sha512: and 128")
	}
}

// checksumPattern is of lower case: Default has made it so.
var checksumPattern = regexp.MustCompile(`^(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$`)

func checkPathDisk(m *mistakes, p Path, d Disk) {
	checkAbsolute(m, p.Key("path"), d.Path)
	checkOneOf(m, p.Key("format"), d.Format, FormatQCOW2, FormatRaw)
	if d.Size != 0 {
		m.add(p.Key("size"), "not for a disk at a path of the host: it stays as it is")
	}
	if d.Mode != "" {
		m.add(p.Key("mode"), "only for a disk made from an image")
	}
}

func checkBlankDisk(m *mistakes, p Path, d Disk) {
	if d.Size == 0 {
		m.add(p, "one of image, path or size is required")
	} else {
		checkRange(m, p.Key("size"), d.Size, MinDiskSize, MaxDiskSize)
	}
	checkOneOf(m, p.Key("format"), d.Format, FormatQCOW2, FormatRaw)
	if d.Mode != "" {
		m.add(p.Key("mode"), "only for a disk made from an image")
	}
	if d.ReadOnly {
		m.add(p.Key("readOnly"), "not for a blank disk: nothing could ever stand on it")
	}
}

// wrongImageURL says what is wrong with a URL, without telling the URL: it may hold a secret.
func wrongImageURL(s string) string {
	if len(s) > MaxURLLength || !isPlain(s) {
		return fmt.Sprintf("must be a URL of at most %d bytes without control characters", MaxURLLength)
	}
	u, err := url.Parse(s)
	if err != nil {
		return "is not a URL"
	}
	switch {
	case u.User != nil:
		return "must hold no user and password"
	case u.Fragment != "":
		return "must have no fragment"
	case u.Opaque != "":
		return "must be of the form http://host/path, https://host/path or file:///path"
	}
	switch u.Scheme {
	case "http", "https":
		if u.Hostname() == "" {
			return "must name a host"
		}
		if port := u.Port(); port != "" {
			if n, err := strconv.Atoi(port); err != nil || n < 1 || n > maxPort {
				return fmt.Sprintf("must name a port from 1 to %d, or none", maxPort)
			}
		}
		return ""
	case "file":
		return wrongFileURL(u)
	default:
		return "must begin with http://, https:// or file:///"
	}
}

func wrongFileURL(u *url.URL) string {
	if (u.Host != "" && u.Host != "localhost") || u.RawQuery != "" {
		return "a file URL must be of the form file:///path"
	}
	var m mistakes
	if !checkAbsolute(&m, "", u.Path) {
		return "the path " + m.list[0].Message
	}
	return ""
}
