package manifest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
)

const two = `# a comment
apiVersion: berth/v1
kind: Container
metadata: {name: web}
spec:
  image: nginx:1.27
  restart: {policy: no}
---
# nothing here
---
apiVersion: berth/v1
kind: VM
metadata:
  name: guest
spec:
  vcpus: 1
  memory: 1.5Gi
  disks:
    - name: root
      image: {path: /x.qcow2}
`

func TestParse(t *testing.T) {
	docs, err := Read("two.yaml", strings.NewReader(two))
	require.NoError(t, err)
	require.Len(t, docs, 2)
	require.Equal(t, "web", docs[0].Workload.Metadata.Name)
	require.Equal(t, v1.RestartNo, docs[0].Workload.Container.Restart.Policy, "a plain no is the word, not false")
	require.Equal(t, v1.Bytes(3<<29), docs[1].Workload.VM.Memory)
	require.Equal(t, []int{1, 3}, []int{docs[0].Index, docs[1].Index})
	for _, d := range docs {
		require.NoError(t, d.Validate())
	}
}

func TestParseTellsLinesOfAllDocuments(t *testing.T) {
	_, err := Parse("f.yaml", []byte(`apiVersion: berth/v1
kind: Container
metadata:
  name: web
spec:
  image: a
  image: b
  ports:
    - container: 80
      hostPort: 8080
---
apiVersion: berth/v1
kind: VM
metadata: {name: 7}
`))
	require.EqualError(t, err, `f.yaml:7: spec.image: duplicate key
f.yaml:10: spec.ports[0].hostPort: unknown field: did you mean host?
f.yaml:14: metadata.name: must be a string, not a number: put it in quotes
f.yaml:12: spec: is required`)
	var fields v1.FieldErrors
	require.ErrorAs(t, err, &fields)
	require.Equal(t, v1.Path("spec.image"), fields[0].Path)
	var located *Error
	require.ErrorAs(t, err, &located)
	require.Equal(t, 1, located.Index)
}

func TestValidateTellsLines(t *testing.T) {
	docs, err := Parse("f.yaml", []byte(strings.ReplaceAll(two, "vcpus: 1", "vcpus: 0")))
	require.NoError(t, err)
	require.EqualError(t, docs[1].Validate(), "f.yaml:16: spec.vcpus: must be from 1 to 255")
	other := errors.New("other")
	require.Equal(t, other, docs[1].Locate(other))
}

func TestParseJSON(t *testing.T) {
	docs, err := Parse("f.json", []byte("{\n\t\"apiVersion\": \"berth/v1\",\n\t\"kind\": \"Container\",\n\t\"metadata\": {\"name\": \"a\"},\n\t\"spec\": {\"image\": \"b\"}\n}"))
	require.NoError(t, err)
	require.Equal(t, "b", docs[0].Workload.Container.Image)

	_, err = Parse("f.json", []byte("{\n\"apiVersion\": \"berth/v1\",\n\"kind\": \"Container\",\n\"metadata\": {\"name\": \"a\"},\n\"spec\": {\n\"imag\": 1}}"))
	require.EqualError(t, err, "f.json:6: spec.imag: unknown field: did you mean image?")
}

func TestScalars(t *testing.T) {
	docs, err := Parse("f", []byte(`
apiVersion: berth/v1
kind: Container
metadata: {name: a}
spec:
  image: &img b
  hostname: *img
  init: true
  user: "1000"
  env:
    DATE: 2024-01-01
    NO: no
    EMPTY: ""
    FOLDED: >
      one
      two
    1: x
  ports: [{container: 0x50, host: 8_080}]
  resources: {cpus: 0.1, memory: 1073741824, pids: +5}
  healthCheck:
  stopGracePeriod: 90
`))
	require.NoError(t, err)
	c := docs[0].Workload.Container
	require.Equal(t, map[string]string{"DATE": "2024-01-01", "NO": "no", "EMPTY": "", "FOLDED": "one two\n", "1": "x"}, c.Env)
	require.Equal(t, "b", c.Hostname)
	require.Equal(t, []v1.Port{{Container: 80, Host: 8080}}, c.Ports)
	require.Equal(t, v1.Resources{CPUs: 100, Memory: 1 << 30, Pids: 5}, c.Resources)
	require.Nil(t, c.HealthCheck)
}

