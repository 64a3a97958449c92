package v1

import (
	"regexp"
	"strconv"
	"strings"
)

const maxReferenceLength = 512

// The grammar of image references, as registries and Docker agree on it.
const (
	refHost = `(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?`
	refPart = `[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*`
	refTag  = `:[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}`
	refHash = `@[a-zA-Z][a-zA-Z0-9]*(?:[-_+.][a-zA-Z][a-zA-Z0-9]*)*:[0-9a-fA-F]{32,128}`
)

var referencePattern = regexp.MustCompile(`^(?:` + refHost + `/)?` + refPart + `(?:/` + refPart + `)*(?:` + refTag + `)?(?:` + refHash + `)?$`)

func checkImageReference(m *mistakes, p Path, image string) {
	switch {
	case image == "":
		m.add(p, "is required")
	case len(image) > maxReferenceLength:
		m.add(p, "is longer than %d bytes", maxReferenceLength)
	case strings.Contains(image, "://"):
		m.add(p, "must be an image reference such as nginx:1.27, without a scheme")
	case !referencePattern.MatchString(image):
		m.add(p, "must be an image reference such as nginx:1.27 or registry.example.com/team/app@sha256:…, with its name in lower case")
	}
}

// signalNames are Linux's signals that have a name.
var signalNames = strings.Fields(`ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT
	STOP SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX`)

// isSignal allows a name with or without SIG, RTMIN+n and RTMAX-n, and a number.
func isSignal(s string) bool {
	if n, err := strconv.Atoi(s); err == nil {
		return n >= 1 && n <= 64
	}
	name := strings.TrimPrefix(s, "SIG")
	for _, realtime := range []string{"RTMIN+", "RTMAX-"} {
		if digits, ok := strings.CutPrefix(name, realtime); ok {
			n, err := strconv.Atoi(digits)
			return err == nil && n >= 1 && n <= 15 && allDigits(digits)
		}
	}
	for _, known := range signalNames {
		if name == known {
			return true
		}
	}
	return false
}
