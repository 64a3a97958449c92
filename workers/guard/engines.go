package guard

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/berth-dev/berth/activities/container"
	"github.com/berth-dev/berth/activities/container/docker"
	"github.com/berth-dev/berth/activities/deadline"
	"github.com/berth-dev/berth/activities/step"
	"github.com/berth-dev/berth/activities/vm"
	"github.com/berth-dev/berth/activities/vm/libvirt"
	v1 "github.com/berth-dev/berth/api/v1"
)

// engines are the host's runtimes, connected where the deadline file says. They are kept while it says the same.
type engines struct {
	log *slog.Logger

	mu      sync.Mutex
	of      deadline.File // whose addresses and names they were made with
	halters map[v1.Kind]step.Halter
	cleanup func() error
}

func (e *engines) halter(f deadline.File, kind v1.Kind) (step.Halter, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.halters == nil || e.of.DockerHost != f.DockerHost || e.of.LibvirtURI != f.LibvirtURI || e.of.Fleet != f.Fleet || e.of.Host != f.Host {
		if err := e.connect(f); err != nil {
			return nil, err
		}
	}
	h, ok := e.halters[kind]
	if !ok {
		return nil, fmt.Errorf("kind %s has no runtime", kind)
	}
	return h, nil
}

func (e *engines) connect(f deadline.File) error {
	// Those before it may be in use: their connections end when they idle.
	dockerDriver, err := docker.New(f.DockerHost)
	if err != nil {
		return err
	}
	libvirtDriver := libvirt.New(libvirt.Config{URI: f.LibvirtURI, Log: e.log})
	e.of = f
	e.halters = map[v1.Kind]step.Halter{
		v1.KindContainer: container.New(container.Config{Fleet: f.Fleet, Host: f.Host}, dockerDriver),
		v1.KindVM:        vm.New(vm.Config{Fleet: f.Fleet, Host: f.Host, Log: e.log}, libvirtDriver, nil),
	}
	before := e.cleanup
	e.cleanup = func() error {
		libvirtDriver.Close()
		err := dockerDriver.Close()
		if before != nil {
			err = errors.Join(err, before())
		}
		return err
	}
	return nil
}

func (e *engines) close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cleanup == nil {
		return nil
	}
	return e.cleanup()
}
