# Sourced by start.sh and stop.sh: what both agree on.

# Each line of the state file is "service pid" of a daemon that start.sh started, or "service systemd".
state_dir=${BERTH_STATE_DIR:-/run/berth-host}
state_file=$state_dir/started

# have_systemd is true where systemd is the init: then services are its own to start and stop.
have_systemd() { [ -d /run/systemd/system ]; }

# docker_answers and libvirt_answers are true if the runtime serves a request, not only if a process exists.
docker_answers() { timeout 10 docker version --format '{{.Server.Version}}' >/dev/null 2>&1; }
libvirt_answers() { timeout 20 virsh -q -c qemu:///system version >/dev/null 2>&1; }

# alive PID NAME is true if that process still runs that program: a pid may have been used again.
alive() { [ "$(cat "/proc/$1/comm" 2>/dev/null)" = "$2" ]; }

# await SECONDS COMMAND... waits until COMMAND succeeds, or fails after SECONDS.
await() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@"; do
    [ $SECONDS -lt $deadline ] || return 1
    sleep 0.1
  done
}
