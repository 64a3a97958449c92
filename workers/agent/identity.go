package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
)

// What stands in the data directory beside the workloads.
const (
	hostFile     = "host"
	instanceFile = "instance"
	admittedFile = "admitted"
)

// claim makes the data directory this host's, and refuses one that is another's. Under another id the host would be a new one,
// and what runs on it would be nobody's: a machine that gets another name must not do that by itself.
func claim(dataDir, fleet, host string) error {
	path, own := filepath.Join(dataDir, hostFile), fleet+"/"+host
	data, err := os.ReadFile(path)
	switch owner := strings.TrimSpace(string(data)); {
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("read whose data directory it is: %w", err)
	case owner == own:
		return nil
	case owner != "":
		ownFleet, ownHost, _ := strings.Cut(owner, "/")
		return fmt.Errorf("data directory %s belongs to host %s of fleet %s: start with --host-id %s and --fleet %s, "+
			"or give host %s a directory of its own", dataDir, ownHost, ownFleet, ownHost, ownFleet, host)
	}
	return replaceFile(path, own)
}

// replaceFile writes a line to a file, wholly or not at all.
func replaceFile(path, line string) error {
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, []byte(line+"\n"), 0o600); err != nil {
		return fmt.Errorf("write to the data directory: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("write to the data directory: %w", err)
	}
	return nil
}

// instanceID is the id of this life of the host. It is made once and stays with the data directory.
func instanceID(dataDir string) (string, error) {
	path := filepath.Join(dataDir, instanceFile)
	data, err := os.ReadFile(path)
	if err == nil && len(strings.TrimSpace(string(data))) > 0 {
		return strings.TrimSpace(string(data)), nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("read the host's instance id: %w", err)
	}
	id := uuid.NewString()
	return id, replaceFile(path, id)
}

// admittedInBoot reports whether the fleet admitted this host since the machine booted. A restart of the agent alone does
// not take that away, so workloads are kept running while Temporal is out of reach.
func admittedInBoot(dataDir, bootID string) bool {
	data, err := os.ReadFile(filepath.Join(dataDir, admittedFile))
	return err == nil && strings.TrimSpace(string(data)) == bootID
}

func noteAdmitted(dataDir, bootID string) error {
	if admittedInBoot(dataDir, bootID) {
		return nil
	}
	return os.WriteFile(filepath.Join(dataDir, admittedFile), []byte(bootID+"\n"), 0o600)
}
