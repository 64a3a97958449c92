package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
)

// instanceFile and admittedFile stand in the data directory.
const (
	instanceFile = "instance"
	admittedFile = "admitted"
)

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
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, []byte(id+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("write the host's instance id: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return "", fmt.Errorf("write the host's instance id: %w", err)
	}
	return id, nil
}

// admittedInBoot reports whether the fleet admitted this host since the machine booted. A restart of the agent alone does
// not take that away, so workloads are kept running while Temporal is out of reach.
func admittedInBoot(dataDir, bootID string) bool {
	data, err := os.ReadFile(filepath.Join(dataDir, admittedFile))
	return err == nil && strings.TrimSpace(string(data)) == bootID
}

func noteAdmitted(dataDir, bootID string) error {
	return os.WriteFile(filepath.Join(dataDir, admittedFile), []byte(bootID+"\n"), 0o600)
}
