# Sourced by guest.sh: finds Debian's current cloud kernel, and unpacks it.

# kernel_unpack CACHE DIR unpacks the package that linux-image-cloud-amd64 depends on into DIR. The package is kept in
# CACHE, so that the next build needs no network as long as apt's lists name the same version.
kernel_unpack() {
  local cache=$1 dir=$2 package deb
  package=$(kernel_package)
  if [ -z "$package" ]; then
    apt-get update -qq
    package=$(kernel_package)
  fi
  [ -n "$package" ] || { echo "no package linux-image-cloud-amd64 in apt's lists" >&2; return 1; }
  mkdir -p "$cache/kernel"
  deb=$(kernel_cached "$cache" "$package")
  if [ -z "$deb" ]; then
    local tmp
    tmp=$(mktemp -d "$cache/kernel/download.XXXXXX")
    chmod 755 "$tmp"
    (cd "$tmp" && { apt-get -qq -o APT::Sandbox::User=root download "$package" ||
      { apt-get update -qq && apt-get -qq -o APT::Sandbox::User=root download "$package"; }; })
    mv "$tmp"/*.deb "$cache/kernel/"
    rmdir "$tmp"
    deb=$(kernel_cached "$cache" "$package")
  fi
  mkdir -p "$dir"
  dpkg-deb -x "$deb" "$dir"
}

# kernel_package prints the name of the package with the kernel itself, or nothing.
kernel_package() {
  apt-cache depends linux-image-cloud-amd64 2>/dev/null | awk '$1 == "Depends:" && $2 ~ /^linux-image-/ { print $2; exit }'
}

# kernel_cached CACHE PACKAGE prints the newest cached package file, or nothing.
kernel_cached() {
  find "$1/kernel" -maxdepth 1 -name "$2_*.deb" | sort -V | tail -n 1
}
