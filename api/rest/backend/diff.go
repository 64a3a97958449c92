package backend

import (
	"maps"
	"reflect"
	"slices"

	v1 "github.com/berth-dev/berth/api/v1"
)

// diff returns the paths at which two JSON values differ, in order: as deep as both sides have the same shape.
func diff(at v1.Path, from, to any) []string {
	if reflect.DeepEqual(from, to) {
		return nil
	}
	switch f := from.(type) {
	case map[string]any:
		if t, ok := to.(map[string]any); ok {
			return diffObjects(at, f, t)
		}
	case []any:
		if t, ok := to.([]any); ok && len(t) == len(f) {
			var out []string
			for i := range f {
				out = append(out, diff(at.Index(i), f[i], t[i])...)
			}
			return out
		}
	}
	return []string{string(at)}
}

func diffObjects(at v1.Path, from, to map[string]any) []string {
	keys := maps.Clone(from)
	maps.Copy(keys, to)
	var out []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		f, inFrom := from[key]
		t, inTo := to[key]
		if inFrom && inTo {
			out = append(out, diff(at.Key(key), f, t)...)
		} else {
			out = append(out, string(at.Key(key)))
		}
	}
	return out
}
