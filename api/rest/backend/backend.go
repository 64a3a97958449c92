// Package backend answers the API from Temporal: updates for what changes something, Describe and Visibility for what
// is read. Reading needs no worker.
package backend

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/berth-dev/berth/api/rest"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	// DefaultAnswerWithin is how long a change waits for a worker's answer.
	DefaultAnswerWithin = 5 * time.Second
	queryWithin         = time.Second
	logsWithin          = 10 * time.Second
)

// Config says how the backend reaches the fleet.
type Config struct {
	Client client.Client
	// Fleet is the id of the installation: it stands in the names of what hosts hold.
	Fleet     string
	Data      converter.DataConverter
	Namespace string
	// WebUI is the address of Temporal's Web UI, for links; empty means none.
	WebUI string
	// Timings are given to new workloads, which carry them from then on.
	Timings contract.Timings
	// AnswerWithin is how long a change waits for a worker's answer. Zero means DefaultAnswerWithin.
	AnswerWithin time.Duration
	// Extra are checks beside those that the backend makes itself.
	Extra  []Check
	Logger *slog.Logger
}

// Check is one named condition of readiness.
type Check struct {
	Name string
	Run  func(context.Context) error
}

// Backend implements rest.Backend.
type Backend struct {
	Config
	failures converter.FailureConverter
}

var _ rest.Backend = (*Backend)(nil)

// New returns a backend.
func New(cfg Config) *Backend {
	if cfg.AnswerWithin == 0 {
		cfg.AnswerWithin = DefaultAnswerWithin
	}
	return &Backend{
		Config: cfg,
		failures: temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
			DataConverter: cfg.Data, EncodeCommonAttributes: true,
		}),
	}
}

// memo reads one field of a memo into out; it reports false if there is no such field.
func (b *Backend) memo(m *commonpb.Memo, field string, out any) (bool, error) {
	p, ok := m.GetFields()[field]
	if !ok {
		return false, nil
	}
	if err := b.Data.FromPayload(p, out); err != nil {
		return false, fmt.Errorf("read the memo field %q: %w", field, err)
	}
	return true, nil
}

func notFound(what, name string) error {
	advice := map[string]string{
		"host": "`berth hosts` lists them", "workload": "`berth list` lists them", "action": "`berth actions` lists them",
	}[what]
	return contract.Permanent(v1.ReasonNotFound, advice, "there is no %s %q", what, name)
}
