//go:build failpoints

package agent

import (
	"os"
	"strconv"

	"github.com/berth-dev/berth/workflows/contract"
)

// contractNumber is what this agent says that it speaks: in builds for tests it may be an agent of another version.
func contractNumber() int {
	if n, err := strconv.Atoi(os.Getenv("BERTH_CONTRACT")); err == nil {
		return n
	}
	return contract.Number
}
