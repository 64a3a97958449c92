// Package seed writes the NoCloud seed that cloud-init reads in a virtual machine: a small ISO 9660 image with the
// volume label cidata.
//
// user-data holds secrets. So the image is composed in memory: nothing is staged anywhere, only the file itself is
// written, readable for its owner alone. Equal input makes equal bytes, whose digest tells whether a seed is up to date.
package seed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/berth-dev/berth/activities/disk"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	// maxBytes bounds what is put into a seed.
	maxBytes = 16 << 20
	fileMode = 0o600 // libvirt gives the file to QEMU's user while the machine runs
)

// Write makes or replaces the seed at dst, an absolute path, in one step. meta-data defaults to instanceID and hostname;
// a guest takes another instance id for a new machine. The digest is that of the file, "sha256:" and 64 hex digits.
//
// Errors are Invalid (permanent) for too much data, and DiskFull or RuntimeError (retryable). None holds any content.
func Write(ctx context.Context, dst string, ci v1.CloudInit, instanceID, hostname string) (string, error) {
	if !filepath.IsAbs(dst) {
		return "", contract.Permanent(v1.ReasonInvalid, "use an absolute path", "%q is not an absolute path", dst)
	}
	files, err := filesOf(ci, instanceID, hostname)
	if err != nil {
		return "", err
	}
	image, err := compose(files)
	if err != nil {
		return "", contract.Permanent(v1.ReasonInternal, "report this", "the seed cannot be composed").WithCause(err)
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if err := disk.RequireFree(filepath.Dir(dst), int64(len(image))); err != nil {
		return "", err
	}
	if err := disk.WriteFile(dst, image, fileMode); err != nil {
		return "", disk.Classify("write the seed "+dst, err)
	}
	sum := sha256.Sum256(image)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// filesOf returns the files of a seed by name, in order. cloud-init takes a seed for one only if it has both meta-data
// and user-data.
func filesOf(ci v1.CloudInit, instanceID, hostname string) ([]file, error) {
	meta := ci.MetaData
	if meta == "" {
		var err error
		if meta, err = defaultMetaData(instanceID, hostname); err != nil {
			return nil, err
		}
	}
	files := []file{{"meta-data", []byte(meta)}}
	if ci.NetworkConfig != "" {
		files = append(files, file{"network-config", []byte(ci.NetworkConfig)})
	}
	files = append(files, file{"user-data", []byte(ci.UserData)})
	if ci.VendorData != "" {
		files = append(files, file{"vendor-data", []byte(ci.VendorData)})
	}
	total := 0
	for _, f := range files {
		total += len(f.content)
	}
	if total > maxBytes {
		return nil, contract.Permanent(v1.ReasonInvalid, "let the guest fetch large files itself",
			"the cloud-init data has %d bytes, more than %d", total, maxBytes)
	}
	return files, nil
}

// defaultMetaData is YAML with its strings quoted as JSON, which YAML reads too.
func defaultMetaData(instanceID, hostname string) (string, error) {
	id, err := json.Marshal(instanceID)
	if err != nil {
		return "", fmt.Errorf("encode the instance id: %w", err)
	}
	name, err := json.Marshal(hostname)
	if err != nil {
		return "", fmt.Errorf("encode the host name: %w", err)
	}
	return fmt.Sprintf("instance-id: %s\nlocal-hostname: %s\n", id, name), nil
}
