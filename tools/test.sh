#!/bin/bash
# `make test`: installs and starts what the tests need, builds, runs all tests, and stops what it started, also when a
# test fails. All suites run even if one fails; the output ends with go test's own lines.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

deploy/host/install.sh
trap 'deploy/host/stop.sh >&2' EXIT
trap 'exit 130' INT TERM
deploy/host/start.sh

# The Temporal CLI's build is long and not wide: the others fit beside it.
make -s -j2 bin/temporal build build-faults

status=0
mapfile -t unit < <(go list ./... | grep -v '/berth/tests/')
mapfile -t system < <(go list ./tests/... 2>/dev/null)
go test -race -shuffle=on -count=1 -timeout 20m "${unit[@]}" || status=1
# One package at a time: each runs a fleet of its own, and timings are part of what they check.
go test -race -shuffle=on -count=1 -timeout 45m -p 1 "${system[@]}" || status=1
exit $status
