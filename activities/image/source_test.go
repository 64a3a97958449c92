package image

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func TestParseSource(t *testing.T) {
	hex64 := strings.Repeat("aB", 32)
	s, err := parseSource(v1.DiskImage{URL: "https://u:hunter1@example.com/a/b.qcow2?sig=hunter2#x", Checksum: "sha256:" + hex64})
	require.NoError(t, err)
	require.Equal(t, "b.qcow2", s.name)
	require.Equal(t, "https://example.com/a/b.qcow2", s.where)
	require.Equal(t, strings.ToLower(hex64), s.sum)
	require.Equal(t, v1.FormatQCOW2, s.format)

	other, err := parseSource(v1.DiskImage{URL: "https://u:hunter1@example.com/a/b.qcow2?sig=hunter3#x", Checksum: "sha256:" + hex64})
	require.NoError(t, err)
	require.NotEqual(t, s.key, other.key)

	local, err := parseSource(v1.DiskImage{URL: "file:///srv/a%20b.img", Format: v1.FormatRaw})
	require.NoError(t, err)
	require.Equal(t, "/srv/a b.img", local.path)
	require.Empty(t, local.url)
}

func TestParseSourceRefusals(t *testing.T) {
	tests := map[string]v1.DiskImage{
		"nothing":          {},
		"both":             {URL: "http://h/x", Path: "/x"},
		"ftp":              {URL: "ftp://hunter2@h/x"},
		"no host":          {URL: "http:///hunter2"},
		"unreadable":       {URL: "http://h/%zz?hunter2"},
		"file with a host": {URL: "file://hunter2/x"},
		"format":           {URL: "http://h/x", Format: "vmdk"},
		"algorithm":        {URL: "http://h/x", Checksum: "md5:00"},
		"short":            {URL: "http://h/x", Checksum: "sha256:00"},
		"no hex":           {URL: "http://h/x", Checksum: "sha256:" + strings.Repeat("zz", 32)},
		"wrong length":     {URL: "http://h/x", Checksum: "sha512:" + strings.Repeat("00", 32)},
	}
	for name, src := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := parseSource(src)
			require.Equal(t, v1.ReasonInvalid, contract.ReasonOf(err))
			require.NotContains(t, err.Error(), "hunter")
		})
	}
}

func TestContentRange(t *testing.T) {
	tests := []struct {
		value        string
		start, total int64
		ok           bool
	}{
		{"bytes 5-9/10", 5, 10, true},
		{"bytes 5-9/*", 5, 0, true},
		{"bytes */10", -1, 10, true},
		{"bytes 9-5/10", 0, 0, false},
		{"bytes 5-10/10", 0, 0, false},
		{"bytes -5-9/10", 0, 0, false},
		{"bytes 5-9/99999999999999999999", 0, 0, false},
		{"items 5-9/10", 0, 0, false},
		{"bytes 5-9", 0, 0, false},
		{"", 0, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.value, func(t *testing.T) {
			start, total, ok := contentRange(tt.value)
			require.Equal(t, tt.ok, ok)
			if ok {
				require.Equal(t, tt.start, start)
				require.Equal(t, tt.total, total)
			}
		})
	}
}

func FuzzContentRange(f *testing.F) {
	for _, seed := range []string{"bytes 0-0/1", "bytes */5", "bytes 5-9/*", "bytes 18446744073709551615-1/2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		start, total, ok := contentRange(value)
		if ok {
			require.GreaterOrEqual(t, start, int64(-1))
			require.GreaterOrEqual(t, total, int64(0))
		}
	})
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	tests := map[string]time.Duration{
		"":        0,
		"soon":    0,
		"-5":      0,
		"30":      30 * time.Second,
		"9999999": maxRetryAfter,
		now.Add(time.Minute).Format(http.TimeFormat):  time.Minute,
		now.Add(-time.Minute).Format(http.TimeFormat): 0,
	}
	for value, want := range tests {
		require.Equal(t, want, retryAfter(value, now), value)
	}
}

func TestValidatorIsStrong(t *testing.T) {
	require.Equal(t, `"a"`, validator(`"a"`, "date"))
	require.Equal(t, "date", validator(`W/"a"`, "date"))
	require.Empty(t, validator(`W/"a"`, ""))
}
