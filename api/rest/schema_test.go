package rest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	v1 "github.com/berth-dev/berth/api/v1"
)

// quantities are the types that read as a string or a number.
var quantities = []reflect.Type{reflect.TypeFor[v1.Bytes](), reflect.TypeFor[v1.MilliCPU](), reflect.TypeFor[v1.Duration]()}

// schemaWalk compares Go types with schemas, each once.
type schemaWalk struct {
	t    *testing.T
	doc  *openapi3.T
	seen map[reflect.Type]bool
}

func TestTypesAndSchemasAreTheSame(t *testing.T) {
	doc := document(t)
	walk := schemaWalk{t: t, doc: doc, seen: map[reflect.Type]bool{}}
	for _, root := range []any{
		v1.ContainerSpec{},
		v1.VMSpec{},
		v1.View{},
		v1.Accepted{},
		v1.WorkloadList{},
		v1.HostList{},
		v1.ActionList{},
		v1.ActionView{},
		v1.EventList{},
		v1.Logs{},
		v1.Sweep{},
		v1.SweepSchedule{},
		v1.SweepScheduleChange{},
		v1.Health{},
		v1.Problem{},
	} {
		typ := reflect.TypeOf(root)
		ref := doc.Components.Schemas[typ.Name()]
		require.NotNil(t, ref, "the document has no schema %s", typ.Name())
		walk.compare(typ.Name(), typ, ref.Value)
	}
	handmade := []string{"Name", "Workload", "ContainerWorkload", "VMWorkload"}
	known := map[string]bool{}
	for typ := range walk.seen {
		known[typ.Name()] = true
	}
	for _, name := range handmade {
		known[name] = true
	}
	for name := range doc.Components.Schemas {
		require.True(t, known[name], "the schema %s belongs to no type", name)
	}
}

func (w schemaWalk) compare(at string, typ reflect.Type, schema *openapi3.Schema) {
	w.t.Helper()
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if len(schema.AllOf) == 1 {
		schema = schema.AllOf[0].Value
	}
	if typ.PkgPath() != "" && typ != reflect.TypeFor[time.Time]() {
		named := w.doc.Components.Schemas[typ.Name()]
		require.NotNil(w.t, named, "%s: the document has no schema %s", at, typ.Name())
		require.Same(w.t, named.Value, schema, "%s should refer to the schema %s", at, typ.Name())
		if w.seen[typ] {
			return
		}
		w.seen[typ] = true
	}
	for _, quantity := range quantities {
		if typ == quantity {
			require.Len(w.t, schema.OneOf, 2, at)
			return
		}
	}
	w.compareKind(at, typ, schema)
}

func (w schemaWalk) compareKind(at string, typ reflect.Type, schema *openapi3.Schema) {
	w.t.Helper()
	is := func(want string) { require.True(w.t, schema.Type.Is(want), "%s should be of type %s", at, want) }
	switch typ.Kind() {
	case reflect.Bool:
		is("boolean")
	case reflect.Int, reflect.Int64:
		is("integer")
	case reflect.String:
		is("string")
	case reflect.Slice:
		is("array")
		w.compare(at+"[]", typ.Elem(), schema.Items.Value)
	case reflect.Map:
		is("object")
		w.compare(at+"{}", typ.Elem(), schema.AdditionalProperties.Schema.Value)
	case reflect.Interface:
		is("object")
	case reflect.Struct:
		if typ == reflect.TypeFor[time.Time]() {
			is("string")
			require.Equal(w.t, "date-time", schema.Format, at)
			return
		}
		is("object")
		names := w.fields(at, typ, schema)
		for name := range schema.Properties {
			require.True(w.t, names[name], "%s.%s is in the document only", at, name)
		}
	default:
		require.Fail(w.t, "a kind of field that this test does not know", "%s is %s", at, typ)
	}
}

func (w schemaWalk) fields(at string, typ reflect.Type, schema *openapi3.Schema) map[string]bool {
	w.t.Helper()
	names := map[string]bool{}
	for i := range typ.NumField() {
		f := typ.Field(i)
		if f.Anonymous {
			for name := range w.fields(at, f.Type, schema) {
				names[name] = true
			}
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		names[name] = true
		property := schema.Properties[name]
		require.NotNil(w.t, property, "%s.%s is not in the document", at, name)
		optional := strings.Contains(options, "omit")
		require.NotEqual(w.t, optional, slices.Contains(schema.Required, name), "%s.%s: required in one of document and type only", at, name)
		w.compare(at+"."+name, f.Type, property.Value)
	}
	return names
}

func TestExamplesFitTheSchema(t *testing.T) {
	doc := document(t)
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		asJSON, err := yaml.YAMLToJSONStrict(data)
		require.NoError(t, err)
		var value any
		require.NoError(t, json.Unmarshal(asJSON, &value))
		require.NoError(t, doc.Components.Schemas["Workload"].Value.VisitJSON(value), file)
	}
}
