package v1

import (
	"encoding/json"
	"fmt"
)

// wireWorkload is a workload as it stands in JSON.
type wireWorkload struct {
	APIVersion string          `json:"apiVersion"`
	Kind       Kind            `json:"kind"`
	Metadata   Metadata        `json:"metadata"`
	Spec       json.RawMessage `json:"spec,omitempty"`
}

// Body returns the spec of the workload's kind, a *ContainerSpec or *VMSpec, or nil for a workload without a spec. It
// is what stands under "spec". The result is not a copy.
func (w *Workload) Body() any {
	switch {
	case w == nil:
		return nil
	case w.Container != nil:
		return w.Container
	case w.VM != nil:
		return w.VM
	default:
		return nil
	}
}

// MarshalJSON writes the workload with its spec under "spec", or without one if it has none. A workload whose spec is
// not of its kind is an error.
func (w Workload) MarshalJSON() ([]byte, error) {
	if (w.Container != nil && w.Kind != KindContainer) || (w.VM != nil && w.Kind != KindVM) {
		return nil, fmt.Errorf("workload %q of kind %q has the spec of another kind", w.Metadata.Name, w.Kind)
	}
	wire := wireWorkload{APIVersion: w.APIVersion, Kind: w.Kind, Metadata: w.Metadata}
	if body := w.Body(); body != nil {
		spec, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("spec: %w", err)
		}
		wire.Spec = spec
	}
	return json.Marshal(wire)
}

// UnmarshalJSON reads what MarshalJSON wrote. It ignores unknown fields, so that a newer version's history can be read;
// what a user sends is read by DecodeJSON.
func (w *Workload) UnmarshalJSON(data []byte) error {
	var wire wireWorkload
	if err := json.Unmarshal(data, &wire); err != nil {
		return err
	}
	out := Workload{APIVersion: wire.APIVersion, Kind: wire.Kind, Metadata: wire.Metadata}
	if len(wire.Spec) > 0 && string(wire.Spec) != "null" {
		body := out.newBody()
		if body == nil {
			return fmt.Errorf("kind %q is not known", clip(string(wire.Kind), 64))
		}
		if err := json.Unmarshal(wire.Spec, body); err != nil {
			return fmt.Errorf("spec: %w", err)
		}
	}
	*w = out
	return nil
}

// newBody sets and returns an empty spec of the workload's kind, or nil if the kind has none.
func (w *Workload) newBody() any {
	switch w.Kind {
	case KindContainer:
		w.Container = new(ContainerSpec)
		return w.Container
	case KindVM:
		w.VM = new(VMSpec)
		return w.VM
	case KindCompose:
		return nil
	default:
		return nil
	}
}
