#!/bin/bash
# Builds a tiny container image from Debian's busybox-static and imports it into the Docker engine. Without arguments of
# its own a container serves its /www by HTTP on port 8080 and ends at once on SIGTERM; its shell is /bin/sh.
#
# Usage: container.sh [TAG]   (default berth-demo-container:latest)
# Needs: busybox-static, and a Docker engine that answers.
set -euo pipefail
tag=${1:-berth-demo-container:latest}

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root
mkdir -p "$root"/{bin,etc,www,proc,sys,dev}
mkdir -m 1777 "$root/tmp"
cp /bin/busybox "$root/bin/busybox"
for applet in $(/bin/busybox --list); do
  [ -e "$root/bin/$applet" ] || ln -s busybox "$root/bin/$applet"
done
echo 'root:x:0:0:root:/:/bin/sh
nobody:x:65534:65534:nobody:/:/bin/sh' >"$root/etc/passwd"
echo 'root:x:0:
nogroup:x:65534:' >"$root/etc/group"
echo 'A container that Berth runs.' >"$root/www/index.html"

# Process 1 gets only those signals that it handles: the shell's trap makes a graceful stop instant.
cat >"$root/bin/serve" <<'X'
#!/bin/sh
trap 'echo stopping; exit 0' TERM INT
httpd -f -p "${PORT:-8080}" -h /www &
echo "serving on port ${PORT:-8080}"
wait
X
chmod 755 "$root/bin/serve"

tar -C "$root" --sort=name --owner=0 --group=0 --numeric-owner -c . |
  docker import --change 'ENV PATH=/bin' --change 'CMD ["/bin/serve"]' --change 'EXPOSE 8080/tcp' \
    --message 'Berth demo image' - "$tag" >/dev/null
echo "$tag"
