#!/bin/bash
# Starts the runtimes of a host that do not run yet: the Docker engine, and libvirt with its log daemon. What runs is
# left alone. Without systemd the daemons are started directly; start.sh then remembers which, so that stop.sh ends
# only those. Returns when both answer; on failure it says which does not and shows its log.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"
PATH=$PATH:/usr/sbin:/sbin

if docker_answers && libvirt_answers; then
  exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "start.sh: Docker or libvirt does not answer; run this as root to start them" >&2
  exit 1
fi
mkdir -p "$state_dir"
exec 9>"$state_dir/lock"
flock 9

# libvirt asks QEMU again at every call, for a minute and more, if QEMU's user cannot open a /dev/kvm that exists.
if [ -e /dev/kvm ] && getent group kvm >/dev/null; then
  chgrp kvm /dev/kvm && chmod 660 /dev/kvm || echo "start.sh: cannot give /dev/kvm to the group kvm" >&2
fi

fail() {
  echo "start.sh: $1 does not answer" >&2
  [ ! -e "$state_dir/$1.log" ] || tail -n 30 "$state_dir/$1.log" >&2
  exit 1
}

# launch NAME COMMAND... starts a daemon of its own session, and remembers it.
launch() {
  local name=$1
  shift
  setsid "$@" >"$state_dir/$name.log" 2>&1 </dev/null 9>&- &
  echo "$name $!" >>"$state_file"
}

# by_systemd NAME UNIT... starts units that are not active, and remembers them.
by_systemd() {
  for unit; do
    systemctl is-active -q "$unit" && continue
    systemctl start "$unit"
    echo "$unit systemd" >>"$state_file"
  done
}

if ! docker_answers; then
  if have_systemd; then
    by_systemd docker.service
  elif pgrep -x dockerd >/dev/null; then
    :  # just starting: wait for it below
  else
    # An engine that was killed leaves its pid file, and refuses to start if anything else has that pid by now.
    rm -f /run/docker.pid
    launch dockerd dockerd
  fi
  await 60 docker_answers || fail dockerd
fi

if ! libvirt_answers; then
  if have_systemd; then
    by_systemd virtlogd.service libvirtd.service
  else
    # virtlogd first: libvirtd hands it the consoles of its guests.
    pgrep -x virtlogd >/dev/null || launch virtlogd virtlogd
    pgrep -x libvirtd >/dev/null || launch libvirtd libvirtd
  fi
  await 60 libvirt_answers || fail libvirtd
fi
