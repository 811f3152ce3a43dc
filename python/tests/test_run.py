"""Executors: arrays of NumPy in, arrays of NumPy out, the values of the program."""

import gc
import os
import pathlib
import re
import subprocess
import sys
import threading

import numpy as np
import pytest

import vbslab
from vbslab._waiting import spin_count, usable_processors


@pytest.fixture(scope="module")
def x(network):
    return np.random.default_rng(1).standard_normal((4, *network.input_shape), np.float32)


@pytest.fixture(scope="module")
def executor(network, measured):
    with vbslab.Executor(network, measured, memory="1MiB", request=4) as made:
        yield made


def test_outputs_are_those_of_the_program(network, measured, executor, x, program, tmp_path):
    measured.to_csv(tmp_path / "lenet.csv")
    executor.schedule.to_json(tmp_path / "plan.json")
    np.save(tmp_path / "in.npy", x)
    arguments = ["run", "lenet.csv", "--schedule", "plan.json", "--runs", "1", "--warmup", "0"]
    program(*arguments, "--input", "in.npy", "--output", "out.npy")
    assert (executor.run(x).output == np.load(tmp_path / "out.npy")).all()
    program(*arguments, "--output", "seeded.npy")
    assert (executor.run().output == np.load(tmp_path / "seeded.npy")).all()


def test_outputs_are_written_where_the_caller_wants_them(executor, x):
    out = np.full((4, 10), np.nan, np.float32)
    run = executor.run(x, out=out)
    assert run.output is out and run.outputs == {"prob": out}
    np.testing.assert_allclose(out.sum(axis=1), 1, rtol=1e-5)
    for given in ([out], {"prob": out}):
        assert executor.run(x, out=given).output is out
    half = np.empty((8, 10), np.float32)
    assert executor.run(x, out=half[4:]).output.base is half


def test_a_report_has_times_and_memory(executor, x):
    run = executor.run(x)
    assert 0 < run.compute_us <= run.time_us and run.steps is None
    assert run.base_bytes > 0 and "prob 4x10" in repr(run) and "<table>" in run._repr_html_()
    assert executor.placement.placed_bytes <= 2**20
    assert executor.request == 4 and executor.schedule.fits


def test_predict_takes_any_number_of_samples(executor, x):
    expected = executor.run(x).output
    many = np.concatenate([x, x, x[:1]])
    predicted = executor.predict(many)
    assert predicted.shape == (9, 10)
    assert (predicted[:4] == expected).all() and (predicted[4:8] == expected).all()
    np.testing.assert_allclose(predicted[8], expected[0], rtol=1e-5)
    assert executor.predict(x[:0]).shape == (0, 10)


def test_predict_computes_no_more_than_fewer_samples_than_a_request(network, measured, x, monkeypatch):
    with vbslab.Executor(network, measured, memory="1MiB", request=4) as executor:
        expected, opened, ran = executor.run(x).output, [], []
        own_open, own_run = executor._open, executor._run
        monkeypatch.setattr(executor, "_open", lambda call, request: opened.append(request) or own_open(call, request))
        monkeypatch.setattr(executor, "_run", lambda call, x, *rest: ran.append(len(x)) or own_run(call, x, *rest))
        for i in range(3):
            np.testing.assert_allclose(executor.predict(x[i : i + 1])[0], expected[i], rtol=1e-5)
        assert opened == [1] and ran == [1, 1, 1]
        np.testing.assert_allclose(executor.predict(x[:3]), expected[:3], rtol=1e-5)
        assert opened == [1, 3] and ran[3:] == [3]
        assert executor.predict(np.concatenate([x, x[:1]])).shape == (5, 10)
        assert opened == [1, 3, 4] and ran[4:] == [4, 4]
        assert (executor.run(x).output == expected).all() and executor.request == 4
        executor.predict(x[:1])
        assert executor.placement.placed_bytes <= 2**20 and opened[3:] == [1, 4]
    assert executor.closed


