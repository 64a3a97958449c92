package vm

import (
	"context"
	"errors"
	"slices"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// probeLimit bounds how long libvirt may take to say what it can do.
const probeLimit = 5 * time.Second

// Probe says whether virtual machines can run here, and how.
func (r *Runtime) Probe(ctx context.Context) v1.Runtime {
	out := v1.Runtime{Name: "libvirt", Kinds: []v1.Kind{v1.KindVM}}
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	caps, err := r.driver.Capabilities(ctx)
	if err != nil {
		out.Message = err.Error()
		var e *contract.Error
		if errors.As(err, &e) && e.Advice != "" {
			out.Message += "; " + e.Advice
		}
		return out
	}
	out.Version = caps.Version
	domainType, why := r.domainType()
	if !slices.Contains(caps.DomainTypes, domainType) {
		out.Message = "libvirt offers no domains of type " + domainType + " (" + why + "); install QEMU for it"
		return out
	}
	out.Ready = true
	out.Message = "domain type " + domainType + ": " + why
	return out
}
