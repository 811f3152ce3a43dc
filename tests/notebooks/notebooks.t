#!/bin/sh
# The notebooks of notebooks-export (check.py), with packages of PyPI, in an environment that is kept in the
# folder of the build. Run by `make test-notebooks`; `notebooks.t make` executes all of them instead.
# VBSLAB: the program; BUILD: its folder; PYTHON: the interpreter.
. "$(dirname "$0")/../cli/lib.sh"

build=${BUILD:-$ROOT/build}
environment=$build/notebooks
export BUILD="$build" CC="${CC:-cc}" PIP_DISABLE_PIP_VERSION_CHECK=1

bail()
{
    sed 's/^/# /' err >&2
    echo "Bail out! $1"
    exit 1
}

python=$environment/bin/python
if [ ! -x "$python" ] || ! "$python" -c 'import nbconvert, nbformat, ipykernel, matplotlib, pandas, cffi, setuptools' 2>err; then
    "${PYTHON:-python3}" -m venv "$environment" >out 2>err || bail "no virtual environment"
    "$python" -m pip install -q nbconvert nbformat ipykernel 'matplotlib>=3.7' pandas cffi setuptools wheel >out 2>err ||
        bail "pip installs no nbconvert"
fi
"$python" -W ignore "$ROOT/python/setup.py" -q egg_info --egg-base "$environment" build --build-base "$environment/made" \
    --build-lib "$environment/lib-vbslab" >out 2>err || bail "the Python package is not built"
PYTHONPATH=$environment/lib-vbslab
MPLBACKEND=module://matplotlib_inline.backend_inline
PYTHONDONTWRITEBYTECODE=1
OMP_WAIT_POLICY=passive
export PYTHONPATH MPLBACKEND PYTHONDONTWRITEBYTECODE OMP_WAIT_POLICY
# Kernels are those of this environment, whatever the user has installed.
export JUPYTER_PREFER_ENV_PATH=1 IPYTHONDIR="$dir/ipython" JUPYTER_CONFIG_DIR="$dir/jupyter" JUPYTER_RUNTIME_DIR="$dir/runtime"

if [ "${1:-}" = make ]; then
    shift
    "$python" "$ROOT/tools/notebooks.py" "$VBSLAB" "$ROOT/notebooks-export" "$@"
else
    "$python" "$ROOT/tests/notebooks/check.py" "$VBSLAB" "$ROOT"
fi
