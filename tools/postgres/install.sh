#!/bin/bash
# Installs Debian's PostgreSQL server if there is none. Debian would make and start a cluster of its own at once; that is
# switched off, as the tests make their own.
set -euo pipefail

ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 && exit 0
if [ "$(id -u)" -ne 0 ]; then
  echo "install.sh: PostgreSQL is missing; run this as root to install it" >&2
  exit 1
fi
echo 'installing postgresql'
mkdir -p /etc/postgresql-common/createcluster.d
echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.d/berth.conf
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { apt-get update && apt-get install -y --no-install-recommends postgresql; } >"$log" 2>&1 </dev/null; then
  tail -n 40 "$log" >&2
  exit 1
fi
