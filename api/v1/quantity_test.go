package v1

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseBytes(t *testing.T) {
	for in, want := range map[string]Bytes{
		"0": 0, "1048576": 1 << 20, "512Mi": 512 << 20, "512MiB": 512 << 20, "2G": 2e9, "2GB": 2e9, "1.5Gi": 3 << 29,
		" 10 k ": 10_000, "1B": 1, "010": 10, "-1": -1, "0.5Ki": 512, "7Pi": 7 << 50, "9223372036854775807": math.MaxInt64,
		"-8192Pi": math.MinInt64,
	} {
		got, err := ParseBytes(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got, in)
	}
}

func TestParseBytesRefuses(t *testing.T) {
	for _, in := range []string{
		"", " ", ".", "-", "1.", ".5", "--5", "-", "5-3", "+5", "1e3", "1e999999999", "0x10", "0b1", "1_000", "1/2", "1.5B", "1.5",
		"1..5", "1.2.3", "5K", "5KB", "5m", "5BB", "5iB", "5 MiBs", "NaN", "Inf", "٣", "8Ei", "9223372036854775808",
		"10000Pi", strings.Repeat("9", 33), strings.Repeat("9", 1<<20), "0." + strings.Repeat("0", 1<<20), "{}", "true",
	} {
		_, err := ParseBytes(in)
		require.Error(t, err, clip(in, 40))
		require.Less(t, len(err.Error()), 200)
	}
}

func TestParseCPU(t *testing.T) {
	for in, want := range map[string]MilliCPU{"2": 2000, "0.5": 500, "500m": 500, "0.001": 1, "1.50": 1500, "0": 0, "-1": -1000} {
		got, err := ParseCPU(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got, in)
	}
	for _, in := range []string{"", "0.0001", "1.5m", "m", "1M", "1k", "2 cores", "1e3", "9223372036854775807"} {
		_, err := ParseCPU(in)
		require.Error(t, err, in)
	}
}

func TestParseDuration(t *testing.T) {
	for in, want := range map[string]time.Duration{"1m30s": 90 * time.Second, "30": 30 * time.Second, "0.5": 500 * time.Millisecond, "0": 0} {
		got, err := ParseDuration(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got.D(), in)
	}
	for _, in := range []string{"", "1d", "soon", "1e3", "5 m", "0.0000000001"} {
		_, err := ParseDuration(in)
		require.ErrorContains(t, err, "is not a duration", in)
	}
	for _, in := range []string{"99999999999", "9999999h", "-9999999h", "2562047h99999m"} {
		_, err := ParseDuration(in)
		require.ErrorContains(t, err, "is too long: the longest duration is 292 years", in)
	}
}

func TestQuantitiesInJSON(t *testing.T) {
	var v struct {
		B Bytes
		C MilliCPU
		D Duration
	}
	require.NoError(t, json.Unmarshal([]byte(`{"B":"1Gi","C":0.25,"D":90}`), &v))
	require.Equal(t, Bytes(1<<30), v.B)
	require.Equal(t, MilliCPU(250), v.C)
	require.Equal(t, 90*time.Second, v.D.D())
	out, err := json.Marshal(v)
	require.NoError(t, err)
	require.JSONEq(t, `{"B":"1Gi","C":"250m","D":"1m30s"}`, string(out))

	require.NoError(t, json.Unmarshal([]byte(`{"B":null,"C":null,"D":null}`), &v))
	require.Equal(t, Bytes(1<<30), v.B, "null changes nothing")
	for _, in := range []string{`{"B":{}}`, `{"B":[]}`, `{"B":true}`, `{"C":"x"}`, `{"D":false}`} {
		require.Error(t, json.Unmarshal([]byte(in), &v), in)
	}
}

func FuzzParseBytes(f *testing.F) {
	for _, seed := range []string{"512Mi", "1.5GiB", "-1", "1e9", "9223372036854775807", "0.000001P", "--5", "8Ei"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b, err := ParseBytes(s)
		if err != nil {
			require.Less(t, len(err.Error()), 400)
			return
		}
		again, err := ParseBytes(b.String())
		require.NoError(t, err)
		require.Equal(t, b, again)
	})
}

func FuzzParseCPU(f *testing.F) {
	for _, seed := range []string{"2", "0.5", "500m", "-0.001", "1e9"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := ParseCPU(s)
		if err != nil {
			return
		}
		again, err := ParseCPU(c.String())
		require.NoError(t, err)
		require.Equal(t, c, again)
	})
}

func FuzzParseDuration(f *testing.F) {
	for _, seed := range []string{"1m30s", "90", "0.5", "-1h", "1d", "9223372036854775807ns"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDuration(s)
		if err != nil {
			return
		}
		again, err := ParseDuration(d.String())
		require.NoError(t, err)
		require.Equal(t, d, again)
	})
}
