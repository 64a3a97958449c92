package image

import (
	"context"

	"github.com/berth-dev/berth/activities/inventory"
	"github.com/berth-dev/berth/activities/step"
	"github.com/berth-dev/berth/workflows/contract"
)

var _ inventory.Source = (*Cache)(nil)

// Kinds are what was fetched in part, and images.
func (c *Cache) Kinds() []contract.ThingKind {
	return []contract.ThingKind{contract.ThingDownload, contract.ThingImage}
}

// Inventory lists what was fetched in part, or the images that nothing uses. The cache belongs to one host: its directory is
// the mark.
func (c *Cache) Inventory(_ context.Context, kind contract.ThingKind) ([]contract.Thing, error) {
	if kind == contract.ThingImage {
		return c.unused()
	}
	return c.downloads()
}

// Discard removes a download that nobody waits for, or an image that nothing uses.
func (c *Cache) Discard(ctx context.Context, call *step.Call, o contract.Orphan) (string, error) {
	if o.Thing.Kind == contract.ThingImage {
		return c.discardImage(ctx, call, o)
	}
	return c.discardDownload(ctx, call, o)
}
