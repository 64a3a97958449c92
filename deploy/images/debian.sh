#!/bin/bash
# Builds a whole Debian cloud image that boots by BIOS, with cloud-init, the QEMU guest agent and SSH, as qcow2, from
# Debian's packages. It needs neither loop devices nor mounts, and takes one to two minutes.
#
# Usage: debian.sh OUT.qcow2      (SUITE=bookworm, SIZE_MIB=1600)
# Needs: mmdebstrap e2fsprogs fdisk grub-pc-bin grub-common qemu-utils; root.
set -euo pipefail
out=${1:?usage: debian.sh OUT.qcow2}
suite=${SUITE:-bookworm}
size_mib=${SIZE_MIB:-1600}
PATH=$PATH:/usr/sbin:/sbin

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root

packages=(
  systemd-sysv init udev dbus linux-image-cloud-amd64 initramfs-tools e2fsprogs fdisk
  cloud-init cloud-guest-utils qemu-guest-agent openssh-server sudo iproute2 netbase ca-certificates
)
include=$(IFS=,; echo "${packages[*]}")
# mmdebstrap resolves virtual packages, which cloud-init needs and debootstrap does not.
if ! mmdebstrap --mode=root --variant=minbase --include="$include" \
  --aptopt='Apt::Install-Recommends "false"' --dpkgopt=force-unsafe-io \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' "$suite" "$root" >"$work/mmdebstrap.log" 2>&1; then
  tail -n 30 "$work/mmdebstrap.log" >&2
  exit 1
fi

# What belongs to the machine that built it must not be in the image: name, resolver, identity and host keys.
echo localhost >"$root/etc/hostname"
ln -sf /run/systemd/resolve/resolv.conf "$root/etc/resolv.conf"
: >"$root/etc/machine-id"
rm -rf "$root"/etc/ssh/ssh_host_* "$root"/var/lib/dbus/machine-id "$root"/var/lib/apt/lists/*
rm -f "$root"/var/cache/apt/archives/*.deb

echo 'LABEL=root / ext4 defaults,errors=remount-ro 0 1' >"$root/etc/fstab"
mkdir -p "$root/etc/cloud/cloud.cfg.d"
cat >"$root/etc/cloud/cloud.cfg.d/90-berth.cfg" <<'X'
datasource_list: [NoCloud, None]
locale: false
X
chroot "$root" systemctl enable systemd-networkd serial-getty@ttyS0 ssh >/dev/null 2>&1

version=$(basename "$(find "$root/boot" -name 'vmlinuz-*' | sort -V | tail -n 1)")
version=${version#vmlinuz-}
mkdir -p "$root/boot/grub"
cat >"$root/boot/grub/grub.cfg" <<X
linux16 /boot/vmlinuz-$version root=LABEL=root ro console=tty0 console=ttyS0,115200n8 net.ifnames=0
initrd16 /boot/initrd.img-$version
boot
X

truncate -s "${size_mib}M" "$work/disk.raw"
echo 'start=2048,type=83,bootable' | sfdisk -q "$work/disk.raw"
mke2fs -q -F -t ext4 -L root -d "$root" -E offset=$((2048 * 512)),root_owner=0:0 \
  "$work/disk.raw" $(((size_mib - 1) * 1024))k
grub-mkimage -O i386-pc -o "$work/core.img" -p '(hd0,msdos1)/boot/grub' \
  biosdisk part_msdos ext2 normal configfile linux16
dd if=/usr/lib/grub/i386-pc/boot.img of="$work/disk.raw" bs=446 count=1 conv=notrunc status=none
dd if="$work/core.img" of="$work/disk.raw" bs=512 seek=1 conv=notrunc status=none

# Written beside, then renamed: whoever finds OUT finds it whole.
mkdir -p "$(dirname "$out")"
qemu-img convert -f raw -O qcow2 -c -o compression_type=zstd "$work/disk.raw" "$out.partial"
mv "$out.partial" "$out"
