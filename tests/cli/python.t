#!/bin/sh
# The Python package, which is built here against the library of this build: its own tests in
# python/tests, and what it says where it cannot be built. Needs cffi, NumPy, pytest and setuptools, as
# Debian has them; make test-python tests the installation in a fresh environment. VBSLAB: the program;
# BUILD: the folder of the library; CC: the compiler; PYTHON: the interpreter.
. "$(dirname "$0")/lib.sh"

build=${BUILD:-$ROOT/build}
files="build documents experiment interrupt limit objects plan plot run store"

# skip_all WHY
skip_all()
{
    for file in $files "all tests"; do
        skip "the Python package: $file" "$1"
    done
    finish
}

python=
for candidate in "${PYTHON:-python3}" /usr/bin/python3; do
    "$candidate" -c 'import cffi, numpy, pytest, setuptools' >/dev/null 2>&1 && python=$candidate && break
done
[ -n "$python" ] || skip_all "there is no Python with cffi, numpy, pytest and setuptools"
! grep -q '__asan_\|__ubsan_\|__tsan_' "$VBSLAB" || skip_all "the library is built with a sanitizer"

# setup ARGUMENTS...: runs the package's setup.py; what it makes is in a folder of the build.
mkdir -p "$build/python"
setup()
{
    BUILD=$build CC=${CC:-cc} PYTHONDONTWRITEBYTECODE=1 \
        "$python" -W ignore "$ROOT/python/setup.py" -q egg_info --egg-base "$build/python" "$@" >out 2>err
    code=$?
}

setup build --build-base "$build/python" --build-lib "$build/python/lib"
[ $code -eq 0 ] && [ -f "$build"/python/lib/vbslab/_native.abi3.so ]
report $? "the Python package: build"

(cd "$dir" && OMP_WAIT_POLICY=passive PYTHONPATH=$build/python/lib PYTHONDONTWRITEBYTECODE=1 VBSLAB=$VBSLAB \
    env --default-signal=INT,QUIT "$python" -m pytest -v --tb=short -p no:cacheprovider -rs "$ROOT/python/tests" >out 2>&1)
ended=$?
sed -n 's/^SKIPPED/# SKIPPED/p' out
cp out all
for file in ${files#build }; do
    sed -n "s/.*\\(test_$file.py::.*\\)/\\1/p" all >out
    code=$(grep -c ' FAILED\| ERROR' out)
    grep -q ' PASSED' out && [ "$code" -eq 0 ]
    report $? "the Python package: $file"
done
cp all out
[ $ended -eq 0 ] || sed -n '/= FAILURES =/,$p' all | sed 's/^/# /' >&2
report $ended "the Python package: all tests"

# --- what is missing or does not fit is said in one line ---

cp -R "$ROOT/python" package
# refuses_setup NAME PART VARIABLES...
refuses_setup()
{
    name=$1 part=$2
    shift 2
    env "$@" "$python" -W ignore package/setup.py --version >out 2>err
    code=$?
    [ $code -eq 1 ] && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] && grep -q "^vbslab: .*$part" err
    report $? "$name"
}

mkdir -p none prefix/lib/pkgconfig prefix/include
refuses_setup "no library at all" "pkg-config finds no vbslab" PKG_CONFIG_PATH="$dir/none" PKG_CONFIG_LIBDIR="$dir/none"
cp -R "$ROOT/include/vbslab" prefix/include/
sed "s|^prefix=.*|prefix=$dir/prefix|; s/^Version:.*/Version: 9.9.9/; s/^Requires.*//" "$build/vbslab.pc" \
    >prefix/lib/pkgconfig/vbslab.pc
refuses_setup "an installed library without its archive" "no .*libvbslab.a" PKG_CONFIG_PATH="$dir/prefix/lib/pkgconfig"
touch prefix/lib/libvbslab.a
refuses_setup "a library of another version than the headers" "version 9.9.9, the headers .* of $(
    sed -n 's/^VERSION *= *//p' "$ROOT/Makefile")" PKG_CONFIG_PATH="$dir/prefix/lib/pkgconfig"
ln -s "$ROOT/include" include && touch Makefile && mv package python
env BUILD="$dir/none" "$python" -W ignore python/setup.py --version >out 2>err
[ $? -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q "^vbslab: there is no .*libvbslab.a; run 'make'" err
report $? "a checkout that was not built"
mkdir old && touch -d 2000-01-01 old/libvbslab.a old/vbslab.pc
env BUILD="$dir/old" "$python" -W ignore python/setup.py --version >out 2>err
[ $? -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q "is older than .*; run 'make' first" err
report $? "a build that is older than its headers"

finish
