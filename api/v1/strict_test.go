package v1

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDecodeJSONTellsAllMistakesWithTheirPaths(t *testing.T) {
	_, err := DecodeJSON([]byte(`{
		"apiVersion": "berth/v2", "kind": "Container", "extra": 1,
		"metadata": {"name": 7, "lables": {}},
		"spec": {
			"image": "a", "image": "b", "Pull": "always", "init": "yes", "command": "sh",
			"env": {"A": 5, "B": null, "C": "x"},
			"ports": [{"container": 80, "hostPort": 8080}, {"container": "80"}, {"container": 1.5}, null],
			"resources": {"memory": "5K", "cpus": {}, "pids": 1e30},
			"stopGracePeriod": "1d", "zzzzzz": 1
		}
	}`))
	require.Equal(t, []string{
		`apiVersion: must be berth/v1`,
		`extra: unknown field: known here are apiVersion, kind, metadata, spec`,
		`metadata.lables: unknown field: did you mean labels?`,
		`metadata.name: must be a string, not a number: put it in quotes`,
		`spec.Pull: unknown field: did you mean pull?`,
		`spec.command: must be a list, not a string`,
		`spec.env.A: must be a string, not a number: put it in quotes`,
		`spec.env.B: must not be null: write "" for an empty value`,
		`spec.image: duplicate key`,
		`spec.init: must be true or false, not a string`,
		`spec.ports[0].hostPort: unknown field: did you mean host?`,
		`spec.ports[1].container: must be a number, not a string`,
		`spec.ports[2].container: must be a whole number`,
		`spec.ports[3]: must not be null`,
		`spec.resources.cpus: must be a number or a string, not an object`,
		`spec.resources.memory: "5K" is not a size such as 512Mi or 2Gi: the unit is not known`,
		`spec.resources.pids: must be a whole number`,
		`spec.stopGracePeriod: "1d" is not a duration such as 30s, 5m or 24h`,
		`spec.zzzzzz: unknown field: known here are type, job, restart, placement, priority, onHostLoss, moveAfter, strict, stopGracePeriod, image, pull, command, args, env, ` +
			`workingDir, user, hostname, init, stopSignal, ports, volumes, devices, resources, healthCheck, labels`,
	}, fieldErrors(t, err))
}

func TestDecodeJSONDocuments(t *testing.T) {
	head := `{"apiVersion":"berth/v1","metadata":{"name":"a"},`
	for name, c := range map[string]struct{ in, want string }{
		"empty":         {" \n", "the document is empty"},
		"list":          {"[]", "must be an object, not a list"},
		"null":          {"null", "must be an object, not null"},
		"syntax":        {"{\n  \"a\": x\n}", "line 2, column 8: not JSON: invalid character 'x' looking for beginning of value"},
		"cut":           {`{"a": `, "not JSON: unexpected end of JSON input"},
		"trailing":      {head + `"kind":"VM","spec":{}} {}`, "after top-level value"},
		"not UTF-8":     {"{\"a\":\"\xff\"}", "not valid UTF-8"},
		"deep":          {strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40), "nested deeper than 32 levels"},
		"large":         {`"` + strings.Repeat("x", MaxDocumentBytes) + `"`, "larger than 1048576 bytes"},
		"no kind":       {head + `"spec":{}}`, "kind: is required"},
		"unknown kind":  {head + `"kind":"Pod","spec":{}}`, "kind: must be Container or VM"},
		"compose":       {head + `"kind":"Compose","spec":{"file":"x"}}`, "kind: Compose is not supported yet"},
		"no spec":       {head + `"kind":"VM"}`, "spec: is required"},
		"null spec":     {head + `"kind":"VM","spec":null}`, "spec: is required"},
		"spec is text":  {head + `"kind":"VM","spec":"x"}`, "spec: must be an object, not a string"},
		"case matters":  {head + `"kind":"VM","spec":{"VCPUs":1}}`, "spec.VCPUs: unknown field: did you mean vcpus?"},
		"key in quotes": {head + `"kind":"VM","spec":{"a b.c":1}}`, `spec["a b.c"]: unknown field`},
		"embedded":      {head + `"kind":"VM","spec":{"Common":{}}}`, "spec.Common: unknown field"},
		"pointer":       {head + `"kind":"VM","spec":{"cloudInit":[]}}`, "spec.cloudInit: must be an object, not a list"},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := DecodeJSON([]byte(c.in))
			require.Nil(t, w)
			require.ErrorContains(t, err, c.want)
			require.NotEmpty(t, fieldErrors(t, err))
		})
	}
}

func TestDecodeJSONTakesNullAsAbsent(t *testing.T) {
	w, err := DecodeJSON([]byte(`{"apiVersion":"berth/v1","kind":"Container","metadata":{"name":"web","labels":null},
		"spec":{"image":"nginx:1.27","env":null,"healthCheck":null,"init":null,"resources":{"memory":null}}}`))
	require.NoError(t, err)
	require.Equal(t, minimalContainer(), w)
}

func TestDecodeJSONNeverTellsAValue(t *testing.T) {
	_, err := DecodeJSON([]byte(`{"apiVersion":"berth/v1","kind":"VM","metadata":{"name":"a"},
		"spec":{"cloudInit":{"userData":["hunter2"],"metaData":12345}}}`))
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hunter2")
	require.NotContains(t, err.Error(), "12345")
}

func TestDecodeJSONBoundsTheErrors(t *testing.T) {
	in := `{"spec":[` + strings.TrimSuffix(strings.Repeat(`{"x":1,"x":2},`, 5000), ",") + `]}`
	_, err := DecodeJSON([]byte(in))
	texts := fieldErrors(t, err)
	require.Len(t, texts, MaxFieldErrors+1)
	require.Contains(t, texts[MaxFieldErrors], "more mistakes")

	_, err = DecodeJSON([]byte(`{"` + strings.Repeat("k", 100_000) + `":1}`))
	require.Less(t, len(err.Error()), 1000)
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"berth/v1","kind":"Container","metadata":{"name":"a"},"spec":{"image":"b","ports":[{"container":1}]}}`))
	f.Add([]byte(`{"apiVersion":"berth/v1","kind":"VM","metadata":{"name":"a"},"spec":{"vcpus":1,"memory":"1Gi","disks":[{"name":"a","size":1e9}]}}`))
	f.Add([]byte(`{"a":1,"a":[null,{"b":"\ud800"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := DecodeJSON(data)
		if err != nil {
			require.Nil(t, w)
			require.NotEmpty(t, fieldErrors(t, err))
			return
		}
		again, err := DecodeJSON([]byte(mustJSON(t, w)))
		require.NoError(t, err)
		require.Equal(t, mustJSON(t, w), mustJSON(t, again))
		valid := w.Validate() == nil
		w.Default()
		require.Equal(t, valid, w.Validate() == nil, "defaults change no verdict")
	})
}
