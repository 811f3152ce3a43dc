#!/usr/bin/env python3
"""Times vbslab, ONNX Runtime and OpenVINO by turns on ONNX files, whole and layer by layer.

Adds rows to two tables. times.csv: of all turns the least time of a run and the least median. Least
medians are compared, because other programs can only add to them. layers.csv: for each kind of layer
the sum of the least times of its layers, for vbslab from the steps of the fastest run of each turn,
for ONNX Runtime from its own profile of all runs. Cells that are there are passed over.
"""
import argparse
import collections
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np
import onnxruntime

INPUTS = {"pnet": "24x24x3", "ppocr_detection": "3x320x320", "ppocr_recognition": "3x48x320"}
INPUTS |= {f"{name}_int8": shape for name, shape in INPUTS.items()}
TIMES = ["network", "input", "batch", "threads", "runtime", "least_us", "median_us", "runs"]
LEAST_PROFILED = 12  # runs; fewer would leave more noise in ONNX Runtime's layers than in vbslab's
LAYERS = ["network", "batch", "threads", "runtime", "kind", "layers", "least_us"]


class Ours:
    name = "vbslab"

    def __init__(self, path, batch, threads, options):
        self.path, self.batch, self.threads = path, batch, threads
        store = options.models / f"{path.stem}-{threads}.sqlite"
        self.command = [options.vbslab, "--quiet", "--db", str(store)]
        known = store.with_suffix(".profile")
        if not known.exists():
            words = ["--input", INPUTS[path.stem]] if path.stem in INPUTS else []
            batches = ",".join(str(n) for n in sorted({1, *options.batches}))
            text = self.call("measure", path, "--batches", batches, "--threads", threads,
                             "--time-limit", options.limit, "--no-copies", *words)
            known.write_text(text.split()[-1])
        self.profile = known.read_text()
        self.steps = []

    def call(self, *words):
        done = subprocess.run(self.command + [str(word) for word in words], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError((done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1])
        return done.stdout

    def run(self, seconds):
        text = self.call("run", self.profile, "--model", self.path, "--planner", "fbs-best", "--memory", "4GiB",
                         "--request", self.batch, "--threads", self.threads, "--warmup", 3, "--runs", 5,
                         "--duration", seconds, "--json", "--steps")
        found = json.loads(text)
        took = [end - start for start, end in zip(found["fastest"]["start_us"], found["fastest"]["end_us"])]
        self.steps.append((found["schedule"]["steps"], took))
        measured = found["measured"]
        return [measured["fastest_us"]], measured["time_us"], measured["n_runs"]

    def layers(self):
        words = ["--input", INPUTS[self.path.stem]] if self.path.stem in INPUTS else []
        shown = json.loads(self.call("models", "show", self.path, "--json", *words))["layers"]
        kinds = {layer["layer"]: layer["kind"] for layer in shown}
        us, n = collections.Counter(), collections.Counter()
        seen = set()
        for i, step in enumerate(self.steps[0][0]):
            kind = kinds[step["layer"]]
            us[kind] += min(took[i] for _, took in self.steps)
            n[kind] += step["layer"] not in seen
            seen.add(step["layer"])
        return us, n


def samples(path, batch, session):
    given = session.get_inputs()[0]
    if path.stem in INPUTS:
        shape = [int(n) for n in INPUTS[path.stem].split("x")]
    else:
        shape = list(given.shape[1:])
    return np.random.default_rng(1).standard_normal([batch] + shape).astype(np.float32)


def timed(run, seconds, least=5):
    """Microseconds of runs one after the other."""
    times, ends = [], time.perf_counter() + seconds
    while time.perf_counter() < ends or len(times) < least:
        start = time.perf_counter_ns()
        run()
        times.append((time.perf_counter_ns() - start) / 1e3)
    return times, statistics.median(times), len(times)


class OnnxRuntime:
    name = "onnxruntime"

    def __init__(self, path, batch, threads, options):
        self.path, self.batch, self.threads = path, batch, threads
        session = self.session()
        values = samples(path, batch, session)
        binding = session.io_binding()
        binding.bind_cpu_input(session.get_inputs()[0].name, values)
        for output in session.get_outputs():
            binding.bind_output(output.name)
        self.values = values
        self.call = lambda: session.run_with_iobinding(binding)
        for _ in range(3):
            self.call()

    def session(self, profile=None):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        if profile:
            options.enable_profiling = True
            options.profile_file_prefix = profile
        return onnxruntime.InferenceSession(str(self.path), options, providers=["CPUExecutionProvider"])

    def run(self, seconds):
        return timed(self.call, seconds)

    def layers(self):
        session = self.session("/tmp/beside")
        given = {session.get_inputs()[0].name: self.values}
        timed(lambda: session.run(None, given), 1, LEAST_PROFILED)
        written = pathlib.Path(session.end_profiling())
        nodes = collections.defaultdict(list)
        for event in json.loads(written.read_text()):
            if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
                nodes[event["args"]["op_name"], event["name"]].append(event["dur"])
        written.unlink()
        us, n = collections.Counter(), collections.Counter()
        for (kind, _), took in nodes.items():
            us[kind] += min(took)
            n[kind] += 1
        return us, n


class OpenVino:
    name = "openvino"

    def __init__(self, path, batch, threads, options):
        import openvino
        core = openvino.Core()
        model = core.read_model(str(path))
        values = samples(path, batch, OnnxRuntime(path, batch, 1, options).session())
        model.reshape({model.inputs[0]: list(values.shape)})
        compiled = core.compile_model(model, "CPU", {
            "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": "1", "INFERENCE_NUM_THREADS": threads,
            "INFERENCE_PRECISION_HINT": "f32"})
        request = compiled.create_infer_request()
        self.call = lambda: request.infer([values], share_inputs=True, share_outputs=True)
        for _ in range(3):
            self.call()

    def run(self, seconds):
        return timed(self.call, seconds)


def add_rows(path, columns, rows):
    new = not path.exists()
    with path.open("a", newline="") as file:
        out = csv.DictWriter(file, columns, lineterminator="\n")
        if new:
            file.write(f"# device: {machine()}\n# date: {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())}\n")
            out.writeheader()
        for row in rows:
            out.writerow(row)


def machine():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return f"{line.split(':', 1)[1].strip()}, {os.cpu_count()} cores"
    return "unknown"


def known_cells(path):
    if not path.exists():
        return set()
    lines = (line for line in path.read_text().splitlines() if not line.startswith("#"))
    return {(row["network"], int(row["batch"]), int(row["threads"])) for row in csv.DictReader(lines)}


def cell(path, batch, threads, options):
    peers = [kind(path, batch, threads, options) for kind in (Ours, OnnxRuntime, OpenVino)]
    least, medians, runs = collections.defaultdict(list), collections.defaultdict(list), collections.Counter()
    for _ in range(options.turns):
        for peer in peers:
            times, median, n = peer.run(options.seconds)
            least[peer.name].append(min(times))
            medians[peer.name].append(median)
            runs[peer.name] += n
    same = dict(network=path.stem, batch=batch, threads=threads)
    add_rows(options.results / "times.csv", TIMES, [
        dict(same, input=INPUTS.get(path.stem, ""), runtime=p.name, least_us=round(min(least[p.name]), 2),
             median_us=round(min(medians[p.name]), 2), runs=runs[p.name]) for p in peers])
    for peer in peers[:-1] if batch == 1 else []:
        us, n = peer.layers()
        add_rows(options.results / "layers.csv", LAYERS, [
            dict(same, runtime=peer.name, kind=kind, layers=n[kind], least_us=round(us[kind], 2)) for kind in us])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="NAME")
    parser.add_argument("--vbslab", required=True, metavar="PROGRAM")
    parser.add_argument("--models", type=pathlib.Path, required=True)
    parser.add_argument("--results", type=pathlib.Path, required=True)
    parser.add_argument("--batches", default=[1, 4, 12], type=lambda text: [int(n) for n in text.split(",")])
    parser.add_argument("--threads", default=[1, 2], type=lambda text: [int(n) for n in text.split(",")])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each turn")
    parser.add_argument("--limit", type=int, default=15, help="seconds of measuring")
    options = parser.parse_args()
    for name in options.names:
        for threads in options.threads:
            for batch in options.batches:
                if (name, batch, threads) in known_cells(options.results / "times.csv"):
                    continue
                try:
                    cell(options.models / f"{name}.onnx", batch, threads, options)
                except RuntimeError as why:
                    print(f"{name}, batch {batch}, {threads} threads: {why}", file=sys.stderr)


if __name__ == "__main__":
    main()
