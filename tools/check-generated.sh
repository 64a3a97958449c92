#!/bin/bash
# Fails if `make generate` would change a tracked file, or make a new one. Changes that are there already, and are not
# its doing, are left alone and do not count.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

snapshot() { git ls-files -co --exclude-standard -z | sort -z | xargs -0 sha256sum 2>/dev/null; }

before=$(mktemp) after=$(mktemp)
trap 'rm -f "$before" "$after"' EXIT
snapshot >"$before"
make -s generate
snapshot >"$after"
if ! diff "$before" "$after" >/dev/null; then
  echo "these files are not what their sources say; run make generate and commit the result:" >&2
  diff "$before" "$after" | awk '/^[<>]/ { print "  " $3 }' | sort -u >&2
  exit 1
fi