def test_a_smaller_request_that_cannot_be_placed_is_filled_up(network, measured, x, monkeypatch):
    with vbslab.Executor(network, measured, memory="1MiB", request=4) as executor:
        expected, own_open = executor.run(x).output, executor._open

        def open_only(call, request):
            if request < 4:
                raise vbslab.InfeasibleError("cannot be placed")
            return own_open(call, request)

        monkeypatch.setattr(executor, "_open", open_only)
        np.testing.assert_allclose(executor.predict(x[:1])[0], expected[0], rtol=1e-5)


def test_an_executor_of_a_schedule_fills_requests_up(network, measured, x):
    plan = measured.plan("200KiB", request=4)
    with vbslab.Executor(network, measured, plan) as executor:
        np.testing.assert_allclose(executor.predict(x[:1])[0], executor.run(x).output[0], rtol=1e-5)


@pytest.mark.parametrize(
    "make, error, part",
    [
        (lambda x: x.astype(np.float64), TypeError, "float64"),
        (lambda x: x.astype(">f4"), TypeError, "dtype"),
        (lambda x: x[:3], ValueError, r"\(3, 1, 28, 28\); it has to be \(4, 1, 28, 28\)"),
        (lambda x: x.reshape(4, 28, 28), ValueError, "shape"),
        (lambda x: np.asfortranarray(x), ValueError, "contiguous"),
        (lambda x: np.repeat(x, 2, axis=3)[..., ::2], ValueError, "contiguous"),
        (lambda x: x.tolist(), TypeError, "list"),
    ],
)
def test_an_input_that_would_be_copied_is_refused(executor, x, make, error, part):
    with pytest.raises(error, match=part):
        executor.run(make(x))


def test_outputs_that_cannot_be_written_are_refused(executor, x):
    fine = np.empty((4, 10), np.float32)
    frozen = fine.copy()
    frozen.flags.writeable = False
    for out, error in (
        (frozen, ValueError),
        (fine[:3], ValueError),
        (np.empty((10, 4), np.float32).T, ValueError),
        (fine.astype(np.float64), TypeError),
        ({"none": fine}, ValueError),
        ([], ValueError),
    ):
        with pytest.raises(error):
            executor.run(x, out=out)
    with pytest.raises(TypeError):
        executor.predict([1.0])


def test_an_executor_of_a_schedule_has_a_trace(network, measured, x):
    plan = measured.plan("200KiB", request=4)
    with vbslab.Executor(network, measured, plan, trace=True, debug_checks=True) as made:
        run = made.run(x)
    assert len(run.steps) == plan.n_steps
    assert (run.steps["end_us"] >= run.steps["start_us"]).all()


def test_weights_inside_the_budget(network, x, executor):
    profile = network.measure(batches=[1, 4], time_limit_s=0.2, copies=True)
    with vbslab.Executor(network, profile, memory="3MiB", request=4, weights="included") as made:
        assert made.schedule.weights == "included"
        np.testing.assert_allclose(made.run(x).output, executor.run(x).output, rtol=1e-4, atol=1e-6)


def test_options_that_do_not_go_together(network, measured, modelled):
    plan = measured.plan("1MiB", request=4)
    for options, part in (
        ({}, "needs a schedule or memory"),
        ({"schedule": plan, "planner": "fbs"}, "planner"),
        ({"memory": "1MiB", "trace": True}, "trace"),
        ({"memory": "1MiB", "request": 0}, "request"),
    ):
        with pytest.raises(ValueError, match=part):
            vbslab.Executor(network, measured, **options)
    with pytest.raises(vbslab.InfeasibleError, match="least"):
        vbslab.Executor(network, measured, memory=10)
    with pytest.raises(vbslab.UnsupportedError):
        vbslab.Executor(network, modelled, memory="1MiB")
    with pytest.raises((vbslab.InvalidError, vbslab.NotFoundError)):
        vbslab.Executor(vbslab.Network("alexnet"), measured, plan)


