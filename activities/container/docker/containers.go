package docker

import (
	"context"
	"time"

	"github.com/containerd/errdefs"
	dc "github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"github.com/berth-dev/berth/activities/container"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Find returns all containers with the labels.
func (d *Driver) Find(ctx context.Context, labels map[string]string) ([]container.Container, error) {
	ctx, cancel := reading(ctx)
	defer cancel()
	docker, err := d.engine(ctx)
	if err != nil {
		return nil, err
	}
	list, err := docker.ContainerList(ctx, dc.ListOptions{All: true, Filters: labelled(labels)})
	if err != nil {
		return nil, d.classify(ctx, "list containers", err)
	}
	found := make([]container.Container, 0, len(list))
	for _, one := range list {
		c, err := d.Inspect(ctx, one.ID)
		if contract.ReasonOf(err) == v1.ReasonNotFound {
			continue // it went between the two calls
		}
		if err != nil {
			return nil, err
		}
		found = append(found, c)
	}
	return found, nil
}

// Inspect looks at one container.
func (d *Driver) Inspect(ctx context.Context, id string) (container.Container, error) {
	ctx, cancel := reading(ctx)
	defer cancel()
	docker, err := d.engine(ctx)
	if err != nil {
		return container.Container{}, err
	}
	i, err := docker.ContainerInspect(ctx, id)
	if err != nil {
		return container.Container{}, d.classify(ctx, "inspect the container", err)
	}
	return stateOf(i), nil
}

// Create makes a container.
func (d *Driver) Create(ctx context.Context, c container.Create) (string, error) {
	ctx, cancel := writing(ctx)
	defer cancel()
	docker, err := d.engine(ctx)
	if err != nil {
		return "", err
	}
	config, host := translate(c)
	made, err := docker.ContainerCreate(ctx, config, host, nil, nil, c.Name)
	return made.ID, d.classify(ctx, "create the container", err)
}

// Start starts a container.
func (d *Driver) Start(ctx context.Context, id string) error {
	ctx, cancel := writing(ctx)
	defer cancel()
	docker, err := d.engine(ctx)
	if err != nil {
		return err
	}
	return d.classifyStart(ctx, docker.ContainerStart(ctx, id, dc.StartOptions{}))
}

// Stop stops a container, by force after the grace.
func (d *Driver) Stop(ctx context.Context, id string, grace time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, grace+writeTimeout, errTimeout)
	defer cancel()
	docker, err := d.engine(ctx)
	if err != nil {
		return err
	}
	return d.classify(ctx, "stop the container", docker.ContainerStop(ctx, id, dc.StopOptions{Timeout: ptr(seconds(grace))}))
}

// Remove removes a container and its unnamed volumes. A removal that is under way already is waited for.
func (d *Driver) Remove(ctx context.Context, id string) error {
	ctx, cancel := writing(ctx)
	defer cancel()
	docker, err := d.engine(ctx)
	if err != nil {
		return err
	}
	err = docker.ContainerRemove(ctx, id, dc.RemoveOptions{RemoveVolumes: true})
	switch {
	case errdefs.IsNotFound(err):
		return nil
	case errdefs.IsConflict(err) && hasAny(err.Error(), "is already in progress"):
		return d.awaitRemoved(ctx, docker, id)
	default:
		return d.classify(ctx, "remove the container", err)
	}
}

func (d *Driver) awaitRemoved(ctx context.Context, docker *client.Client, id string) error {
	removed, failed := docker.ContainerWait(ctx, id, dc.WaitConditionRemoved)
	select {
	case <-removed:
		return nil
	case err := <-failed:
		if errdefs.IsNotFound(err) {
			return nil
		}
		return d.classify(ctx, "remove the container", err)
	}
}
