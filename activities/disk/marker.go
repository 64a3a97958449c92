package disk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	markerSuffix   = ".berth.json"
	maxMarkerBytes = 64 << 10
)

// Marker says for whom a file was made. It stands beside the file, in <path>.berth.json.
type Marker struct {
	Fleet      string `json:"fleet"`
	Host       string `json:"host"`
	Workload   string `json:"workload"`
	Generation int64  `json:"generation"`
	Fence      int64  `json:"fence"`
	// Disk is the disk's name in the workload, or what else the file is for, for example "seed".
	Disk string `json:"disk"`
}

// Owner is whose files may be removed. An empty Workload means every workload of the host.
type Owner struct{ Fleet, Host, Workload string }

// Owns reports whether a marker is the owner's. An owner without fleet or host owns nothing.
func (o Owner) Owns(m Marker) bool {
	return o.Fleet != "" && o.Host != "" && m.Fleet == o.Fleet && m.Host == o.Host &&
		(o.Workload == "" || m.Workload == o.Workload)
}

// MarkerPath is where the marker of a file stands.
func MarkerPath(path string) string { return path + markerSuffix }

// Mark writes the marker of a file, durably, replacing an older one. Mark before making the file: then a crash between
// the two leaves a marker without a file, never a file that nobody dares to remove.
func Mark(path string, m Marker) error {
	if err := checkPath(path); err != nil {
		return err
	}
	data, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode the marker of %s: %w", path, err)
	}
	return Classify("mark "+path, WriteFile(MarkerPath(path), data, 0o600))
}

// ReadMarker reads the marker of a file. Without one the error is NotFound; one that cannot be read is PolicyDenied,
// because whose file it is cannot be told.
func ReadMarker(path string) (m Marker, err error) {
	f, err := OpenRegular(MarkerPath(path), os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return Marker{}, contract.Permanent(v1.ReasonNotFound, "", "%s has no mark of Berth", path)
	}
	if err != nil {
		return Marker{}, err
	}
	defer closing(f, &err)
	data, err := io.ReadAll(io.LimitReader(f, maxMarkerBytes))
	if err != nil {
		return Marker{}, Classify("read the marker of "+path, err)
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return Marker{}, contract.Permanent(v1.ReasonPolicyDenied, "remove the file by hand if it is not needed",
			"the marker of %s cannot be read", path).WithCause(err)
	}
	return m, nil
}

// RemoveManaged removes a file and its marker. It refuses with PolicyDenied what is not a regular file or does not carry
// the owner's mark. A file that is gone already, marker and all, is fine.
func RemoveManaged(path string, owner Owner) error {
	if err := checkPath(path); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	gone := errors.Is(err, fs.ErrNotExist)
	if err != nil && !gone {
		return Classify("remove "+path, err)
	}
	if !gone && !info.Mode().IsRegular() {
		return refuseRemoval(path, "it is not a regular file")
	}
	m, err := ReadMarker(path)
	switch {
	case contract.ReasonOf(err) == v1.ReasonNotFound && gone:
		return nil
	case contract.ReasonOf(err) == v1.ReasonNotFound:
		return refuseRemoval(path, "it has no mark of Berth")
	case err != nil:
		return err
	case !owner.Owns(m):
		return refuseRemoval(path, fmt.Sprintf("it belongs to workload %q of fleet %q on host %q", m.Workload, m.Fleet, m.Host))
	}
	// The marker goes last: after a crash in between, the rest can still be removed.
	for _, p := range []string{path, MarkerPath(path)} {
		if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Classify("remove "+p, err)
		}
	}
	return Classify("remove "+path, SyncDir(filepath.Dir(path)))
}

func refuseRemoval(path, why string) error {
	return contract.Permanent(v1.ReasonPolicyDenied, "remove it by hand if it is not needed", "%s is not removed: %s", path, why)
}
