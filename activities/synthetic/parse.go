package synthetic

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-dev/berth/workflows/contract"
)

// steps are those that can be given a delay or a failure rate.
var steps = []contract.Step{
	contract.StepPrepare, contract.StepCreate, contract.StepStart, contract.StepAwaitReady, contract.StepStop,
	contract.StepRemove, contract.StepAcknowledge,
}

// ParseDelays reads how long steps take, from a step's name (in any case) to a duration.
func ParseDelays(pairs map[string]string) (map[contract.Step]time.Duration, error) {
	return parse(pairs, func(s string) (time.Duration, error) {
		d, err := time.ParseDuration(s)
		if err == nil && d < 0 {
			err = fmt.Errorf("%s is less than nothing", s)
		}
		return d, err
	})
}

// ParseFailures reads how often steps fail, from a step's name (in any case) to a rate from 0 to 1.
func ParseFailures(pairs map[string]string) (map[contract.Step]float64, error) {
	return parse(pairs, ParseRate)
}

// ParseRate reads a rate from 0 to 1.
func ParseRate(s string) (float64, error) {
	rate, err := strconv.ParseFloat(s, 64)
	if err != nil || !(rate >= 0 && rate <= 1) { // not a number is neither
		return 0, fmt.Errorf("%q is not a rate from 0 to 1", s)
	}
	return rate, nil
}

func parse[T any](pairs map[string]string, value func(string) (T, error)) (map[contract.Step]T, error) {
	out := make(map[contract.Step]T, len(pairs))
	for name, text := range pairs {
		i := slices.IndexFunc(steps, func(s contract.Step) bool { return strings.EqualFold(string(s), name) })
		if i < 0 {
			return nil, fmt.Errorf("there is no step %q; the steps are %v", name, steps)
		}
		v, err := value(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", steps[i], err)
		}
		out[steps[i]] = v
	}
	return out, nil
}
