package docker

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	dc "github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/client"

	"github.com/berth-dev/berth/activities/container"
	"github.com/berth-dev/berth/workflows/contract"
)

// List returns everything of a kind that carries the labels. It is one call, however much there is.
func (d *Driver) List(ctx context.Context, kind contract.ThingKind, labels map[string]string) ([]container.Object, error) {
	ctx, cancel := reading(ctx)
	defer cancel()
	docker, err := d.engine(ctx)
	if err != nil {
		return nil, err
	}
	var all []container.Object
	switch kind {
	case contract.ThingContainer:
		all, err = containers(ctx, docker, labels)
	case contract.ThingVolume:
		all, err = volumes(ctx, docker, labels)
	case contract.ThingNetwork:
		all, err = networks(ctx, docker, labels)
	default:
		return nil, fmt.Errorf("docker has no things of kind %q", kind)
	}
	return all, d.classify(ctx, fmt.Sprintf("list %ss", kind), err)
}

func containers(ctx context.Context, docker *client.Client, labels map[string]string) ([]container.Object, error) {
	list, err := docker.ContainerList(ctx, dc.ListOptions{All: true, Filters: labelled(labels)})
	all := make([]container.Object, 0, len(list))
	for _, c := range list {
		o := container.Object{ID: c.ID, Labels: c.Labels, CreatedAt: time.Unix(c.Created, 0)}
		if len(c.Names) > 0 {
			o.Name = strings.TrimPrefix(c.Names[0], "/")
		}
		all = append(all, o)
	}
	return all, err
}

func volumes(ctx context.Context, docker *client.Client, labels map[string]string) ([]container.Object, error) {
	list, err := docker.VolumeList(ctx, volume.ListOptions{Filters: labelled(labels)})
	if err != nil {
		return nil, err
	}
	all := make([]container.Object, 0, len(list.Volumes))
	for _, v := range list.Volumes {
		all = append(all, container.Object{Name: v.Name, Labels: v.Labels, CreatedAt: moment(v.CreatedAt)})
	}
	return all, nil
}

func networks(ctx context.Context, docker *client.Client, labels map[string]string) ([]container.Object, error) {
	list, err := docker.NetworkList(ctx, network.ListOptions{Filters: labelled(labels)})
	all := make([]container.Object, 0, len(list))
	for _, n := range list {
		all = append(all, container.Object{ID: n.ID, Name: n.Name, Labels: n.Labels, CreatedAt: n.Created})
	}
	return all, err
}

// RemoveNetwork removes a network.
func (d *Driver) RemoveNetwork(ctx context.Context, id string) error {
	ctx, cancel := writing(ctx)
	defer cancel()
	docker, err := d.engine(ctx)
	if err != nil {
		return err
	}
	err = docker.NetworkRemove(ctx, id)
	if errdefs.IsNotFound(err) {
		return nil
	}
	return d.classify(ctx, "remove the network", err)
}
