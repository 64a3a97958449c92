package vm

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMarkComesBack(t *testing.T) {
	for name, m := range map[string]mark{
		"plain":    {Fleet: "prod", Host: "a", Workload: "web", Generation: 3, Fence: 1700000000001},
		"metadata": {Fleet: "prod", Host: "a", Workload: "web", Metadata: map[string]string{"owner": "team <b>&\"x\"", "b": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			element, err := m.element()
			require.NoError(t, err)
			// Others put elements of their own beside it, and libvirt formats as it likes.
			got, ok, err := parseMark("<domain type='qemu'><name>x</name><metadata>\n <o:os xmlns:o='http://o'/>" + element + "\n</metadata></domain>")
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, m, got)
		})
	}
}

func TestNoMark(t *testing.T) {
	for name, text := range map[string]string{
		"no metadata":       "<domain><name>x</name></domain>",
		"others' metadata":  "<domain><metadata><x:workload xmlns:x='http://x' fleet='prod'/></metadata></domain>",
		"without namespace": "<domain><metadata><workload fleet='prod'/></metadata></domain>",
	} {
		t.Run(name, func(t *testing.T) {
			_, ok, err := parseMark(text)
			require.NoError(t, err)
			require.False(t, ok)
		})
	}
	_, _, err := parseMark("<domain><meta")
	require.Error(t, err)
}

func FuzzParseMark(f *testing.F) {
	element, err := mark{Fleet: "prod", Host: "a", Workload: "web", Metadata: map[string]string{"k": "v"}}.element()
	require.NoError(f, err)
	f.Add("<domain><metadata>" + element + "</metadata></domain>")
	f.Add("<domain><metadata></metadata><metadata/></domain>")
	f.Add("<domain><metadata>" + strings.Repeat("<a>", 50))
	f.Fuzz(func(t *testing.T, text string) {
		m, ok, err := parseMark(text)
		if err != nil || !ok {
			require.Equal(t, mark{}, m)
		}
	})
}
