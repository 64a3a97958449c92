#!/bin/bash
# Builds the smallest guest that boots from its own disk: BIOS, GRUB, Debian's cloud kernel and a busybox initramfs, as
# qcow2. It prints GUEST-READY on ttyS0, powers off on the ACPI button and reboots on Ctrl-Alt-Del. See guest-init.
#
# Usage: guest.sh OUT.qcow2 [CACHE-DIR]
# The kernel's package (27 MB) is kept in CACHE-DIR (default $BERTH_CACHE, else /var/cache/berth).
# Needs: busybox-static cpio e2fsprogs fdisk grub-pc-bin grub-common qemu-utils.
set -euo pipefail
out=${1:?usage: guest.sh OUT.qcow2 [CACHE-DIR]}
cache=${2:-${BERTH_CACHE:-/var/cache/berth}}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PATH=$PATH:/usr/sbin:/sbin

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT

# shellcheck source=kernel.sh
. "$here/kernel.sh"
kernel_unpack "$cache" "$work/kernel"
modules=("$work"/kernel/lib/modules/*/kernel)

# The initramfs is not compressed: the time to unpack it counts more than its size.
root=$work/initramfs
mkdir -p "$root"/{bin,dev,proc,sys,m,seed}
cp /bin/busybox "$root/bin/"
install -m 755 "$here/guest-init" "$root/init"
install -m 755 "$here/guest-dhcp" "$root/dhcp"
for m in virtio_ring virtio virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci virtio_blk cdrom isofs evdev button \
  failover net_failover virtio_net; do
  find "${modules[0]}" -name "$m.ko" -exec cp -t "$root/m" {} +
  [ -e "$root/m/$m.ko" ] || { echo "guest.sh: this kernel has no module $m" >&2; exit 1; }
done

boot=$work/boot
mkdir "$boot"
cp "$work"/kernel/boot/vmlinuz-* "$boot/vmlinuz"
(cd "$root" && find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0 >"$boot/initrd")

# One ext2 partition at 1 MiB; GRUB lies in the gap before it, without menu and without modules to load.
# linux16 enters the kernel by its real mode header: emulated, its decompression is 1.5 s faster than behind linux.
size_mib=32
truncate -s ${size_mib}M "$work/disk.raw"
echo 'start=2048,type=83,bootable' | sfdisk -q "$work/disk.raw"
mke2fs -q -F -t ext2 -b 4096 -m 0 -d "$boot" -E offset=$((2048 * 512)),root_owner=0:0 \
  "$work/disk.raw" $(((size_mib - 1) * 1024))k
cat >"$work/grub.cfg" <<'X'
linux16 (hd0,msdos1)/vmlinuz console=ttyS0 quiet loglevel=3 panic=1 mitigations=off nokaslr no_timer_check cryptomgr.notests
initrd16 (hd0,msdos1)/initrd
boot
X
grub-mkimage -O i386-pc -o "$work/core.img" -p '(hd0,msdos1)/' -c "$work/grub.cfg" biosdisk part_msdos ext2 linux16
dd if=/usr/lib/grub/i386-pc/boot.img of="$work/disk.raw" bs=446 count=1 conv=notrunc status=none
dd if="$work/core.img" of="$work/disk.raw" bs=512 seek=1 conv=notrunc status=none

# Written beside, then renamed: whoever finds OUT finds it whole.
mkdir -p "$(dirname "$out")"
qemu-img convert -f raw -O qcow2 "$work/disk.raw" "$out.partial"
mv "$out.partial" "$out"
