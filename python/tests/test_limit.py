"""Limits of the whole process: by the estimate, and as the system counts in a fresh process."""

import subprocess
import sys

import numpy as np
import pytest

import vbslab

MIB = 2**20
SLACK = 4 * MIB  # by which the memory of this process may change between two estimates

WIDE = """model wide
input 3x64x64
conv c1 out=32 kernel=3 pad=1
relu r1
conv c2 out=32 kernel=3 pad=1
maxpool p1 kernel=8 stride=8
fc f out=7
"""


def test_an_estimate_has_parts(modelled):
    plan = modelled.plan("100KiB", request=4)
    parts = modelled.process_memory(plan, process_bytes=64 * MIB)
    assert parts.process_bytes == 64 * MIB and parts.arena_bytes >= plan.peak_bytes
    assert parts.total_bytes > parts.process_bytes + parts.arena_bytes + parts.weight_bytes + parts.value_bytes
    assert modelled.process_memory(plan, threads=64, process_bytes=64 * MIB).thread_bytes > parts.thread_bytes
    assert modelled.process_memory(plan).process_bytes > MIB


@pytest.mark.parametrize("weights", ["excluded", "included"])
def test_plans_keep_the_limit_by_the_estimate(alexnet_csv, weights):
    profile = vbslab.Profile(alexnet_csv.with_name("alexnet-weights-a.csv"))
    fastest = profile.plan(total_memory="8GiB", weights=weights)
    with pytest.raises(vbslab.InfeasibleError) as caught:
        profile.plan(total_memory=1, weights=weights)
    limit = (caught.value.least_bytes + profile.process_memory(fastest).total_bytes) // 2
    plan = profile.plan(total_memory=limit, weights=weights)
    assert plan.peak_bytes < fastest.peak_bytes and plan.time_us >= fastest.time_us and plan.fits
    assert profile.process_memory(plan).total_bytes <= limit + SLACK
    with profile.solver(weights=weights) as solver:
        assert solver.plan(total_memory=limit).peak_bytes < fastest.peak_bytes


def test_a_limit_that_no_plan_keeps_is_refused_with_numbers(network, measured):
    with pytest.raises(vbslab.InfeasibleError, match="where 1 MiB is the limit: .* were there before") as caught:
        measured.plan(total_memory="1MiB", request=4)
    least = caught.value.least_bytes
    assert least > measured.process_memory(measured.plan("1MiB", request=4)).process_bytes - SLACK
    assert measured.plan(total_memory=least + SLACK, request=4).request == 4
    with pytest.raises(vbslab.InfeasibleError, match="where 1 MiB is the limit: .* were there before"):
        vbslab.Executor(network, measured, total_memory=MIB, request=4)


def test_nothing_is_prepared_where_the_limit_is_refused(network, measured):
    told = []
    with pytest.raises(vbslab.InfeasibleError):
        vbslab.Executor(network, measured, total_memory="1MiB", progress=lambda done, left, text: told.append(text))
    assert "making kernels" not in told
    with vbslab.Executor(
        network, measured, total_memory="2GiB", request=4, progress=lambda done, left, text: told.append(text)
    ):
        assert "making kernels" in told


def test_an_executor_within_a_limit_computes_the_same(network, measured, monkeypatch):
    x = np.random.default_rng(1).standard_normal((4, *network.input_shape), np.float32)
    with vbslab.Executor(network, measured, memory="1MiB", request=4) as executor:
        expected = executor.run(x).output
    with vbslab.Executor(network, measured, total_memory="2GiB", request=4) as executor:
        assert measured.process_memory(executor.schedule).total_bytes <= 2**31 + SLACK
        assert executor.placement.placed_bytes <= executor.schedule.memory_bytes < 2**31
        np.testing.assert_allclose(executor.run(x).output, expected, rtol=1e-5)
        # Fewer samples are filled up: nothing else is prepared.
        monkeypatch.setattr(executor, "_open", None)
        np.testing.assert_allclose(executor.predict(x[:1])[0], expected[0], rtol=1e-5)
        assert executor.predict(np.concatenate([x, x[:1]])).shape == (5, 10)


def test_options_that_do_not_go_together(network, measured, modelled):
    plan = measured.plan("1MiB", request=4)
    for options, part in (
        ({"memory": "1MiB", "total_memory": "1GiB"}, "one of memory and total_memory"),
        ({"total_memory": 0}, "total_memory is 0"),
        ({"total_memory": "many"}, "'many' is not a size"),
        ({"total_memory": "1GiB", "trace": True}, "trace"),
        ({"schedule": plan, "total_memory": "1GiB"}, "total_memory is for planning"),
    ):
        with pytest.raises(vbslab.UsageError, match=part):
            vbslab.Executor(network, measured, **options)
    for profile in (modelled, measured):
        with pytest.raises(vbslab.UsageError, match="one of memory and total_memory"):
            profile.plan("1MiB", total_memory="1GiB")
        with pytest.raises(vbslab.UsageError, match="needs memory"):
            profile.plan()
        with profile.solver(request=4) as solver, pytest.raises(vbslab.UsageError, match="needs memory"):
            solver.plan()


# Runs a request in the least memory by the estimate and a MiB, and prints this and the most that the
# process took. A run counts anew, so that the most is looked up before and after it.
FRESH = """
import numpy, vbslab

def most():
    return [int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM")][0]

network, profile = vbslab.Network("./wide.net"), vbslab.Profile("./wide.csv")
try:
    profile.plan(total_memory=1, request=32)
except vbslab.InfeasibleError as error:
    limit = error.least_bytes + 2**20
x = numpy.zeros((32, 3, 64, 64), numpy.float32)
with vbslab.Executor(network, profile, total_memory=limit, request=32) as executor:
    prepared = most()
    executor.run(x)
    print(limit, max(prepared, most()))
"""


def test_a_fresh_process_stays_within_its_limit(tmp_path):
    (tmp_path / "wide.net").write_text(WIDE)
    network = vbslab.Network(tmp_path / "wide.net")
    network.measure(batches=[1, 8, 32], time_limit_s=0.1, copies=False).to_csv(tmp_path / "wide.csv")
    done = subprocess.run([sys.executable, "-c", FRESH], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    limit, most = map(int, done.stdout.split())
    assert limit / 4 < most <= limit
