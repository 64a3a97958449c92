package v1

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"time"
)

// Bytes is a size in bytes. It reads as people write it: a number, or a string with a decimal (k, M, G, T, P) or binary
// (Ki, Mi, Gi, Ti, Pi) suffix, an optional "B" after it, in the way of Kubernetes' quantities.
type Bytes int64

// MilliCPU is an amount of CPU in thousandths of a core. It reads as a number of cores (0.5, "2") or with the suffix m
// ("500m").
type MilliCPU int64

// Duration is a length of time. It reads as Go writes it ("1m30s") or as a number of seconds.
type Duration time.Duration

// D returns the duration as the standard library has it.
func (d Duration) D() time.Duration { return time.Duration(d) }

var byteUnits = map[string]int64{
	"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15,
	"K": 1 << 10, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "Pi": 1 << 50,
}

// ParseBytes reads a size such as "512Mi", "2G", "1.5GiB" or "1048576". A fraction must come out as whole bytes.
func ParseBytes(s string) (Bytes, error) {
	n, err := scaled(s, byteUnits, true)
	return Bytes(n), err
}

// ParseCPU reads an amount of CPU such as "2", "0.5" or "500m". The smallest amount is one thousandth of a core.
func ParseCPU(s string) (MilliCPU, error) {
	n, err := scaled(s, map[string]int64{"": 1000, "m": 1}, false)
	return MilliCPU(n), err
}

// scaled reads a decimal number with one of the units' suffixes, exactly: no floating point, no overflow.
func scaled(s string, units map[string]int64, trailingB bool) (int64, error) {
	t := strings.TrimSpace(s)
	end := strings.IndexFunc(t, func(r rune) bool { return (r < '0' || r > '9') && r != '.' && r != '-' })
	if end < 0 {
		end = len(t)
	}
	number, suffix := t[:end], strings.TrimSpace(t[end:])
	if trailingB && suffix != "B" {
		suffix = strings.TrimSuffix(suffix, "B")
	} else if trailingB {
		suffix = ""
	}
	unit, known := units[suffix]
	if !known {
		return 0, fmt.Errorf("%q has an unknown suffix", s)
	}
	r, ok := new(big.Rat).SetString(number)
	if !ok || len(number) > 32 {
		return 0, fmt.Errorf("%q is not a quantity", s)
	}
	r.Mul(r, new(big.Rat).SetInt64(unit))
	if !r.IsInt() || !r.Num().IsInt64() {
		return 0, fmt.Errorf("%q is not a whole number of the smallest unit, or is too large", s)
	}
	return r.Num().Int64(), nil
}

// String writes the size with the largest binary suffix that divides it.
func (b Bytes) String() string {
	for _, u := range []string{"Pi", "Ti", "Gi", "Mi", "Ki"} {
		if n := byteUnits[u]; b != 0 && int64(b)%n == 0 {
			return fmt.Sprintf("%d%s", int64(b)/n, u)
		}
	}
	return fmt.Sprintf("%d", int64(b))
}

// String writes whole cores as a number, else thousandths with the suffix m.
func (c MilliCPU) String() string {
	if c%1000 == 0 {
		return fmt.Sprintf("%d", int64(c)/1000)
	}
	return fmt.Sprintf("%dm", int64(c))
}

// String writes the duration as Go does.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalJSON writes the size as a string that people read.
func (b Bytes) MarshalJSON() ([]byte, error) { return json.Marshal(b.String()) }

// MarshalJSON writes the amount as a string that people read.
func (c MilliCPU) MarshalJSON() ([]byte, error) { return json.Marshal(c.String()) }

// MarshalJSON writes the duration as Go does.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON reads a number of bytes or a string.
func (b *Bytes) UnmarshalJSON(data []byte) (err error) {
	*b, err = ParseBytes(scalar(data))
	return err
}

// UnmarshalJSON reads a number of cores or a string.
func (c *MilliCPU) UnmarshalJSON(data []byte) (err error) {
	*c, err = ParseCPU(scalar(data))
	return err
}

// UnmarshalJSON reads a Go duration or a number of seconds.
func (d *Duration) UnmarshalJSON(data []byte) error {
	s := scalar(data)
	if v, err := time.ParseDuration(s); err == nil {
		*d = Duration(v)
		return nil
	}
	n, err := scaled(s, map[string]int64{"": int64(time.Second)}, false)
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 30s or 5m", s)
	}
	*d = Duration(n)
	return nil
}

// scalar returns a JSON string's content, or any other value's text.
func scalar(data []byte) string {
	var s string
	if json.Unmarshal(data, &s) == nil {
		return s
	}
	return string(data)
}
