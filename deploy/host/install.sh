#!/bin/bash
# Installs what a host needs to run workloads, and what builds the demo images, from Debian's packages. It installs only
# what is missing, so that it may be run again at any time; it starts nothing (see start.sh).
set -euo pipefail

packages=(
  # containers
  docker.io iptables iproute2
  # virtual machines
  libvirt-daemon-system libvirt-clients qemu-system-x86 qemu-utils dnsmasq-base dmidecode
  # demo and test images, and what reads them
  busybox-static cpio procps mmdebstrap e2fsprogs fdisk grub-pc-bin grub-common genisoimage
)

# A Docker engine from elsewhere (docker-ce) conflicts with Debian's: keep it.
if command -v dockerd >/dev/null; then
  packages=("${packages[@]/docker.io/}")
fi

missing=()
for p in "${packages[@]}"; do
  [ -n "$p" ] || continue
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || missing+=("$p")
done
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "install.sh: missing: ${missing[*]}; run this as root to install them" >&2
  exit 1
fi

echo "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { apt-get update && apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
  tail -n 40 "$log" >&2
  exit 1
fi
