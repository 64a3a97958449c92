package vm

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"

	"github.com/berth-dev/berth/activities/disk"
	"github.com/berth-dev/berth/activities/failpoint"
	"github.com/berth-dev/berth/activities/seed"
	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const seedFile = "seed.iso"

// writeSeed writes the guest's seed, or removes it if the spec has none, and returns its path or nothing. The instance id
// stays while the seed's content does, so that cloud-init runs again in the guest only if there is something new.
func (r *Runtime) writeSeed(ctx context.Context, c *step.Call, s *state, data *v1.CloudInit) (string, error) {
	path := filepath.Join(c.Dir, seedFile)
	if data == nil {
		return "", r.removeSeed(ctx, c, path)
	}
	digest, err := seedDigest(*data, c.In.Ref.Workload)
	if err != nil {
		return "", contract.Permanent(v1.ReasonInternal, "report this", "the seed can't be encoded").WithCause(err)
	}
	if s.Seed.Digest == digest && fileExists(path) {
		return path, nil
	}
	return path, c.Mutate(ctx, "vm.seed", func(ctx context.Context) error {
		if s.Seed.Digest != digest {
			s.Seed = seedState{Digest: digest, InstanceID: newInstanceID(c.In.Ref.Workload)}
		}
		if err := disk.Mark(path, r.marker(c, "seed")); err != nil {
			return err
		}
		failpoint.Hit("vm.seed.marked", c.In.Ref.Workload)
		if _, err := seed.Write(ctx, path, *data, s.Seed.InstanceID, c.In.Ref.Workload); err != nil {
			return err
		}
		return s.write(c.Dir)
	})
}

func (r *Runtime) removeSeed(ctx context.Context, c *step.Call, path string) error {
	if !fileExists(path) && !fileExists(disk.MarkerPath(path)) {
		return nil
	}
	return c.Mutate(ctx, "vm.remove-seed", func(context.Context) error {
		return disk.RemoveManaged(path, r.owner(c.In.Ref.Workload))
	})
}

// seedDigest is kept on the host, in a file for root only.
func seedDigest(data v1.CloudInit, hostname string) (string, error) {
	text, err := json.Marshal([]any{data, hostname})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// newInstanceID is random, not derived from the content: every user of the guest can read it.
func newInstanceID(workload string) string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // it never fails
	return workload + "-" + hex.EncodeToString(b[:])
}
