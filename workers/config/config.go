// Package config fills settings from flags, environment and file, in this order of precedence, and tells all mistakes at
// once.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"
)

// envPrefix precedes a setting's name in the environment: data-dir is BERTH_DATA_DIR.
const envPrefix = "BERTH_"

// Source says where settings come from, beside the command line.
type Source struct {
	// File is a YAML file whose keys are settings. Empty means none.
	File string
	// Optional lets the file be absent.
	Optional bool
	// Known are the settings of all commands: one file may serve several. Another key in the file is a mistake.
	Known []string
	// LookupEnv is os.LookupEnv.
	LookupEnv func(string) (string, bool)
}

// EnvName is the environment variable of a setting.
func EnvName(setting string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(setting, "-", "_"))
}

// Fill sets every flag that the command line left alone from the environment, else from the file. The error is a
// *Mistakes with all that is wrong.
func Fill(flags *pflag.FlagSet, src Source) error {
	var m Mistakes
	file := src.read(&m)
	for key := range file {
		if !slices.Contains(src.Known, key) && flags.Lookup(key) == nil {
			m.Add(key, "%s: there is no such setting", src.File)
		}
	}
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			return
		}
		if value, set := src.LookupEnv(EnvName(f.Name)); set {
			m.set(flags, f.Name, []string{value}, EnvName(f.Name))
			return
		}
		if raw, set := file[f.Name]; set {
			values, err := texts(raw)
			if err != nil {
				m.Add(f.Name, "%s: %v", src.File, err)
				return
			}
			m.set(flags, f.Name, values, src.File)
		}
	})
	return m.Err()
}

func (s Source) read(m *Mistakes) map[string]any {
	if s.File == "" {
		return nil
	}
	data, err := os.ReadFile(s.File)
	if s.Optional && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		m.Add("config", "%v", err)
		return nil
	}
	var out map[string]any
	if err := yaml.UnmarshalStrict(data, &out); err != nil {
		m.Add("config", "%s is not YAML of settings: %v", s.File, err)
	}
	return out
}

// set sets a flag to the first value and adds the others to it.
func (m *Mistakes) set(flags *pflag.FlagSet, name string, values []string, from string) {
	for _, value := range values {
		if err := flags.Set(name, value); err != nil {
			// The flag's own error repeats the value, which may be a secret here.
			m.Add(name, "%s: the value is not a %s", from, flags.Lookup(name).Value.Type())
			return
		}
	}
}

// texts writes a value from YAML as flags read it: a list as several values, a mapping as key=value each.
func texts(raw any) ([]string, error) {
	switch v := raw.(type) {
	case string:
		return []string{v}, nil
	case bool:
		return []string{strconv.FormatBool(v)}, nil
	case float64:
		return []string{strconv.FormatFloat(v, 'f', -1, 64)}, nil
	case []any:
		var out []string
		for _, element := range v {
			values, err := texts(element)
			if err != nil {
				return nil, err
			}
			out = append(out, values...)
		}
		return out, nil
	case map[string]any:
		var out []string
		for key, element := range v {
			values, err := texts(element)
			if err != nil || len(values) != 1 {
				return nil, fmt.Errorf("the value of %s is not a single one", key)
			}
			out = append(out, key+"="+values[0])
		}
		slices.Sort(out)
		return out, nil
	default:
		return nil, errors.New("the value is missing")
	}
}
