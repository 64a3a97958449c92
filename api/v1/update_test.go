package v1

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheckUpdateRefuses(t *testing.T) {
	const kept = "cannot be changed, as an apply never makes a disk anew"
	for _, c := range []struct {
		name   string
		change func(w *Workload)
		want   []string
	}{
		{"kind", func(w *Workload) { *w = *minimalContainer() }, []string{"kind: is VM and cannot be changed"}},
		{"type", func(w *Workload) { w.VM.Type = TypeJob }, []string{"spec.type: is service and cannot be changed"}},
		{"url", func(w *Workload) { w.VM.Disks[0].Image.URL = "http://h/x" }, []string{"spec.disks[0].image.url: " + kept}},
		{"checksum", func(w *Workload) { w.VM.Disks[0].Image.Checksum = "sha256:" + strings.Repeat("1", 64) }, []string{"spec.disks[0].image.checksum: " + kept}},
		{"image format", func(w *Workload) { w.VM.Disks[0].Image.Format = "" }, []string{"spec.disks[0].image.format: " + kept}},
		{"mode", func(w *Workload) { w.VM.Disks[0].Mode = "" }, []string{"spec.disks[0].mode: " + kept}},
		{"shrunk", func(w *Workload) { w.VM.Disks[0].Size = 9 << 30 }, []string{"spec.disks[0].size: is 10Gi and cannot shrink"}},
		{"size left out", func(w *Workload) { w.VM.Disks[0].Size = 0 }, []string{"spec.disks[0].size: is 10Gi and cannot shrink"}},
		{"blank's format", func(w *Workload) { w.VM.Disks[2].Format = FormatRaw }, []string{"spec.disks[2].format: " + kept}},
		{"blank from image", func(w *Workload) { w.VM.Disks[2].Image = &DiskImage{Path: "/x"} }, []string{"spec.disks[2].image: " + kept}},
		{"path", func(w *Workload) { w.VM.Disks[3].Path = "/srv/other.raw" }, []string{"spec.disks[3].path: " + kept}},
		{"managed disk left out", func(w *Workload) { w.VM.Disks = w.VM.Disks[1:] }, []string{`spec.disks: disk "root" cannot be left out`}},
		{
			"two", func(w *Workload) { w.VM.Disks[0].Mode, w.VM.Type = "", TypeJob },
			[]string{"spec.disks[0].mode: " + kept, "spec.type: is service"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			updated := fullVM()
			c.change(updated)
			err := CheckUpdate(fullVM(), updated)
			texts := fieldErrors(t, err)
			require.Len(t, texts, len(c.want), "%q", texts)
			for i, want := range c.want {
				require.Contains(t, texts[i], want)
			}
			var fields FieldErrors
			require.ErrorAs(t, err, &fields)
			require.Equal(t, ReasonImmutable, fields.Reason())
		})
	}
}

func TestCheckUpdateAllows(t *testing.T) {
	for name, change := range map[string]func(v *VMSpec){
		"nothing":           func(*VMSpec) {},
		"growing":           func(v *VMSpec) { v.Disks[0].Size = 20 << 30 },
		"new disk in front": func(v *VMSpec) { v.Disks = append([]Disk{{Name: "new", Size: 1 << 30}}, v.Disks...) },
		"detaching":         func(v *VMSpec) { v.Disks = v.Disks[:3] },
		"default left out":  func(v *VMSpec) { v.Disks[2].Format, v.Type = "", "" },
		"checksum case":     func(v *VMSpec) { v.Disks[0].Image.Checksum = strings.ToUpper(v.Disks[0].Image.Checksum) },
		"checksum left out": func(v *VMSpec) { v.Disks[0].Image.Checksum = "" },
		"read-only":         func(v *VMSpec) { v.Disks[0].ReadOnly = false },
		"everything else":   func(v *VMSpec) { v.VCPUs, v.Networks, v.CloudInit, v.Firmware = 8, nil, nil, FirmwareBIOS },
	} {
		updated := fullVM()
		change(updated.VM)
		require.NoError(t, CheckUpdate(fullVM(), updated), name)
	}
	container := fullContainer()
	container.Container.Volumes = nil
	require.NoError(t, CheckUpdate(fullContainer(), container))
	require.NoError(t, CheckUpdate(nil, container))
}

