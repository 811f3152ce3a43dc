"""Ctrl-C: a real SIGINT to a process in a long call."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

import pytest

import vbslab

BEGIN = """
import signal, sys, threading, vbslab
profile = vbslab.Profile(sys.argv[1])
def begun(*about):
    print("begun", flush=True)
"""

# Without a limit of states or time worth the name, so that only the signal ends it.
PLAN = """
solver = profile.solver("optimal", request=64, time_limit_s=3600, progress=begun)
"""

CAUGHT = """
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def interrupted(script, *arguments):
    """Runs a script, sends SIGINT once it has begun, and gives its exit code and what it printed."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        watchdog = threading.Timer(300, process.kill)
        watchdog.start()
        first = process.stdout.readline()
        if first == "begun\n":
            process.send_signal(signal.SIGINT)
        out = process.stdout.read()
        code = process.wait()
        watchdog.cancel()
        errors.seek(0)
        err = errors.read()
    assert first == "begun\n", err
    return code, out.replace("begun\n", ""), err


def test_planning_ends_with_keyboard_interrupt(large_csv):
    script = BEGIN + CAUGHT.format(call=PLAN.strip().replace("\n", "\n    ") + '; solver.plan("20MiB")')
    code, out, err = interrupted(script + 'print(profile.plan("20MiB").fits)', large_csv)
    assert (code, out) == (0, "interrupted\nTrue\n"), err


def test_python_ends_as_it_does_without_the_library(large_csv):
    code, out, err = interrupted(BEGIN + PLAN + 'solver.plan("20MiB")', large_csv)
    assert code == -signal.SIGINT and out == "" and err.rstrip().endswith("KeyboardInterrupt")


def test_a_search_leaves_the_best_schedule_so_far(large_csv):
    script = """
solver = profile.solver("optimal", time_limit_s=3600)
timer = threading.Timer(0.5, begun)
timer.start()
""" + CAUGHT.format(call='solver.plan("20MiB")')
    script += """
best = solver.best_so_far
print(best is None or (best.interrupted and profile.replay(best).fits))
"""
    code, out, err = interrupted(BEGIN + script, large_csv)
    assert (code, out) == (0, "interrupted\nTrue\n"), err


def test_handlers_of_the_user_are_called(large_csv):
    script = BEGIN + 'signal.signal(signal.SIGINT, lambda number, frame: print("mine", flush=True))\n'
    script += (
        "try:\n    "
        + PLAN.strip()
        + '\n    solver.plan("20MiB")\nexcept vbslab.CancelledError:\n    print("cancelled")\n'
    )
    code, out, err = interrupted(script, large_csv)
    assert code == 0 and out in ("mine\ncancelled\n", "mine\n"), err


def test_ignored_signals_stay_ignored(large_csv):
    script = BEGIN + "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    script += 'print(profile.solver("optimal", request=4, node_limit=2000, progress=begun).plan("20MiB").fits)'
    code, out, err = interrupted(script, large_csv)
    assert (code, out) == (0, "True\n"), err


def test_measuring_ends_too(tmp_path):
    script = """
import sys, vbslab
network = vbslab.Network("lenet-5")
store = vbslab.Store(sys.argv[1])
def begun(done, left_s, text):
    if done > 0:
        print("begun", flush=True)
try:
    store.measure(network, batches="1,2", time_limit_s=3600, copies=False, progress=begun)
except KeyboardInterrupt:
    print("interrupted", any(entry.complete for entry in store.entries()), flush=True)
"""
    code, out, err = interrupted(script, tmp_path / "store.sqlite")
    assert (code, out) == (0, "interrupted False\n"), err


def test_calls_of_other_threads_are_cancelled(large_csv, alexnet):
    raised, begun, profile = [], threading.Event(), vbslab.Profile(large_csv)

    def work():
        try:
            profile.plan("20MiB", "optimal", request=64, time_limit_s=3600, progress=lambda *about: begun.set())
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    assert begun.wait(300)
    vbslab.cancel_calls()
    thread.join(300)
    assert not thread.is_alive()
    # A search that has found a schedule gives it.
    assert not raised or isinstance(raised[0], vbslab.CancelledError)
    assert alexnet.plan("8MiB").fits


def test_the_handler_of_python_is_there_again(alexnet):
    before = signal.getsignal(signal.SIGINT)
    alexnet.plan("8MiB")
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)
