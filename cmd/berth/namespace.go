package main

import (
	"context"
	"fmt"

	"github.com/berth-dev/berth/api/rest/backend"
	"github.com/berth-dev/berth/workers/temporal"
)

// prepareNamespace makes sure that what the control worker needs is in place before it polls.
func prepareNamespace(ctx context.Context, conn *temporal.Conn) error {
	if err := temporal.CheckNamespace(ctx, conn.Client, conn.Namespace); err != nil {
		return err
	}
	return temporal.EnsureSearchAttributes(ctx, conn.Client, conn.Namespace)
}

// namespaceChecks are the same as parts of readiness.
func namespaceChecks(conn *temporal.Conn) []backend.Check {
	return []backend.Check{
		{Name: "namespace", Run: func(ctx context.Context) error {
			return temporal.CheckNamespace(ctx, conn.Client, conn.Namespace)
		}},
		{Name: "searchAttributes", Run: func(ctx context.Context) error {
			missing, err := temporal.MissingSearchAttributes(ctx, conn.Client, conn.Namespace)
			if err == nil && len(missing) > 0 {
				err = fmt.Errorf("the namespace lacks the search attributes %v", missing)
			}
			return err
		}},
	}
}
