package libvirt

import (
	"context"

	golibvirt "github.com/digitalocean/go-libvirt"
	"github.com/google/uuid"

	"github.com/berth-dev/berth/activities/vm"
)

func aboutDomain(name string) string { return "domain " + name }

// Domains lists all domains by name.
func (d *Driver) Domains(ctx context.Context) ([]string, error) {
	op := operation{doing: "list the domains", object: "domains", limit: lookLimit}
	return call(ctx, d, op, func(l *golibvirt.Libvirt) ([]string, error) {
		all, _, err := l.ConnectListAllDomains(1, 0)
		names := make([]string, 0, len(all))
		for _, dom := range all {
			names = append(names, dom.Name)
		}
		return names, err
	})
}

// Domain looks at one domain.
func (d *Driver) Domain(ctx context.Context, name string) (vm.Domain, error) {
	op := operation{doing: "look at the domain " + name, object: aboutDomain(name), limit: lookLimit}
	return call(ctx, d, op, func(l *golibvirt.Libvirt) (vm.Domain, error) {
		dom, err := l.DomainLookupByName(name)
		if err != nil {
			return vm.Domain{}, err
		}
		state, reason, err := l.DomainGetState(dom, 0)
		if err != nil {
			return vm.Domain{}, err
		}
		xml, err := l.DomainGetXMLDesc(dom, golibvirt.DomainXMLInactive)
		if err != nil {
			return vm.Domain{}, err
		}
		persistent, err := l.DomainIsPersistent(dom)
		if err != nil {
			return vm.Domain{}, err
		}
		found := vm.Domain{Name: dom.Name, UUID: uuid.UUID(dom.UUID).String(), XML: xml, Transient: persistent == 0}
		found.Power, found.Why, found.Ending = power(golibvirt.DomainState(state), reason)
		if found.Power == vm.PowerRunning {
			found.Cards = cards(l, dom)
		}
		return found, nil
	})
}

// Define makes a domain, or changes the definition of the one with the same name and UUID.
func (d *Driver) Define(ctx context.Context, name, xml string) error {
	op := operation{doing: "define the domain " + name, object: aboutDomain(name), limit: changeLimit, changes: true}
	return done(call(ctx, d, op, func(l *golibvirt.Libvirt) (golibvirt.Domain, error) {
		return l.DomainDefineXMLFlags(xml, golibvirt.DomainDefineValidate)
	}))
}

// Start boots a domain, or lets a paused one go on; one that runs is left alone.
func (d *Driver) Start(ctx context.Context, name string) error {
	op := operation{doing: "start the domain " + name, object: aboutDomain(name), limit: powerLimit, changes: true}
	return d.onDomain(ctx, op, name, func(l *golibvirt.Libvirt, dom golibvirt.Domain) error {
		state, _, err := l.DomainGetState(dom, 0)
		switch {
		case err != nil:
			return err
		case golibvirt.DomainState(state) == golibvirt.DomainPaused:
			return l.DomainResume(dom)
		}
		if err = l.DomainCreate(dom); invalidState(err) && isActive(l, dom) {
			return nil
		}
		return err
	})
}

// Destroy ends a domain at once; one that does not run is left alone.
func (d *Driver) Destroy(ctx context.Context, name string) error {
	op := operation{doing: "destroy the domain " + name, object: aboutDomain(name), limit: powerLimit, changes: true}
	return d.onDomain(ctx, op, name, func(l *golibvirt.Libvirt, dom golibvirt.Domain) error {
		err := l.DomainDestroy(dom)
		if invalidState(err) && !isActive(l, dom) {
			return nil
		}
		return err
	})
}

// Undefine drops the definition of a domain that does not run.
func (d *Driver) Undefine(ctx context.Context, name string, firmwareVariables bool) error {
	flags := golibvirt.DomainUndefineManagedSave | golibvirt.DomainUndefineSnapshotsMetadata
	more := golibvirt.DomainUndefineCheckpointsMetadata
	if firmwareVariables {
		more |= golibvirt.DomainUndefineNvram
	} else {
		more |= golibvirt.DomainUndefineKeepNvram
	}
	op := operation{doing: "undefine the domain " + name, object: aboutDomain(name), limit: changeLimit, changes: true}
	return d.onDomain(ctx, op, name, func(l *golibvirt.Libvirt, dom golibvirt.Domain) error {
		err := l.DomainUndefineFlags(dom, flags|more)
		if refusedFlags(err) { // a hypervisor that knows neither firmware variables nor checkpoints
			err = l.DomainUndefineFlags(dom, flags)
		}
		return err
	})
}

// onDomain does something with a domain by its name.
func (d *Driver) onDomain(
	ctx context.Context, op operation, name string, f func(*golibvirt.Libvirt, golibvirt.Domain) error,
) error {
	return done(call(ctx, d, op, func(l *golibvirt.Libvirt) (struct{}, error) {
		dom, err := l.DomainLookupByName(name)
		if err != nil {
			return struct{}{}, err
		}
		return struct{}{}, f(l, dom)
	}))
}

func done[T any](_ T, err error) error { return err }

func isActive(l *golibvirt.Libvirt, dom golibvirt.Domain) bool {
	active, err := l.DomainIsActive(dom)
	return err == nil && active == 1
}
