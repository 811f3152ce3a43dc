#!/bin/sh
# deps.sh [PACKAGE...] - installs missing Debian packages: the named ones, or without names all that
# building, testing and plotting need. Without root it prints the command that would install them.
set -eu

packages="gcc g++ libc6-dev make pkg-config perl libgsl-dev libsqlite3-dev libjansson-dev libdnnl-dev
          libprotobuf-c-dev protobuf-c-compiler libonnx-dev libonnx-testdata libtomlplusplus-dev zlib1g-dev nettle-dev
          gnuplot-nox sqlite3 node-d3 lowdown"
[ $# -eq 0 ] || packages=$*

command -v dpkg-query > /dev/null || exit 0 # no Debian: the build says what is missing

missing=
for package in $packages; do
    state=$(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2> /dev/null || true)
    case $state in
    ii*) ;;
    *) missing="$missing $package" ;;
    esac
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
    echo "vbslab: packages are missing; run this as root, then try again:" >&2
    echo "    apt-get install -y --no-install-recommends$missing" >&2
    exit 1
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086
apt-get install -y -qq --no-install-recommends $missing > /dev/null 2>&1 || {
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends $missing > /dev/null
}
