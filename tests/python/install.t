#!/bin/sh
# The Python package as users install it, in fresh virtual environments, with what PyPI has: from a
# checkout, from a wheel, and with a library that `make install` installed. Run by `make test-python`.
. "$(dirname "$0")/../cli/lib.sh"

build=${BUILD:-$ROOT/build}
python=${PYTHON:-python3}
export BUILD="$build" CC="${CC:-cc}" PIP_DISABLE_PIP_VERSION_CHECK=1

# environment NAME: makes one, with pip in $pip.
environment()
{
    "$python" -m venv "$1" >out 2>err || { echo "Bail out! $python makes no virtual environment"; exit 1; }
    pip=$dir/$1/bin/pip
}

environment plain
"$pip" install -q "$ROOT/python" >out 2>err
code=$?
[ $code -eq 0 ] && plain/bin/python -c 'import vbslab, sys
assert "pandas" not in sys.modules
network = vbslab.Network("lenet-5")
profile = network.measure(backend="analytic", batches="1-2")
assert profile.plan("1MiB", request=2).fits
try:
    profile.to_dataframe()
except ImportError as error:
    print(vbslab.__version__, error)' >out 2>err && grep -q "$(sed -n 's/^VERSION *= *//p' "$ROOT/Makefile").*pip install pandas" out
report $? "pip install from a checkout, without pandas"

"$pip" wheel -q --no-deps -w wheels "$ROOT/python" >out 2>err
code=$?
plain/bin/python -m zipfile -l wheels/*.whl | awk '{ print $1 }' | grep '^vbslab/' | sort >files
(cd "$ROOT/python" && find vbslab -name '*.py' -o -name py.typed; echo vbslab/_native.abi3.so) | sort | diff - files >out
[ $? -eq 0 ] && ls wheels/vbslab-*-cp39-abi3-linux_*.whl >out 2>err
report $? "a wheel for any Python from 3.9 on"

environment tested
"$pip" install -q "$(ls wheels/*.whl)[test]" >out 2>err &&
    (cd "$dir" && env --default-signal=INT,QUIT tested/bin/python -m pytest -q -p no:cacheprovider "$ROOT/python/tests") >out 2>&1
report $? "all tests with the newest packages of PyPI"

make -s -C "$ROOT" --no-print-directory install BUILD="$build" PREFIX="$dir/prefix" >out 2>err &&
    cp -R "$ROOT/python" package && rm -rf package/build package/*.egg-info && environment installed &&
    PKG_CONFIG_PATH=$dir/prefix/lib/pkgconfig "$pip" install -q ./package >out 2>err &&
    installed/bin/python -c 'import vbslab; print(vbslab.Network("alexnet").n_layers)' >out 2>err && [ "$(cat out)" = 14 ]
code=$?
report $code "pip install with an installed library"

finish
