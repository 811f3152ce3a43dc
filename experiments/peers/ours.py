#!/usr/bin/env python3
"""Times vbslab on the ONNX networks that peers.py times, predicted and executed, as CSV.

Without --memory there is no budget: the plan gets what it wants, and its arena is its peak. Every
line comes from a process of its own, `vbslab run NET.onnx`; its high-water is that of the whole
process, its base that of the program before it reads anything. A network is measured once, into
the store in the models' folder.
"""
import argparse
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

import peers  # noqa: E402

COLUMNS = ["network", "planner", "weights", "request", "budget_bytes", "predicted_us", "median_us",
           "low_us", "high_us", "fastest_us", "runs", "base_bytes", "high_water_bytes",
           "arena_bytes", "process", "others_percent"]


class Failed(Exception):
    """A command that said why."""


def start(command, nice):
    """Runs a command to its end: its output, and percent of the machine that others took."""
    def prepare():
        if nice:
            peers.prioritise(nice)
    # Files, not pipes, so that this process can wait for the other's resources itself.
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        before = peers.ticks()[0]
        began = time.monotonic()
        # A session of its own, so that its priority is its own too.
        child = subprocess.Popen(command, stdout=out, stderr=err, text=True,
                                 start_new_session=True, preexec_fn=prepare)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        per_second = os.sysconf("SC_CLK_TCK")
        mine = (used.ru_utime + used.ru_stime) * per_second
        available = os.cpu_count() * per_second * (time.monotonic() - began)
        others = max(0.0, 100 * (peers.ticks()[0] - before - mine) / available)
        out.seek(0)
        err.seek(0)
        if child.returncode:
            raise Failed((err.read().strip().splitlines() or [f"exit {child.returncode}"])[-1])
        return out.read(), others


def resident_at_start(vbslab):
    """What the program and its libraries have in memory while it waits for a profile."""
    command = [vbslab, "plan", "-", "--planner", "fbs", "--memory", "1MiB"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as child:
        time.sleep(0.5)
        return peers.memory("VmRSS", child.pid)


class Store:
    """Profiles of the networks, measured when first asked for."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.command = [arguments.vbslab, "--quiet", "--db",
                        str(arguments.models / "vbslab.sqlite")]
        self.base = resident_at_start(arguments.vbslab)

    def call(self, *words, nice=0):
        return start(self.command + [str(word) for word in words], nice)

    def profile(self, path):
        """The id of the network's profile, kept beside its file."""
        batches = self.arguments.measure_batches
        kept = path.with_name(f"{path.stem}-{batches}.profile")
        if not kept.exists():
            text, _ = self.call("measure", path, "--batches", batches,
                                   "--time-limit", self.arguments.time_limit,
                                   nice=self.arguments.nice)
            kept.write_text(text.split()[-1])
        return kept.read_text()

    def plan(self, profile, request, memory):
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            self.call("plan", profile, "--planner", self.arguments.planner, "--memory", memory,
                      "--request", request, "--weights", self.arguments.weights,
                      "--json", file.name)
            return json.loads(pathlib.Path(file.name).read_text())

    def run(self, path, profile, request, memory):
        predicted = self.plan(profile, request, memory or "1TiB")["predicted"]
        repeat = max(peers.LEAST_RUNS, min(200, int(1.5e6 / predicted["time_us"])))
        best = None
        ends = time.monotonic() + self.arguments.patience
        while best is None or (best[1] >= peers.QUIET_PERCENT and time.monotonic() < ends):
            if not self.arguments.nice:
                peers.wait_for_idle(ends)
            found = self.call("run", profile, "--model", path, "--planner",
                              self.arguments.planner, "--memory",
                              memory or predicted["peak_bytes"], "--request", request,
                              "--weights", self.arguments.weights, "--repeat", repeat, "--json",
                              nice=self.arguments.nice)
            if best is None or found[1] < best[1]:
                best = found
        return json.loads(best[0]), predicted["time_us"], best[1]


def row_of(name, arguments, store, request, memory):
    path = arguments.models / f"{name}.onnx"
    result, predicted_us, others = store.run(path, store.profile(path), request, memory)
    measured = result["measured"]
    row = {key: round(measured[key], 1) for key in ("low_us", "high_us", "fastest_us")}
    return dict(row, network=name, planner=arguments.planner, weights=arguments.weights,
                request=request, budget_bytes=result["memory_bytes"] if memory else "",
                predicted_us=round(predicted_us, 1), median_us=round(measured["time_us"], 1),
                runs=measured["n_runs"], base_bytes=store.base,
                high_water_bytes=result["memory"]["resident_peak_bytes"],
                arena_bytes=result["memory"]["touched_bytes"], others_percent=round(others, 1))


def table(arguments):
    store = Store(arguments)
    print(f"# device: {peers.machine()}")
    print(f"# vbslab: {start([arguments.vbslab, '--version'], 0)[0].strip()}")
    print(f"# date: {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())}")
    out = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    out.writeheader()
    for name in arguments.names or peers.NETWORKS:
        for request in arguments.requests.split(","):
            for memory in arguments.memory.split(","):
                try:
                    row = row_of(name, arguments, store, int(request), memory)
                except Failed as why:
                    print(f"{name}, request {request}, {memory}: {why}", file=sys.stderr)
                    continue
                out.writerow({**row, "process": arguments.process})
                sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help="default: " + " ".join(peers.NETWORKS))
    parser.add_argument("--vbslab", default="build/vbslab")
    parser.add_argument("--models", type=pathlib.Path, default="build/peers")
    parser.add_argument("--requests", default="1,4,12")
    parser.add_argument("--memory", default="", help="budgets, as 64MiB,128MiB (default: none)")
    parser.add_argument("--planner", default="fbs-best")
    parser.add_argument("--weights", default="excluded", choices=["excluded", "included"])
    parser.add_argument("--process", type=int, default=1, help="what the last column says")
    parser.add_argument("--patience", type=float, default=60,
                        help="seconds to try for a run without others, per cell (default: 60)")
    parser.add_argument("--nice", type=int, default=0,
                        help="priority of what is timed, instead of waiting for idle moments")
    parser.add_argument("--measure-batches", default="1,4,12")
    parser.add_argument("--time-limit", type=int, default=60, help="of measure, seconds")
    table(parser.parse_args())


if __name__ == "__main__":
    main()
