package vm

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/berth-dev/berth/activities/disk"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const stateFile = "vm.json"

// state is what the host must remember of a virtual machine beside its domain and disks. It is for root only: a digest
// of the seed tells something about what may be secret.
type state struct {
	Boot boot      `json:"boot"`
	Seed seedState `json:"seed"`
	// Addresses are the static addresses that Berth gave to networks: written before they are given.
	Addresses []reservation `json:"addresses,omitempty"`
}

// boot is the last start of the domain.
type boot struct {
	Fence   int64 `json:"fence"`
	Attempt int   `json:"attempt,omitempty"`
	// At is when it was started, Since when the fence's own action began to wait for it.
	At    time.Time `json:"at"`
	Since time.Time `json:"since"`
	// Done is false until libvirt said that it runs.
	Done bool `json:"done"`
	// Console is where the console's log ended before.
	Console position `json:"console"`
}

// of reports whether it is the start that this step's action and attempt asked for.
func (b boot) of(ref contract.Ref) bool { return b.Fence == ref.Fence && b.Attempt == ref.Attempt }

type seedState struct {
	// Digest is of what the seed was made from, InstanceID what it was given.
	Digest     string `json:"digest,omitempty"`
	InstanceID string `json:"instanceId,omitempty"`
}

// reservation is a static address in a network.
type reservation struct {
	Network string `json:"network"`
	DHCPHost
}

// readState returns an empty state for a workload that has none.
func readState(dir string) (state, error) {
	var s state
	data, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		return s, contract.Retryable(v1.ReasonRuntimeUnavailable, "look at the file in the host's data directory",
			"the virtual machine's state can't be read").WithCause(err)
	}
	return s, nil
}

func (s state) write(dir string) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return disk.Classify("write the virtual machine's state", disk.WriteFile(filepath.Join(dir, stateFile), data, 0o600))
}
