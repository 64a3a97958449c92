// Package config checks files of the repository that no program would miss at build time.
package config

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/workers/devserver"
	"github.com/berth-dev/berth/workflows/contract"
)

// TestTemporalDevSettings holds temporal-dev.yaml against the contract: an attribute that the server does not know makes
// every upsert of a workflow fail.
func TestTemporalDevSettings(t *testing.T) {
	data, err := os.ReadFile("../../temporal-dev.yaml")
	require.NoError(t, err)
	settings, err := devserver.ParseSettings(data)
	require.NoError(t, err)

	want := map[string]string{}
	for _, key := range contract.SearchAttributes() {
		want[key.GetName()] = key.GetValueType().String()
	}
	require.Equal(t, want, settings.SearchAttributes)
	require.NotZero(t, settings.Retention, "start-dev keeps histories for a day only")
	require.NotEmpty(t, settings.DynamicConfig)
}