func TestMergeKeys(t *testing.T) {
	docs, err := Parse("f", []byte(`
apiVersion: berth/v1
kind: VM
metadata: {name: a}
spec:
  vcpus: 1
  memory: 1Gi
  disks:
    - &first {name: one, size: 1Gi}
    - {<<: *first, name: two}
    - {<<: [*first, {format: raw}], name: three}
`))
	require.NoError(t, err)
	require.Equal(t, []v1.Disk{
		{Name: "one", Size: 1 << 30}, {Name: "two", Size: 1 << 30}, {Name: "three", Size: 1 << 30, Format: v1.FormatRaw},
	}, docs[0].Workload.VM.Disks)
}

func TestParseRefuses(t *testing.T) {
	head := "apiVersion: berth/v1\nkind: Container\nmetadata: {name: a}\nspec:\n"
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*"+string(c-1)+",", 9), ",") + "]\n"
	}
	merges := "a: &a {}\n"
	for c := 'b'; c < 'k'; c++ {
		merges += string(c) + ": &" + string(c) + " {<<: [" + strings.TrimSuffix(strings.Repeat("*"+string(c-1)+",", 9), ",") + "]}\n"
	}
	for name, c := range map[string]struct{ in, want string }{
		"nothing":       {"", "holds no workload"},
		"comments":      {"# a\n---\n# b\n", "holds no workload"},
		"syntax":        {head + "  image: [", "f.yaml: document 1: yaml: line"},
		"second":        {two + "---\n\ta: b", "yaml: line 22:"},
		"not a mapping": {"- a", "f.yaml:1: must be an object, not a list"},
		"binary":        {head + "  image: !!binary aGk=", "f.yaml:5: spec.image: the YAML tag !!binary is not supported"},
		"own tag":       {head + "  image: !env X", "f.yaml:5: spec.image: the YAML tag !env is not supported"},
		"complex key":   {head + "  [a]: x", "a key must be a plain word"},
		"infinite":      {head + "  image: .inf", "f.yaml:5: spec.image: is a number that cannot be written in JSON"},
		"merge of text": {head + "  <<: x", "only mappings can be merged"},
		"bomb":          {bomb, "too large or nested too deep"},
		"merge bomb":    {merges, "too large or nested too deep"},
		"cycle":         {"a: &a [*a]", "too large or nested too deep"},
		"deep":          {strings.Repeat("[", 60) + strings.Repeat("]", 60), "nested deeper"},
		"anchor":        {"a: *b", "unknown anchor"},
		"many":          {strings.Repeat("---\na: b\n", MaxDocuments+1), "more than 256 documents"},
	} {
		t.Run(name, func(t *testing.T) {
			docs, err := Parse("f.yaml", []byte(c.in))
			require.ErrorContains(t, err, c.want)
			require.Nil(t, docs)
		})
	}
	_, err := Read("f", strings.NewReader(strings.Repeat("#", MaxFileBytes+1)))
	require.ErrorContains(t, err, "larger than")
}

// TestExamples holds that every example is valid and minimal examples stay where the demo looks for them.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../examples/*.yaml")
	require.NoError(t, err)
	names := map[string]bool{}
	for _, file := range files {
		docs, err := ReadFile(file)
		require.NoError(t, err)
		names[filepath.Base(file)] = true
		for _, d := range docs {
			require.NoError(t, d.Validate(), file)
			_, err := d.Workload.Digest()
			require.NoError(t, err)
		}
	}
	for _, name := range []string{"container-minimal.yaml", "container-full.yaml", "vm-minimal.yaml", "vm-cloud-init.yaml", "job.yaml"} {
		require.True(t, names[name], name)
	}
	_, err = ReadFile("../../examples/none.yaml")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(two))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte(`{"kind":"VM"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		docs, err := Parse("f", data)
		if err != nil {
			require.Nil(t, docs)
			return
		}
		require.NotEmpty(t, docs)
		for _, d := range docs {
			require.NotNil(t, d.Workload)
		}
	})
}
