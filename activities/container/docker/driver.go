// Package docker is the Docker engine as a container.Driver. It holds no rules: it turns words into Docker's and back, bounds
// each call, and says in one place (errors.go) what Docker's errors mean.
package docker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/client"

	"github.com/berth-dev/berth/activities/container"
)

const (
	// probeTimeout bounds the call that only asks whether Docker is there.
	probeTimeout = 3 * time.Second
	// readTimeout bounds a call that changes nothing.
	readTimeout = 15 * time.Second
	// writeTimeout bounds a call that changes something, on a host with slow disks.
	writeTimeout = 2 * time.Minute
)

var errTimeout = errors.New("no answer in time")

// Driver talks to one Docker engine.
type Driver struct {
	client *client.Client
	host   string

	mu    sync.Mutex
	ready atomic.Bool // the API's version is agreed on
}

var _ container.Driver = (*Driver)(nil)

// New returns a driver for the engine at host, for example "unix:///run/docker.sock"; empty means Docker's default. It
// connects when it is used: Docker may come up later.
func New(host string) (*Driver, error) {
	if host == "" {
		host = client.DefaultDockerHost
	}
	c, err := client.NewClientWithOpts(client.WithHost(host), client.WithAPIVersionNegotiation())
	if err != nil {
		return nil, fmt.Errorf("docker at %s: %w", host, err)
	}
	return &Driver{client: c, host: host}, nil
}

// Close gives idle connections up.
func (d *Driver) Close() error { return d.client.Close() }

// Version returns the engine's version.
func (d *Driver) Version(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, probeTimeout, errTimeout)
	defer cancel()
	docker, err := d.engine(ctx)
	if err != nil {
		return "", err
	}
	v, err := docker.ServerVersion(ctx)
	return v.Version, d.classify(ctx, "tell its version", err)
}

// engine returns the client once it knows which version of the API to speak. The client would find out by itself, but it
// reads the version without a lock while it does.
func (d *Driver) engine(ctx context.Context) (*client.Client, error) {
	if d.ready.Load() {
		return d.client, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ready.Load() {
		return d.client, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, probeTimeout, errTimeout)
	defer cancel()
	ping, err := d.client.Ping(ctx)
	if err != nil {
		return nil, d.classify(ctx, "be asked for its version", err)
	}
	d.client.NegotiateAPIVersionPing(ping)
	d.ready.Store(true)
	return d.client, nil
}

func reading(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, readTimeout, errTimeout)
}

func writing(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, writeTimeout, errTimeout)
}

func labelled(labels map[string]string) filters.Args {
	f := filters.NewArgs()
	for key, value := range labels {
		f.Add("label", key+"="+value)
	}
	return f
}
