package vm

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// networks are the spec's networks with every MAC filled in.
func (r *Runtime) networks(workload string, vm *v1.VMSpec) []v1.Network {
	all := slices.Clone(vm.Networks)
	for i := range all {
		if all[i].MAC == "" {
			all[i].MAC = r.ids.mac(workload, i)
		}
	}
	return all
}

// wantedAddresses are the static addresses that Berth has to give to networks: those that were given already by somebody
// else, exactly so, are not Berth's to keep or remove.
func (r *Runtime) wantedAddresses(ctx context.Context, workload, dir string, vm *v1.VMSpec) ([]reservation, error) {
	held, err := readState(dir)
	if err != nil {
		return nil, err
	}
	var wanted []reservation
	for _, n := range r.networks(workload, vm) {
		if n.IP == "" {
			continue
		}
		network, err := r.driver.Network(ctx, n.Network)
		if err != nil {
			return nil, err
		}
		want := reservation{n.Network, DHCPHost{MAC: n.MAC, IP: n.IP, Name: workload}}
		others, err := judgeAddress(network, want, held.Addresses)
		if err != nil {
			return nil, err
		}
		if !others {
			wanted = append(wanted, want)
		}
	}
	return wanted, nil
}

// judgeAddress says whether an address can be given in a network, and whether somebody else has given it exactly so.
func judgeAddress(network Network, want reservation, held []reservation) (others bool, err error) {
	ip, err := netip.ParseAddr(want.IP)
	if err != nil || !slices.ContainsFunc(network.Subnets, func(p netip.Prefix) bool { return p.Contains(ip) }) {
		return false, contract.Permanent(v1.ReasonInvalid, "choose an address of the network",
			"the network %s gives out no address such as %s", network.Name, want.IP)
	}
	for _, h := range network.Hosts {
		sameIP, sameMAC := h.IP == want.IP, strings.EqualFold(h.MAC, want.MAC)
		ours := slices.ContainsFunc(held, func(o reservation) bool { return o.Network == want.Network && o.is(h) })
		switch {
		case ours || !sameIP && !sameMAC:
		case sameIP && sameMAC:
			others = true
		default:
			return false, contract.Retryable(v1.ReasonPortConflict, "choose another address, or remove the entry with virsh net-update",
				"the network %s has %s for %s already", network.Name, h.IP, h.MAC)
		}
	}
	return others, nil
}

// is reports whether an entry of a network is this one.
func (h DHCPHost) is(other DHCPHost) bool {
	return h.IP == other.IP && strings.EqualFold(h.MAC, other.MAC)
}

// giveAddresses makes the networks' static addresses what the spec wants, and drops what an earlier spec wanted.
func (r *Runtime) giveAddresses(ctx context.Context, c *step.Call, s *state, vm *v1.VMSpec) error {
	wanted, err := r.wantedAddresses(ctx, c.In.Ref.Workload, c.Dir, vm)
	if err != nil {
		return err
	}
	var stale []reservation
	for _, held := range s.Addresses {
		if !slices.Contains(wanted, held) {
			stale = append(stale, held)
		}
	}
	if err := r.dropAddresses(ctx, c, stale); err != nil {
		return err
	}
	if !slices.Equal(s.Addresses, wanted) {
		s.Addresses = wanted
		if err := s.write(c.Dir); err != nil {
			return err
		}
	}
	for _, want := range wanted {
		network, err := r.driver.Network(ctx, want.Network)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(network.Hosts, want.is) {
			continue
		}
		err = c.Mutate(ctx, "vm.address", func(ctx context.Context) error {
			return r.driver.AddDHCPHost(ctx, want.Network, want.DHCPHost)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// dropAddresses takes static addresses out of their networks. One that is gone, or whose network is, is fine.
func (r *Runtime) dropAddresses(ctx context.Context, c *step.Call, drop []reservation) error {
	for _, held := range drop {
		network, err := r.driver.Network(ctx, held.Network)
		if contract.ReasonOf(err) == v1.ReasonNotFound {
			continue
		}
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(network.Hosts, held.is) {
			continue
		}
		err = c.Mutate(ctx, "vm.release-address", func(ctx context.Context) error {
			return r.driver.RemoveDHCPHost(ctx, held.Network, held.DHCPHost)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
