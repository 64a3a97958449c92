// Package devserver runs a Temporal development server as a supervised child process, and offers the same supervision
// to other children of `berth dev`.
package devserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	v1 "github.com/berth-dev/berth/api/v1"
)

// Settings is temporal-dev.yaml: how the development server is tuned, and what its namespace holds.
type Settings struct {
	Namespace string `json:"namespace"`
	// Retention is how long the histories of closed workflows are kept.
	Retention        v1.Duration       `json:"retention"`
	SQLitePragmas    map[string]any    `json:"sqlitePragmas,omitempty"`
	DynamicConfig    map[string]any    `json:"dynamicConfig,omitempty"`
	SearchAttributes map[string]string `json:"searchAttributes,omitempty"`
	// Environment holds variables of the server's process. What is set in Berth's own environment goes before.
	Environment map[string]string `json:"environment,omitempty"`
	// LogLevel is debug, info, warn, error or never.
	LogLevel string `json:"logLevel,omitempty"`
}

// ParseSettings reads temporal-dev.yaml. Unknown fields are refused.
func ParseSettings(data []byte) (Settings, error) {
	var s Settings
	if err := yaml.UnmarshalStrict(data, &s); err != nil {
		return Settings{}, fmt.Errorf("read the Temporal settings: %w", err)
	}
	if s.Namespace == "" {
		s.Namespace = "default"
	}
	return s, nil
}

// Flags are the settings as arguments of `temporal server start-dev`, in a fixed order.
func (s Settings) Flags() ([]string, error) {
	args := []string{"--namespace", s.Namespace}
	if s.LogLevel != "" {
		args = append(args, "--log-level", s.LogLevel)
	}
	for _, name := range slices.Sorted(maps.Keys(s.SQLitePragmas)) {
		args = append(args, "--sqlite-pragma", fmt.Sprintf("%s=%v", name, s.SQLitePragmas[name]))
	}
	for _, key := range slices.Sorted(maps.Keys(s.DynamicConfig)) {
		value, err := json.Marshal(s.DynamicConfig[key])
		if err != nil {
			return nil, fmt.Errorf("dynamic configuration %s: %w", key, err)
		}
		args = append(args, "--dynamic-config-value", key+"="+string(value))
	}
	for _, name := range slices.Sorted(maps.Keys(s.SearchAttributes)) {
		args = append(args, "--search-attribute", name+"="+s.SearchAttributes[name])
	}
	return args, nil
}

// Env is the environment of the server's process: the given one without what would configure a client of Temporal, and the
// settings' own variables where it says nothing else.
func (s Settings) Env(outer []string) []string {
	var env []string
	for _, name := range slices.Sorted(maps.Keys(s.Environment)) {
		env = append(env, name+"="+s.Environment[name]) // of two the later one counts
	}
	for _, kv := range outer {
		if !strings.HasPrefix(kv, "TEMPORAL_") {
			env = append(env, kv)
		}
	}
	return env
}