func TestDigest(t *testing.T) {
	digest := func(w *Workload) string {
		d, err := w.Digest()
		require.NoError(t, err)
		return d
	}
	for name, w := range fixtures() {
		before := w.Clone()
		d := digest(w)
		require.Equal(t, before, w, name)
		require.Regexp(t, `^[0-9a-f]{64}$`, d)
		w.Default()
		require.Equal(t, d, digest(w), "defaults change no digest")
		var again Workload
		require.NoError(t, json.Unmarshal([]byte(mustJSON(t, w)), &again))
		require.Equal(t, d, digest(&again), name)
		again.Metadata.Name = "other"
		require.Equal(t, d, digest(&again), "the name is not part of it")
		again.Metadata.Labels = map[string]string{"new": ""}
		require.NotEqual(t, d, digest(&again), "labels are part of it")
	}
	a, b := minimalContainer(), minimalContainer()
	b.Container.Args = []string{"x"}
	require.NotEqual(t, digest(a), digest(b))

	empty := minimalContainer()
	empty.Container.Env, empty.Container.Ports = map[string]string{}, []Port{}
	require.Equal(t, digest(a), digest(empty))
}

// TestDigestIsStable holds the digests of released versions: if they change, every workload is deployed again by its next
// apply. A changed default may do so, a moved field may not.
func TestDigestIsStable(t *testing.T) {
	for name, want := range map[string]string{
		"full container":    "8475988d1334865d5150f99367bcf8bfabfedffdbf896353bef64c158ca2d82f",
		"full vm":           "41daa3cc8cd884e8bd4b09683674b872e1d49704a1ba7acf2ca1ba2f234c19b8",
		"minimal container": "6efaec439504208ccd5e4c8a8fbe435563a0a57ccfad989e96977c5828b59834",
		"minimal vm":        "c76bc35b44fc9848c4471ce081d5926a6a14d02a34bf07799219a4d97c1089e4",
	} {
		got, err := fixtures()[name].Digest()
		require.NoError(t, err)
		require.Equal(t, want, got, name)
	}
}

func TestRedacted(t *testing.T) {
	for name, w := range fixtures() {
		before := w.Clone()
		r := w.Redacted()
		require.NotContains(t, mustJSON(t, r), "s3cret", name)
		require.Equal(t, before, w, name)
		require.Equal(t, before.Metadata, r.Metadata)
	}
	c := fullContainer().Redacted()
	require.Equal(t, map[string]string{"TOKEN": "(redacted)", "EMPTY": "(redacted)"}, c.Container.Env)
	v := fullVM().Redacted()
	require.Equal(t, "https://images.example.com/base.qcow2?redacted", v.VM.Disks[0].Image.URL)
	require.Equal(t, "(redacted)", v.VM.CloudInit.NetworkConfig)
	require.Equal(t, Workload{}, (*Workload)(nil).Redacted())
	for in, want := range map[string]string{
		"": "", "file:///x": "file:///x", "http://u:p@h/x#f": "http://redacted@h/x", "http://[::1/x": "(redacted)", "a:b": "(redacted)",
	} {
		require.Equal(t, want, RedactURL(in), in)
	}
}

func TestDefaults(t *testing.T) {
	c := minimalContainer()
	c.Container.Ports = []Port{{Container: 80}}
	c.Container.Devices = []Device{{Host: "/dev/null"}}
	c.Container.HealthCheck = &HealthCheck{Command: []string{"true"}}
	c.Default()
	require.JSONEq(t, `{"type":"service","restart":{"policy":"always"},"stopGracePeriod":"10s","image":"nginx:1.27","pull":"missing",
		"ports":[{"container":80,"protocol":"tcp"}],"devices":[{"host":"/dev/null","container":"/dev/null","permissions":"rwm"}],
		"healthCheck":{"command":["true"],"interval":"10s","timeout":"10s","retries":3,"readyTimeout":"5m0s"}}`, mustJSON(t, c.Container))

	v := minimalVM()
	v.VM.Type = TypeJob
	v.VM.Disks = append(v.VM.Disks, Disk{Name: "data", Size: 1 << 30}, Disk{Name: "own", Path: "/x"})
	v.VM.Disks[0].Image.Checksum = "SHA256:AB"
	v.VM.Networks = []Network{{Network: "default", MAC: "52-54-00-12-34-AB"}, {Bridge: "br0", MAC: "x"}}
	v.Default()
	require.JSONEq(t, `{"type":"job","job":{"maxAttempts":1},"restart":{"policy":"no"},"stopGracePeriod":"1m0s","vcpus":1,"memory":"256Mi",
		"disks":[{"name":"root","image":{"path":"/var/lib/images/base.qcow2","checksum":"sha256:ab","format":"qcow2"},"mode":"overlay"},
			{"name":"data","size":"1Gi","format":"qcow2"},{"name":"own","path":"/x"}],
		"networks":[{"network":"default","mac":"52:54:00:12:34:ab"},{"bridge":"br0","mac":"x"}],
		"firmware":"bios","bootTimeout":"5m0s","readiness":{"when":"running"}}`, mustJSON(t, v.VM))

	empty := new(Workload)
	empty.Default()
	require.Equal(t, &Workload{APIVersion: APIVersion}, empty)
}
