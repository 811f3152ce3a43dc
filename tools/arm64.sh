#!/bin/sh
# arm64.sh - builds everything for arm64 with Debian's cross compiler and runs the unit tests of the
# rooms below under qemu's user mode. Called by `make test-arm64`; everything that it makes is under
# $BUILD (default build-arm64).
#
# The other libraries are unpacked into a folder of their own, with apt lists of their own: no
# package of this machine changes, except for the cross compiler and qemu, which are installed where
# they are missing (as root).
#
#   ROOMS   rooms whose unit tests are run (default: base data coded model profile schedule place plan replay store)
#   JOBS    how many compilers and tests run at once (default: one per core)
set -eu
cd "$(dirname "$0")/.."
build=$(pwd)/${BUILD:-build-arm64}
rooms=${ROOMS:-base data coded model profile schedule place plan replay store}
jobs=${JOBS:-$(nproc)}
triple=aarch64-linux-gnu
sysroot=$build/sysroot
libraries="libgomp1 libgsl-dev libgsl27 libgslcblas0
    libjansson-dev libjansson4 libsqlite3-dev libsqlite3-0 libprotobuf-c-dev libprotobuf-c1
    libdnnl-dev libdnnl2 libtomlplusplus-dev zlib1g-dev zlib1g nettle-dev libnettle8"

tools/deps.sh gcc-$triple g++-$triple libc6-dev-arm64-cross qemu-user-static

# Calls apt for arm64, with lists and caches of its own.
apt_arm64() {
    apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$build/apt" \
        -o Dir::State::status=/dev/null -o Dir::Cache="$build/apt/cache" -o APT::Sandbox::User=root "$@"
}
if [ "$(cat "$sysroot/complete" 2> /dev/null || true)" != "$libraries" ]; then
    echo "unpacking the arm64 libraries into ${sysroot#"$PWD"/}" >&2
    rm -rf "$sysroot" "$build/apt"
    mkdir -p "$sysroot" "$build/apt/lists/partial" "$build/apt/cache/archives/partial" "$build/apt/debs"
    apt_arm64 update
    # shellcheck disable=SC2086
    (cd "$build/apt/debs" && apt_arm64 download $libraries)
    for package in "$build"/apt/debs/*.deb; do
        dpkg-deb -x "$package" "$sysroot"
    done
    rm -rf "$build/apt"
    # Absolute links of the packages would lead out of the folder.
    find "$sysroot" -type l -lname '/*' | while read -r link; do
        ln -sf "$sysroot$(readlink "$link")" "$link"
    done
    echo "$libraries" > "$sysroot/complete"
fi

libs=$sysroot/usr/lib/$triple
more=$sysroot/lib/$triple # zlib
export PKG_CONFIG_LIBDIR="$libs/pkgconfig:$sysroot/usr/share/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$sysroot"
tests=
unset ROOMS # a variable of the Makefile, too
for room in $rooms; do
    tests="$tests $(echo tests/unit/"$room"/*.c)"
done
# qemu tells a forked process the start time of its parent, so that owners of unfinished profiles look
# gone. Planners of long requests and of the best schedules with weights take minutes under qemu, and the
# tests of smaller requests run the same code. These three are built, but not run.
binaries=$(for test in $tests; do
    case $test in
    tests/unit/store/processes.c | tests/unit/plan/long.c | tests/unit/plan/weights_best.c) ;;
    *) echo "${BUILD:-build-arm64}/${test%.c}" ;;
    esac
done)
make --no-print-directory -j"$jobs" BUILD="${BUILD:-build-arm64}" CC="${CC:-$triple-gcc}" CUDA=no TESTS="$tests" \
    OPT="-O2" CFLAGS="-isystem $sysroot/usr/include -isystem $sysroot/usr/include/$triple" \
    LDFLAGS="-L$libs -Wl,-rpath-link,$libs:$more" all tests

# The cross compiler brings libc, libgcc and libstdc++.
# A step takes five to twenty times as long as on this machine; TRIALS_PERCENT=100 tries all random
# subjects.
export TRIALS_PERCENT=${TRIALS_PERCENT:-20} QEMU_LD_PREFIX=/usr/$triple QEMU_SET_ENV="LD_LIBRARY_PATH=$libs:$more"
# shellcheck disable=SC2086
BUILD=$build prove -j "$jobs" --exec "qemu-aarch64-static" --failures --timer $binaries
