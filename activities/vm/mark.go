package vm

import (
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"time"

	"libvirt.org/go/libvirtxml"
)

// markNamespace is the XML namespace of Berth's element in a domain's metadata.
const markNamespace = "https://berth.dev/xmlns/domain/1"

// mark says for whom a domain was made. A domain without this host's mark is never touched.
type mark struct {
	Fleet      string
	Host       string
	Workload   string
	Generation int64
	Fence      int64
	// Spec is the digest of what it was made from. Generations count from one again after a workload was removed by force.
	Spec string
	// Made is when it was defined, by the host's clock; zero if that is not known.
	Made time.Time
	// Metadata is the user's, for tools on the host.
	Metadata map[string]string
}

// The element is written with a prefix and read by its namespace, which encoding/xml has no single form for.
type markOut struct {
	XMLName    xml.Name   `xml:"berth:workload"`
	Namespace  string     `xml:"xmlns:berth,attr"`
	Fleet      string     `xml:"fleet,attr"`
	Host       string     `xml:"host,attr"`
	Name       string     `xml:"name,attr"`
	Generation int64      `xml:"generation,attr"`
	Fence      int64      `xml:"fence,attr"`
	Spec       string     `xml:"spec,attr"`
	Made       int64      `xml:"made,attr,omitempty"`
	Entries    []entryOut `xml:"berth:entry"`
}

type entryOut struct {
	Key   string `xml:"key,attr"`
	Value string `xml:",chardata"`
}

type markIn struct {
	Workload *struct {
		Fleet      string     `xml:"fleet,attr"`
		Host       string     `xml:"host,attr"`
		Name       string     `xml:"name,attr"`
		Generation int64      `xml:"generation,attr"`
		Fence      int64      `xml:"fence,attr"`
		Spec       string     `xml:"spec,attr"`
		Made       int64      `xml:"made,attr"`
		Entries    []entryOut `xml:"https://berth.dev/xmlns/domain/1 entry"`
	} `xml:"https://berth.dev/xmlns/domain/1 workload"`
}

func (m mark) element() (string, error) {
	out := markOut{
		Namespace: markNamespace, Fleet: m.Fleet, Host: m.Host, Name: m.Workload, Generation: m.Generation, Fence: m.Fence, Spec: m.Spec,
	}
	if !m.Made.IsZero() {
		out.Made = m.Made.Unix()
	}
	for _, key := range slices.Sorted(maps.Keys(m.Metadata)) {
		out.Entries = append(out.Entries, entryOut{key, m.Metadata[key]})
	}
	text, err := xml.Marshal(out)
	return string(text), err
}

// parseMark finds the mark in a domain's definition; ok is false if there is none.
func parseMark(domainXML string) (m mark, ok bool, err error) {
	var def libvirtxml.Domain
	if err := xml.Unmarshal([]byte(domainXML), &def); err != nil {
		return mark{}, false, fmt.Errorf("read the domain's definition: %w", err)
	}
	if def.Metadata == nil {
		return mark{}, false, nil
	}
	var in markIn
	if err := xml.Unmarshal([]byte("<metadata>"+def.Metadata.XML+"</metadata>"), &in); err != nil {
		return mark{}, false, fmt.Errorf("read the domain's metadata: %w", err)
	}
	if in.Workload == nil {
		return mark{}, false, nil
	}
	w := in.Workload
	m = mark{Fleet: w.Fleet, Host: w.Host, Workload: w.Name, Generation: w.Generation, Fence: w.Fence, Spec: w.Spec}
	if w.Made != 0 {
		m.Made = time.Unix(w.Made, 0)
	}
	for _, e := range w.Entries {
		if m.Metadata == nil {
			m.Metadata = map[string]string{}
		}
		m.Metadata[e.Key] = e.Value
	}
	return m, true, nil
}
