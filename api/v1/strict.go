package v1

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// DecodeJSON reads what a user sends: one JSON object, at most MaxDocumentBytes long. Unknown fields, wrong types and
// duplicate keys are refused, all at once, each with its path; the error is FieldErrors. Keys are case-sensitive, and null
// is the same as absent, except in lists and maps. DecodeJSON neither fills in defaults nor validates.
func DecodeJSON(data []byte) (*Workload, error) {
	var m mistakes
	root := parseTree(&m, data)
	if root == nil {
		return nil, m.err()
	}
	d := strictDecoder{m: &m}
	var head struct {
		APIVersion string   `json:"apiVersion"`
		Kind       Kind     `json:"kind"`
		Metadata   Metadata `json:"metadata"`
		Spec       *node    `json:"spec"`
	}
	d.into("", root, reflect.ValueOf(&head).Elem())
	w := Workload{APIVersion: head.APIVersion, Kind: head.Kind, Metadata: head.Metadata}
	if root.kind == nodeObject {
		checkHead(&m, &w)
		if body := w.newBody(); body != nil {
			if head.Spec == nil {
				m.add("spec", "is required")
			} else {
				d.into("spec", head.Spec, reflect.ValueOf(body).Elem())
			}
		}
	}
	if err := m.err(); err != nil {
		return nil, err
	}
	return &w, nil
}

// strictDecoder sets Go values from a tree and tells all that does not fit.
type strictDecoder struct{ m *mistakes }

var treeType = reflect.TypeFor[*node]()

// into sets v, which is addressable, from n.
func (d strictDecoder) into(p Path, n *node, v reflect.Value) {
	if v.Type() == treeType {
		v.Set(reflect.ValueOf(n))
		return
	}
	if u, ok := v.Addr().Interface().(json.Unmarshaler); ok {
		d.quantity(p, n, u)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.into(p, n, v.Elem())
	case reflect.Struct:
		d.object(p, n, v)
	case reflect.Map:
		d.mapping(p, n, v)
	case reflect.Slice:
		d.list(p, n, v)
	case reflect.String:
		if d.want(p, n, nodeString) {
			v.SetString(n.text)
		}
	case reflect.Bool:
		if d.want(p, n, nodeBool) {
			v.SetBool(n.truth)
		}
	case reflect.Int, reflect.Int64:
		d.integer(p, n, v)
	default:
		panic(fmt.Sprintf("api/v1: a field of type %s cannot be decoded", v.Type()))
	}
}

// want tells a wrong type. The value is not told: it may be secret.
func (d strictDecoder) want(p Path, n *node, kind nodeKind) bool {
	if n.kind == kind {
		return true
	}
	hint := ""
	if kind == nodeString && (n.kind == nodeNumber || n.kind == nodeBool) {
		hint = ": put it in quotes"
	}
	d.m.add(p, "must be %s, not %s%s", kind, n.kind, hint)
	return false
}

func (d strictDecoder) quantity(p Path, n *node, u json.Unmarshaler) {
	raw := []byte(n.text)
	switch n.kind {
	case nodeNumber:
	case nodeString:
		raw, _ = json.Marshal(n.text) // a string always marshals
	case nodeObject, nodeList, nodeBool, nodeNull:
		d.m.add(p, "must be a number or a string, not %s", n.kind)
		return
	}
	if err := u.UnmarshalJSON(raw); err != nil {
		d.m.add(p, "%v", err)
	}
}

func (d strictDecoder) integer(p Path, n *node, v reflect.Value) {
	if !d.want(p, n, nodeNumber) {
		return
	}
	i, err := strconv.ParseInt(n.text, 10, 64)
	if err != nil || v.OverflowInt(i) {
		d.m.add(p, "must be a whole number")
		return
	}
	v.SetInt(i)
}

func (d strictDecoder) list(p Path, n *node, v reflect.Value) {
	if !d.want(p, n, nodeList) {
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.items), len(n.items)))
	for i, item := range n.items {
		if item.kind == nodeNull {
			d.m.add(p.Index(i), "must not be null")
			continue
		}
		d.into(p.Index(i), item, v.Index(i))
	}
}

func (d strictDecoder) mapping(p Path, n *node, v reflect.Value) {
	if !d.want(p, n, nodeObject) {
		return
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), len(n.members)))
	for _, entry := range n.members {
		if entry.value.kind == nodeNull {
			d.m.add(p.Key(entry.key), `must not be null: write "" for an empty value`)
			continue
		}
		value := reflect.New(v.Type().Elem()).Elem()
		d.into(p.Key(entry.key), entry.value, value)
		v.SetMapIndex(reflect.ValueOf(entry.key), value)
	}
}

func (d strictDecoder) object(p Path, n *node, v reflect.Value) {
	if !d.want(p, n, nodeObject) {
		return
	}
	names, fields := fieldsOf(v)
	for _, entry := range n.members {
		field, known := fields[entry.key]
		switch {
		case !known:
			d.m.add(p.Key(entry.key), "unknown field%s", hintFor(entry.key, names))
		case entry.value.kind != nodeNull:
			d.into(p.Key(entry.key), entry.value, field)
		}
	}
}

// fieldsOf returns a struct's fields by their JSON names, and the names in order. Embedded structs lie flat.
func fieldsOf(v reflect.Value) ([]string, map[string]reflect.Value) {
	var names []string
	fields := map[string]reflect.Value{}
	for _, f := range reflect.VisibleFields(v.Type()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "" || name == "-" {
			continue
		}
		names = append(names, name)
		fields[name] = v.FieldByIndex(f.Index)
	}
	return names, fields
}
