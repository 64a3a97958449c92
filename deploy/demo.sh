#!/bin/bash
# `make demo`: from a fresh Debian to a fleet of one host on which a container and a virtual machine run.
#
# Usage: demo.sh          stays up until Ctrl-C; the workloads are still there the next time
#        demo.sh --once   removes both workloads again and exits 0
# BERTH_DEMO_DATA is where Berth keeps its data (default /var/lib/berth/demo-data).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

once=
case ${1:-} in
  '') ;;
  --once) once=yes ;;
  *) echo "usage: demo.sh [--once]" >&2; exit 2 ;;
esac

data=${BERTH_DEMO_DATA:-/var/lib/berth/demo-data}
images=/var/lib/berth/demo # examples/vm-minimal.yaml names it
export BERTH_CONFIG=$data/client.yaml
log=$data/demo.log
examples=(examples/container-minimal.yaml examples/vm-minimal.yaml)
workloads=(hello-container hello-vm)
dev_pid=

say() { printf '\n==> %s\n' "$*"; }

# left_behind says what is on the host, from the host's own view: Berth has ended by then.
left_behind() {
  local containers domains
  containers=$(docker ps --all --filter label=berth.fleet=demo --format 'container {{.Names}} ({{.Status}})' 2>/dev/null | sed 's/^/  /' || true)
  domains=$(virsh -q -c qemu:///system list --all 2>/dev/null | awk '$2 ~ /^berth\.demo\./ { print "  virtual machine", $2, "(" $3 ($4 ? " " $4 : "") ")" }' || true)
  say 'Left on this host:'
  if [ -s "${BERTH_STATE_DIR:-/run/berth-host}/started" ]; then
    echo '  (the Docker engine was started by the demo and ends with it, and so do containers)'
  fi
  [ -z "$containers" ] || echo "$containers"
  [ -z "$domains" ] || echo "$domains"
  echo "  Berth's data in $data, demo images in $images and as berth-demo-container:latest in Docker"
  if [ -n "$containers$domains" ]; then
    echo 'To remove the workloads: make demo ARGS=--once, which goes on from here and removes them at its end.'
  fi
  echo "To remove the rest after that: rm -rf $data $images && docker rmi berth-demo-container:latest"
}

# Ctrl-C reaches only this script, as `berth dev` has a session of its own: it is then stopped in order.
finish() {
  local status=$?
  trap '' INT TERM
  if [ -n "$dev_pid" ] && kill -0 "$dev_pid" 2>/dev/null; then
    say 'Stopping Berth'
    kill -TERM "$dev_pid"
    wait "$dev_pid" || true
  fi
  if [ -n "$dev_pid" ]; then
    left_behind
  fi
  deploy/host/stop.sh || true
  exit $status
}
interrupted() { exit "$([ -n "$up" ] && echo 0 || echo 130)"; }
up=
trap finish EXIT
trap interrupted INT TERM

say 'Docker, libvirt and QEMU'
deploy/host/install.sh
deploy/host/start.sh

say 'Berth and the Temporal CLI'
make -s tools-run build

say 'Two small images, from Debian packages'
deploy/images/container.sh berth-demo-container:latest
if [ ! -e $images/guest.qcow2 ] || [ -n "$(find deploy/images -newer $images/guest.qcow2 -name 'guest*')" ]; then
  deploy/images/guest.sh $images/guest.qcow2
fi
echo $images/guest.qcow2

say 'A fleet of one host'
mkdir -p "$data"
rm -f "$BERTH_CONFIG"
env -u BERTH_CONFIG setsid bin/berth dev --fleet demo --data-dir "$data" --allow-path $images >"$log" 2>&1 </dev/null &
dev_pid=$!
deadline=$((SECONDS + 120))
until [ -s "$BERTH_CONFIG" ]; do
  if ! kill -0 $dev_pid 2>/dev/null || [ $SECONDS -ge $deadline ]; then
    echo "berth dev did not get ready; the end of $log:" >&2
    tail -n 30 "$log" >&2
    exit 1
  fi
  sleep 0.1
done
cat "$log"

for file in "${examples[@]}"; do
  say "berth apply -f $file --wait"
  bin/berth apply -f "$file" --wait
done

say 'Both run'
bin/berth list

if [ -n "$once" ]; then
  for name in "${workloads[@]}"; do
    say "berth delete $name --volumes --wait"
    bin/berth delete "$name" --volumes --wait
  done
  bin/berth list
  exit 0
fi

up=yes
say "Try it from another terminal:
  export BERTH_CONFIG=$BERTH_CONFIG
  bin/berth list
  bin/berth logs hello-vm
Ctrl-C ends the fleet. Its log is $log"
wait $dev_pid
echo "berth dev has ended by itself; the end of $log:" >&2
tail -n 30 "$log" >&2
exit 1
