package v1

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// Digest returns the SHA-256, in hex, of the workload's kind, labels and spec with defaults filled in. It depends neither
// on the order of keys nor on whether a default was written out, so that two workloads with the same digest need no
// deploy to get from one to the other. The name is not part of it.
func (w *Workload) Digest() (string, error) {
	c := w.Clone()
	c.Default()
	plain, err := json.Marshal(struct {
		Kind   Kind              `json:"kind"`
		Labels map[string]string `json:"labels,omitempty"`
		Spec   any               `json:"spec,omitempty"`
	}{c.Kind, c.Metadata.Labels, c.Body()})
	if err != nil {
		return "", fmt.Errorf("digest of workload %q: %w", c.Metadata.Name, err)
	}
	canonical, err := sortKeys(plain)
	if err != nil {
		return "", fmt.Errorf("digest of workload %q: %w", c.Metadata.Name, err)
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:]), nil
}

// sortKeys writes JSON again with the keys of all objects in order: moving a field of a struct then changes no digest.
func sortKeys(data []byte) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}
