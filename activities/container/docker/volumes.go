package docker

import (
	"context"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/volume"
)

// Volume returns a volume's labels.
func (d *Driver) Volume(ctx context.Context, name string) (map[string]string, error) {
	ctx, cancel := reading(ctx)
	defer cancel()
	docker, err := d.engine(ctx)
	if err != nil {
		return nil, err
	}
	v, err := docker.VolumeInspect(ctx, name)
	return v.Labels, d.classify(ctx, "inspect the volume", err)
}

// FindVolumes returns the names of all volumes with the labels.
func (d *Driver) FindVolumes(ctx context.Context, labels map[string]string) ([]string, error) {
	ctx, cancel := reading(ctx)
	defer cancel()
	docker, err := d.engine(ctx)
	if err != nil {
		return nil, err
	}
	list, err := docker.VolumeList(ctx, volume.ListOptions{Filters: labelled(labels)})
	if err != nil {
		return nil, d.classify(ctx, "list volumes", err)
	}
	names := make([]string, 0, len(list.Volumes))
	for _, v := range list.Volumes {
		names = append(names, v.Name)
	}
	return names, nil
}

// CreateVolume makes a volume.
func (d *Driver) CreateVolume(ctx context.Context, name string, labels map[string]string) error {
	ctx, cancel := writing(ctx)
	defer cancel()
	docker, err := d.engine(ctx)
	if err != nil {
		return err
	}
	_, err = docker.VolumeCreate(ctx, volume.CreateOptions{Name: name, Labels: labels})
	return d.classify(ctx, "create the volume", err)
}

// RemoveVolume removes a volume and what is in it.
func (d *Driver) RemoveVolume(ctx context.Context, name string) error {
	ctx, cancel := writing(ctx)
	defer cancel()
	docker, err := d.engine(ctx)
	if err != nil {
		return err
	}
	err = docker.VolumeRemove(ctx, name, false)
	if errdefs.IsNotFound(err) {
		return nil
	}
	return d.classify(ctx, "remove the volume "+name, err)
}
