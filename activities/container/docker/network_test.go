package docker

import (
	"testing"

	dc "github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/network"
	"github.com/stretchr/testify/require"
)

func TestCutOff(t *testing.T) {
	for name, tc := range map[string]struct {
		mode string
		on   []string
		want string
	}{
		"the engine's own":            {"default", []string{"bridge"}, ""},
		"the engine's own, renamed":   {"default", []string{"podman"}, ""},
		"off the engine's own":        {"default", nil, "bridge"},
		"off the bridge, by name":     {"bridge", []string{"other"}, "bridge"},
		"a user's":                    {"mine", []string{"mine", "other"}, ""},
		"off a user's":                {"mine", []string{"other"}, "mine"},
		"none":                        {"none", nil, ""},
		"the host's":                  {"host", nil, ""},
		"that of another container":   {"container:abc", nil, ""},
		"an engine that says nothing": {"", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			on := map[string]*network.EndpointSettings{}
			for _, n := range tc.on {
				on[n] = &network.EndpointSettings{}
			}
			require.Equal(t, tc.want, cutOff(dc.NetworkMode(tc.mode), on))
		})
	}
}
