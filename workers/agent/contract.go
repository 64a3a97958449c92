//go:build !failpoints

package agent

import "github.com/berth-dev/berth/workflows/contract"

// contractNumber is what this agent speaks.
func contractNumber() int { return contract.Number }
