"""What tests share. VBSLAB names the program, beside which results are laid."""

import os
import pathlib
import subprocess

import pytest

import vbslab

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("VBSLAB", ROOT / "build" / "vbslab"))


@pytest.fixture
def program(tmp_path):
    """Runs the program vbslab in an empty folder, and gives what it prints."""
    if not PROGRAM.exists():
        pytest.skip(f"there is no {PROGRAM}")

    def run(*arguments, code=0):
        environment = {**os.environ, "XDG_DATA_HOME": str(tmp_path)}
        environment.pop("VBSLAB_DB", None)
        command = [str(PROGRAM), *map(str, arguments)]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def network():
    return vbslab.Network("lenet-5")


@pytest.fixture(scope="session")
def modelled(network):
    """A profile without a clock: it is the same in every test."""
    return network.measure(backend="analytic", batches="1-4")


@pytest.fixture(scope="session")
def measured(network):
    """A profile that can be executed on this machine."""
    return network.measure(batches=[1, 2, 4], time_limit_s=0.05, copies=False)


def shipped(name):
    path = ROOT / "db" / "profiles" / name
    if not path.exists():
        pytest.skip(f"there is no {path}")
    return path


@pytest.fixture(scope="session")
def alexnet_csv():
    return shipped("alexnet-a.csv")


@pytest.fixture(scope="session")
def alexnet(alexnet_csv):
    return vbslab.Profile(alexnet_csv)


@pytest.fixture(scope="session")
def large_csv():
    """A profile on which planner optimal takes long."""
    return shipped("resnet-50-a.csv")
