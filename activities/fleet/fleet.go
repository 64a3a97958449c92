// Package fleet reads what the fleet wants from the entities that know it: hosts' ledgers by query, workloads by their
// execution's own memo. Visibility only finds the hosts: one that it does not show yet is looked at by the next sweep.
package fleet

import (
	"context"
	"errors"
	"sync"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// atOnce bounds how many calls of one activity are under way.
const atOnce = 8

// Activities run on the control plane's queue.
type Activities struct {
	Client client.Client
	// Data reads what the client hands out raw: it may be encrypted.
	Data converter.DataConverter
}

// each calls do for every index, several at once, and returns the first error by index.
func each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	errs := make([]error, n)
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(atOnce, n) {
		wg.Go(func() {
			for i := range next {
				errs[i] = do(ctx, i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func isGone(err error) bool {
	var gone *serviceerror.NotFound
	return errors.As(err, &gone)
}

// unread says that something could not be read.
func unread(what, name string, err error) error {
	return contract.AsActivityError(contract.Retryable(v1.ReasonUnavailable, "check that Temporal and a `berth server` run",
		"%s %s could not be read", what, name).WithCause(err))
}
