package v1

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"time"
)

// Bytes is a size in bytes. It reads as people write it: a number, or a string with a decimal (k, M, G, T, P) or binary
// (Ki, Mi, Gi, Ti, Pi) suffix, an optional "B" after it, in the way of Kubernetes' quantities. "K" is refused: some mean
// 1000 by it and some 1024.
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
	"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "Pi": 1 << 50,
}

var cpuUnits = map[string]int64{"": 1000, "m": 1}

var secondUnits = map[string]int64{"": int64(time.Second)}

var errTooLarge = errors.New("it is too large")

// maxQuantityDigits bounds the work that a quantity can make; no int64 needs more.
const maxQuantityDigits = 32

// ParseBytes reads a size such as "512Mi", "2G", "1.5GiB" or "1048576". A fraction must come out as whole bytes.
func ParseBytes(s string) (Bytes, error) {
	number, suffix := splitQuantity(s)
	n, err := scaled(number, strings.TrimSuffix(suffix, "B"), byteUnits)
	if err != nil {
		return 0, fmt.Errorf("%q is not a size such as 512Mi or 2Gi: %w", clip(s, 40), err)
	}
	return Bytes(n), nil
}

// ParseCPU reads an amount of CPU such as "2", "0.5" or "500m". The smallest amount is one thousandth of a core.
func ParseCPU(s string) (MilliCPU, error) {
	number, suffix := splitQuantity(s)
	n, err := scaled(number, suffix, cpuUnits)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number of cores such as 2, 0.5 or 500m: %w", clip(s, 40), err)
	}
	return MilliCPU(n), nil
}

// maxDuration is the longest time that Duration can hold, in whole years.
const maxDuration = "292 years"

// durationShape is what Go reads as a duration, if it is not too long.
var durationShape = regexp.MustCompile(`^-?(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$`)

// ParseDuration reads a length of time such as "1m30s", or a number of seconds such as "90" or "0.5".
func ParseDuration(s string) (Duration, error) {
	t := strings.TrimSpace(s)
	if v, err := time.ParseDuration(t); err == nil {
		return Duration(v), nil
	}
	number, suffix := splitQuantity(t)
	n, err := scaled(number, suffix, secondUnits)
	switch {
	case err == nil:
		return Duration(n), nil
	case errors.Is(err, errTooLarge) || durationShape.MatchString(t):
		return 0, fmt.Errorf("%q is too long: the longest duration is %s", clip(s, 40), maxDuration)
	default:
		return 0, fmt.Errorf("%q is not a duration such as 30s, 5m or 24h", clip(s, 40))
	}
}

// splitQuantity separates a number from the suffix behind it.
func splitQuantity(s string) (number, suffix string) {
	t := strings.TrimSpace(s)
	end := strings.IndexFunc(t, func(r rune) bool { return (r < '0' || r > '9') && r != '.' && r != '-' })
	if end < 0 {
		return t, ""
	}
	return t[:end], strings.TrimSpace(t[end:])
}

// scaled multiplies a decimal number by its unit, exactly: no floating point, no overflow.
func scaled(number, suffix string, units map[string]int64) (int64, error) {
	digits := strings.TrimPrefix(number, "-")
	whole, fraction, dot := strings.Cut(digits, ".")
	switch {
	case !allDigits(whole+fraction) || whole == "" || (dot && fraction == ""):
		return 0, errors.New("the number cannot be read")
	case len(digits) > maxQuantityDigits:
		return 0, errors.New("it has too many digits")
	}
	unit, known := units[suffix]
	if !known {
		return 0, errors.New("the unit is not known")
	}
	r, ok := new(big.Rat).SetString(number)
	if !ok {
		return 0, errors.New("the number cannot be read")
	}
	r.Mul(r, new(big.Rat).SetInt64(unit))
	if !r.IsInt() {
		return 0, errors.New("it is no whole number of the smallest unit")
	}
	if !r.Num().IsInt64() {
		return 0, errTooLarge
	}
	return r.Num().Int64(), nil
}

func allDigits(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
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
func (b *Bytes) UnmarshalJSON(data []byte) error { return unmarshalQuantity(data, b, ParseBytes) }

// UnmarshalJSON reads a number of cores or a string.
func (c *MilliCPU) UnmarshalJSON(data []byte) error { return unmarshalQuantity(data, c, ParseCPU) }

// UnmarshalJSON reads a Go duration or a number of seconds.
func (d *Duration) UnmarshalJSON(data []byte) error { return unmarshalQuantity(data, d, ParseDuration) }

// unmarshalQuantity reads a JSON string's content or a number's text. As everywhere in JSON, null changes nothing.
func unmarshalQuantity[Q any](data []byte, to *Q, parse func(string) (Q, error)) error {
	text := string(data)
	if text == "null" {
		return nil
	}
	if strings.HasPrefix(text, `"`) {
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
	}
	q, err := parse(text)
	if err != nil {
		return err
	}
	*to = q
	return nil
}
