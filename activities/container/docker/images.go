package docker

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/docker/docker/api/types/image"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// HasImage reports whether the engine has an image.
func (d *Driver) HasImage(ctx context.Context, ref string) (bool, error) {
	ctx, cancel := reading(ctx)
	defer cancel()
	docker, err := d.engine(ctx)
	if err != nil {
		return false, err
	}
	_, err = docker.ImageInspect(ctx, ref)
	if errdefs.IsNotFound(err) {
		return false, nil
	}
	return err == nil, d.classify(ctx, "inspect the image "+ref, err)
}

// Pull fetches an image. Closing its stream, as a cancelled ctx does, ends the pull in the engine.
func (d *Driver) Pull(ctx context.Context, ref string, progressed func(done, total int64)) error {
	if _, err := reference.ParseNormalizedNamed(ref); err != nil {
		return contract.Permanent(v1.ReasonInvalid, "correct the image's name", "%q is no image's name", ref).WithCause(err)
	}
	docker, err := d.engine(ctx)
	if err != nil {
		return err
	}
	stream, err := docker.ImagePull(ctx, ref, image.PullOptions{})
	if err != nil {
		return d.classifyPull(ctx, ref, err)
	}
	defer func() { _ = stream.Close() }()
	layers := layers{}
	for decoder := json.NewDecoder(stream); ; {
		var m pullMessage
		switch err := decoder.Decode(&m); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return d.classifyPull(ctx, ref, err)
		case m.failure() != "":
			return d.classifyPull(ctx, ref, errors.New(m.failure()))
		}
		if layers.take(m) {
			progressed(layers.sum())
		}
	}
}
