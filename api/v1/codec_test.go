package v1

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestWorkloadRoundTrip(t *testing.T) {
	for name, w := range fixtures() {
		t.Run(name, func(t *testing.T) {
			data, err := json.Marshal(w)
			require.NoError(t, err)
			var lenient Workload
			require.NoError(t, json.Unmarshal(data, &lenient))
			require.Equal(t, *w, lenient)
			strict, err := DecodeJSON(data)
			require.NoError(t, err)
			require.Equal(t, w, strict)
		})
	}
}

func TestWorkloadInAStruct(t *testing.T) {
	type message struct {
		Spec Workload `json:"spec"`
	}
	in := message{Spec: *fullVM()}
	data, err := json.Marshal(in)
	require.NoError(t, err)
	var out message
	require.NoError(t, json.Unmarshal(data, &out))
	require.Equal(t, in, out)

	data, err = json.Marshal(message{})
	require.NoError(t, err, "a message without a spec must be possible")
	require.NoError(t, json.Unmarshal(data, &out))
	require.Equal(t, message{}, out)
}

func TestWorkloadWireShape(t *testing.T) {
	data, err := json.Marshal(minimalContainer())
	require.NoError(t, err)
	require.JSONEq(t, `{"apiVersion":"berth/v1","kind":"Container","metadata":{"name":"web"},"spec":{"image":"nginx:1.27"}}`, string(data))
	data, err = json.Marshal(minimalVM())
	require.NoError(t, err)
	require.JSONEq(t, `{"apiVersion":"berth/v1","kind":"VM","metadata":{"name":"guest"},"spec":{"vcpus":1,"memory":"256Mi",
		"disks":[{"name":"root","image":{"path":"/var/lib/images/base.qcow2"}}]}}`, string(data))
}

func TestMarshalRefusesAnotherKindsSpec(t *testing.T) {
	w := minimalContainer()
	w.Kind = KindVM
	_, err := json.Marshal(w)
	require.Error(t, err)
}

func TestUnmarshalIsLenientForNewerVersions(t *testing.T) {
	var w Workload
	require.NoError(t, json.Unmarshal([]byte(`{"kind":"VM","metadata":{"name":"a","new":1},"spec":{"vcpus":2,"new":{}},"new":[]}`), &w))
	require.Equal(t, 2, w.VM.VCPUs)
	require.Error(t, json.Unmarshal([]byte(`{"kind":"Rocket","spec":{}}`), &w))
	require.Error(t, json.Unmarshal([]byte(`{"kind":"VM","spec":{"vcpus":"two"}}`), &w))
	require.Equal(t, 2, w.VM.VCPUs, "an error changes nothing")
}

// TestRoundTripProperty holds that what was written is read the same, leniently and strictly, whatever stands in it.
func TestRoundTripProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := Workload{APIVersion: rapid.String().Draw(t, "apiVersion"), Metadata: rapid.Make[Metadata]().Draw(t, "metadata")}
		if rapid.Bool().Draw(t, "container") {
			w.Kind, w.Container = KindContainer, new(rapid.Make[ContainerSpec]().Draw(t, "spec"))
		} else {
			w.Kind, w.VM = KindVM, new(rapid.Make[VMSpec]().Draw(t, "spec"))
		}
		w.APIVersion = APIVersion
		data, err := json.Marshal(w)
		require.NoError(t, err)
		var lenient Workload
		require.NoError(t, json.Unmarshal(data, &lenient))
		strict, err := DecodeJSON(data)
		require.NoError(t, err)
		require.Equal(t, &lenient, strict)
		again, err := json.Marshal(lenient)
		require.NoError(t, err)
		require.Equal(t, string(data), string(again))
		require.Equal(t, w.Clone(), &w)

		once := w.Clone()
		once.Default()
		twice := once.Clone()
		twice.Default()
		require.Equal(t, once, twice, "defaults are idempotent")
		if w.Validate() == nil {
			require.NoError(t, once.Validate())
		}
	})
}

func TestCloneSharesNothing(t *testing.T) {
	for name, w := range fixtures() {
		t.Run(name, func(t *testing.T) {
			c := w.Clone()
			require.Equal(t, w, c)
			require.Empty(t, shared(reflect.ValueOf(w), reflect.ValueOf(c), "workload"))
		})
	}
	require.Nil(t, (*Workload)(nil).Clone())
}

// shared returns the places where two values of the same shape point to the same memory.
func shared(a, b reflect.Value, at string) []string {
	var found []string
	switch a.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if !a.IsNil() && a.UnsafePointer() == b.UnsafePointer() {
			found = append(found, at)
		}
	}
	switch {
	case a.Kind() == reflect.Pointer && !a.IsNil():
		found = append(found, shared(a.Elem(), b.Elem(), at)...)
	case a.Kind() == reflect.Slice:
		for i := range a.Len() {
			found = append(found, shared(a.Index(i), b.Index(i), at+"[]")...)
		}
	case a.Kind() == reflect.Struct:
		for i := range a.NumField() {
			found = append(found, shared(a.Field(i), b.Field(i), at+"."+a.Type().Field(i).Name)...)
		}
	}
	return found
}