def test_an_executor_outlives_what_it_borrows_until_it_is_closed(measured, x):
    network = vbslab.Network("lenet-5")
    executor = vbslab.Executor(network, measured, memory="1MiB", request=4)
    expected = executor.run(x).output
    network.close()
    del network
    gc.collect()
    assert (executor.run(x).output == expected).all()
    executor.close()
    executor.close()
    assert executor.closed
    with pytest.raises(vbslab.ClosedError):
        executor.run(x)


def test_two_threads_take_turns(executor, x):
    expected, wrong = executor.run(x).output, []

    def work(sign):
        for _ in range(5):
            if not (executor.run(sign * x).output == wanted[sign]).all():
                wrong.append(sign)

    wanted = {1: expected, -1: executor.run(-x).output}
    threads = [threading.Thread(target=work, args=(sign,)) for sign in (1, -1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# The network of tests/data/onnx/several.onnx: y = (a + t) * m, z = table[ids], where table is 5x3.
SEVERAL = pathlib.Path(__file__).resolve().parents[2] / "tests" / "data" / "onnx" / "several.onnx"
A, IDS = "a'b=c", "$ids;"


@pytest.fixture(scope="module")
def several():
    network = vbslab.Network(SEVERAL)
    profile = network.measure(batches=[1, 2], time_limit_s=0.1, copies=False)
    with vbslab.Executor(network, profile, memory="64KiB", request=2) as made:
        yield made


def samples(n):
    floats = np.arange(4 * n, dtype=np.float32).reshape(n, 4)
    return {A: floats, "m": floats % 2 == 1, IDS: np.arange(2 * n).reshape(n, 2) % 5, "t": np.array(2, np.float32)}


def test_inputs_are_given_by_their_names(several):
    inputs = {i.name: i for i in several.network.inputs}
    assert list(inputs) == [A, "m", IDS, "t"]
    assert inputs[A].shape == (4,) and inputs[A].number == "real" and not inputs[A].shared
    assert inputs["m"].number == "bool" and inputs[IDS].number == "whole" and inputs["t"].shared
    given = samples(2)
    run = several.run(given)
    np.testing.assert_array_equal(run.outputs["y=1"], (given[A] + 2) * given["m"])
    np.testing.assert_array_equal(run.outputs["z"], np.arange(15).reshape(5, 3)[given[IDS]])
    five = samples(5)
    np.testing.assert_array_equal(several.predict(five), (five[A] + 2) * five["m"])


@pytest.mark.parametrize(
    "change, error, what",
    [
        ({"t": None}, vbslab.UsageError, "has no array of input 't'"),
        ({"x": np.zeros(2, np.float32)}, vbslab.UsageError, "no input 'x'"),
        ({A: np.zeros((2, 4))}, TypeError, "dtype float64"),
        ({A: np.zeros((2, 3), np.float32)}, vbslab.UsageError, r"has shape \(2, 3\); it has to be \(2, 4\)"),
        ({IDS: np.full((2, 2), 5)}, vbslab.UsageError, "values from 5 to 5; it takes those from -5 to 4"),
        ({"m": np.full((2, 4), 2)}, vbslab.UsageError, "it takes those from 0 to 1"),
        ({"m": np.full((2, 4), 2, np.float32)}, vbslab.UsageError, "it takes those from 0 to 1"),
        ({IDS: np.full((2, 2), 0.5, np.float32)}, vbslab.UsageError, "values that are no whole numbers"),
    ],
)
def test_inputs_that_do_not_suit_are_refused(several, change, error, what):
    given = {name: array for name, array in {**samples(2), **change}.items() if array is not None}
    with pytest.raises(error, match=what):
        several.run(given)


def test_inputs_are_chosen_by_their_names():
    fixed = vbslab.Network(SEVERAL, fix={"t": 2})
    assert [i.name for i in fixed.inputs] == [A, "m", IDS]
    assert vbslab.Network(SEVERAL, input={A: (4,)}).inputs[0].shape == (4,)
    with pytest.raises(vbslab.UsageError, match="no input 'q'"):
        vbslab.Network(SEVERAL, input={"q": "4"})


def test_end():
    for until in ("root,boxes", ["root", "matmul/boxes"]):
        network = vbslab.Network(SEVERAL.with_name("detector.onnx"), until=until)
        assert [output.name for output in network.outputs] == ["root", "boxes"]
    with pytest.raises(vbslab.UnsupportedError, match="--until root,boxes,by,class"):
        vbslab.Network(SEVERAL.with_name("detector.onnx"))


def test_samples_of_a_network_that_counts_them_are_refused():
    ones = np.ones((4, 3), np.float32)

    def run(request, x, **options):
        network = vbslab.Network(SEVERAL.with_name("counted.onnx"), **options)
        profile = network.measure(batches=[1, 2, 4], time_limit_s=0.1, copies=False)
        with vbslab.Executor(network, profile, memory="64KiB", request=request) as made:
            return made.run(x).output

    what = r"4 samples, but the network takes whole inputs of its file: node 'times' \(Mul\): .*input=\(4, 3\)"
    with pytest.raises(vbslab.UsageError, match=what):
        run(4, ones)
    np.testing.assert_array_equal(run(1, ones[None], input=(4, 3)), 4 * ones[None])
    np.testing.assert_array_equal(run(4, ones, input=(1, 3)), ones)


def test_bytes_are_those_of_the_precision():
    floats, halves = vbslab.Network("lenet-5"), vbslab.Network("lenet-5:bf16")
    assert halves.name == "lenet-5:bf16" and halves.layers[0].out_bytes * 2 == floats.layers[0].out_bytes
    assert halves.layers[0].weight_bytes < floats.layers[0].weight_bytes == 4 * 520


def spins(code, **environment):
    """How often a thread that waits looks for work, as libgomp tells it when it is loaded."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_"))}
    own.update(environment, OMP_DISPLAY_ENV="verbose")
    done = subprocess.run([sys.executable, "-c", code], env=own, capture_output=True, text=True)
    found = re.findall(r"GOMP_SPINCOUNT = '([^']*)'", done.stderr)
    assert done.returncode == 0 and len(found) <= 1, done.stderr
    return found[0] if found else pytest.skip("libgomp does not tell its settings")


def test_threads_that_wait_sleep_soon():
    code = "import os, vbslab; assert 'GOMP_SPINCOUNT' not in os.environ"
    assert spins(code) in ("0", "1000")


@pytest.mark.parametrize(
    "running, processors, count",
    [
        ([1] * 5, 2, "1000"),  # this thread alone
        ([2] * 5, 2, "0"),  # a program of one thread beside two that compute
        ([2] * 5, 3, "1000"),  # for which there is a processor
        ([1, 3, 1, 1], 2, "1000"),  # most looks decide
        ([9, 1, 9, 9], 2, "0"),
        ([0] * 5, 2, "1000"),  # the system does not tell
    ],
)
def test_threads_that_wait_sleep_at_once_beside_others(monkeypatch, running, processors, count):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    looks = iter(running)
    assert spin_count(lambda: next(looks), processors) == count


def test_more_threads_than_processors_are_refused():
    network, most = vbslab.Network("lenet-5"), usable_processors()
    profile = network.measure(backend="analytic", batches="1")
    words = f"{most + 1} threads are more than the {most} processor"
    for call in (
        lambda: network.measure(batches="1", threads=most + 1),
        lambda: vbslab.Executor(network, profile, memory="1MiB", threads=most + 1),
    ):
        with pytest.raises(vbslab.UsageError, match=words):
            call()


def test_threads_that_wait_do_as_the_user_says():
    assert spins("import vbslab", GOMP_SPINCOUNT="77") == "77"
    assert spins("import vbslab", OMP_WAIT_POLICY="passive") != "1000"


def test_threads_that_wait_do_as_whoever_loaded_libgomp_says():
    assert spins("import ctypes; ctypes.CDLL('libgomp.so.1'); import vbslab") != "1000"
