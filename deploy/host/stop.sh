#!/bin/bash
# Stops those runtimes that start.sh started, and no others, in the reverse order.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"

[ -s "$state_file" ] || exit 0
exec 9>"$state_dir/lock"
flock 9

gone() { ! alive "$1" "$2"; }

tac "$state_file" | while read -r name pid; do
  if [ "$pid" = systemd ]; then
    systemctl stop "$name"
    continue
  fi
  alive "$pid" "$name" || continue
  kill "$pid"
  await 30 gone "$pid" "$name" || { echo "stop.sh: $name (pid $pid) did not end within 30 s: killed" >&2; kill -9 "$pid"; }
done
rm -f "$state_file"
