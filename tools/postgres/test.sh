#!/bin/bash
# `make test-postgres`: the end-to-end tests against Temporal servers on PostgreSQL, each with databases of its own.
# Arguments go to go test. Fewer tests run at a time than usually: each has a server that is heavier than the development one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

tools/postgres/install.sh
deploy/host/install.sh
trap 'deploy/host/stop.sh >&2' EXIT
trap 'exit 130' INT TERM
deploy/host/start.sh
make -s bin/temporal bin/temporal-server bin/temporal-sql-tool build build-faults

BERTH_TEST_TEMPORAL=postgres tools/postgres/cluster.sh \
  go test -race -shuffle=on -count=1 -timeout 60m -p 1 -parallel 2 "$@" ./tests/harness ./tests/e2e
