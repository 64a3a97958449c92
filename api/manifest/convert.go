package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"gopkg.in/yaml.v3"

	v1 "github.com/berth-dev/berth/api/v1"
)

const (
	// maxNodes and maxDepth bound what aliases can make of a small file.
	maxNodes = 100_000
	maxDepth = 40
)

// convert writes a YAML document as JSON: duplicate keys stay, so that the strict decoder tells them, and what YAML 1.1
// takes for booleans (no, on) stays a string, so that a restart policy of no needs no quotes. It also returns the line of
// each path. An error is v1.FieldErrors.
func convert(root *yaml.Node) ([]byte, map[v1.Path]int, error) {
	c := converter{lines: map[v1.Path]int{}}
	if err := c.value("", root.Content[0], 0); err != nil {
		return nil, c.lines, err
	}
	return c.out.Bytes(), c.lines, nil
}

type converter struct {
	out   bytes.Buffer
	lines map[v1.Path]int
	nodes int
}

func mistake(p v1.Path, format string, args ...any) error {
	return v1.FieldErrors{{Path: p, Reason: v1.ReasonInvalid, Message: fmt.Sprintf(format, args...)}}
}

func (c *converter) value(p v1.Path, n *yaml.Node, depth int) error {
	if _, known := c.lines[p]; !known {
		c.lines[p] = n.Line
	}
	if err := c.bound(p, depth); err != nil {
		return err
	}
	switch n.Kind {
	case yaml.AliasNode:
		return c.value(p, n.Alias, depth+1)
	case yaml.MappingNode:
		return c.mapping(p, n, depth)
	case yaml.SequenceNode:
		c.out.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				c.out.WriteByte(',')
			}
			if err := c.value(p.Index(i), item, depth+1); err != nil {
				return err
			}
		}
		c.out.WriteByte(']')
		return nil
	case yaml.ScalarNode:
		return c.scalar(p, n)
	case yaml.DocumentNode:
		return mistake(p, "a document cannot stand within a document")
	default:
		return mistake(p, "this kind of YAML is not supported")
	}
}

func (c *converter) bound(p v1.Path, depth int) error {
	c.nodes++
	if c.nodes > maxNodes || c.out.Len() > v1.MaxDocumentBytes || depth > maxDepth {
		return mistake(p, "the document is too large or nested too deep, with its aliases written out")
	}
	return nil
}

func (c *converter) mapping(p v1.Path, n *yaml.Node, depth int) error {
	entries, err := c.entries(p, n, depth)
	if err != nil {
		return err
	}
	c.out.WriteByte('{')
	for i := 0; i < len(entries); i += 2 {
		if i > 0 {
			c.out.WriteByte(',')
		}
		key := entries[i].Value
		c.text(key)
		c.out.WriteByte(':')
		at := p.Key(key)
		c.lines[at] = entries[i].Line // of a duplicate, the last
		if err := c.value(at, entries[i+1], depth+1); err != nil {
			return err
		}
	}
	c.out.WriteByte('}')
	return nil
}

// entries returns a mapping's keys and values in turns, with merge keys ("<<") written out behind its own.
func (c *converter) entries(p v1.Path, n *yaml.Node, depth int) ([]*yaml.Node, error) {
	if err := c.bound(p, depth); err != nil {
		return nil, err
	}
	var own, merged []*yaml.Node
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		switch {
		case key.Kind != yaml.ScalarNode:
			return nil, mistake(p, "line %d: a key must be a plain word", key.Line)
		case key.ShortTag() == "!!merge":
			more, err := c.merge(p, value, depth+1)
			if err != nil {
				return nil, err
			}
			merged = append(merged, more...)
		default:
			own = append(own, key, value)
		}
	}
	seen := map[string]bool{}
	for i := 0; i < len(own); i += 2 {
		seen[own[i].Value] = true
	}
	for i := 0; i < len(merged); i += 2 {
		if !seen[merged[i].Value] {
			seen[merged[i].Value] = true
			own = append(own, merged[i], merged[i+1])
		}
	}
	return own, nil
}

func (c *converter) merge(p v1.Path, n *yaml.Node, depth int) ([]*yaml.Node, error) {
	switch n.Kind {
	case yaml.AliasNode:
		if err := c.bound(p, depth); err != nil {
			return nil, err
		}
		return c.merge(p, n.Alias, depth+1)
	case yaml.MappingNode:
		return c.entries(p, n, depth)
	case yaml.SequenceNode:
		var all []*yaml.Node
		for _, item := range n.Content {
			more, err := c.merge(p, item, depth+1)
			if err != nil {
				return nil, err
			}
			if all = append(all, more...); len(all) > maxNodes {
				return nil, c.bound(p, maxDepth+1)
			}
		}
		return all, nil
	case yaml.DocumentNode, yaml.ScalarNode:
		return nil, mistake(p, "line %d: only mappings can be merged", n.Line)
	default:
		return nil, mistake(p, "line %d: only mappings can be merged", n.Line)
	}
}

// scalar never tells the value: it may be secret.
func (c *converter) scalar(p v1.Path, n *yaml.Node) error {
	switch tag := n.ShortTag(); tag {
	case "!!str", "!!timestamp", "!!merge":
		c.text(n.Value)
		return nil
	case "!!null":
		c.out.WriteString("null")
		return nil
	case "!!bool":
		var b bool
		if n.Decode(&b) != nil {
			return mistake(p, "cannot be read as true or false")
		}
		c.out.WriteString(strconv.FormatBool(b))
		return nil
	case "!!int", "!!float":
		return c.number(p, n)
	default:
		return mistake(p, "the YAML tag %.40s is not supported", tag)
	}
}

// number keeps what JSON would write the same way; other notations (0x10, 1_000, .5) come as what they mean.
func (c *converter) number(p v1.Path, n *yaml.Node) error {
	if json.Valid([]byte(n.Value)) {
		c.out.WriteString(n.Value)
		return nil
	}
	var i int64
	if n.Decode(&i) == nil {
		c.out.WriteString(strconv.FormatInt(i, 10))
		return nil
	}
	var f float64
	if n.Decode(&f) != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return mistake(p, "is a number that cannot be written in JSON")
	}
	c.out.WriteString(strconv.FormatFloat(f, 'f', -1, 64))
	return nil
}

func (c *converter) text(s string) {
	quoted, _ := json.Marshal(s) // a string always marshals
	c.out.Write(quoted)
}
