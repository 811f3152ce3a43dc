#!/usr/bin/env python3
"""Weighs processes that run a network on one sample, part by part. A table as CSV on standard output.

  weigh.py table --vbslab NAME=PROGRAM [--vbslab ...] [--work DIR] [NETWORK...]
  weigh.py onnxruntime NET.onnx --seconds S [--lean] [--trim]

`table` measures the layers of each network once, with the last program, plans for the least memory,
and has every program run the same schedules. It starts every process that it weighs, and reads
/proc/PID/smaps while the process runs the network. `onnxruntime` is such a process.
"""
import argparse
import csv
import ctypes
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True

BUILT_IN = ["squeezenet-v1.0", "googlenet", "mobilenet-v1", "resnet-50"]
NETWORKS = BUILT_IN + ["lstm"]
THREADS = 2
SECONDS = 4
# Bytes; all but the last three are the parts of rss_bytes.
PARTS = ["arena", "heap", "code", "data", "onednn", "program", "libraries"]
COLUMNS = ["system", "network", "weights"] + [f"{p}_bytes" for p in PARTS] + \
          ["rss_bytes", "pss_bytes", "peak_bytes", "python_bytes"]


# ---- what the system says of a process ----

def status(field, process="self"):
    for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise OSError(f"no {field} of process {process}")


def mappings(process):
    """Name, permissions, addresses, and resident, proportional and anonymous bytes of each mapping."""
    found = []
    for line in pathlib.Path(f"/proc/{process}/smaps").read_text().splitlines():
        head = re.match(r"([0-9a-f]+-[0-9a-f]+) (\S+) \S+ \S+ \d+ *(.*)", line)
        if head:
            found.append({"name": head[3], "may": head[2], "at": head[1]})
        else:
            key, value, *_ = line.split()
            found[-1][key.rstrip(":")] = int(value) * 1024 if value.isdigit() else value
    return found


def weigh(process, program):
    """The parts of a process now. The arena is in the heap here."""
    parts = dict.fromkeys(PARTS + ["pss"], 0)
    for m in mappings(process):
        name = m["name"]
        file = m["Rss"] - m["Anonymous"]
        parts["pss"] += m["Pss"]
        parts["onednn" if "libdnnl" in name or "onnxruntime" in name
              else "program" if name == program else "libraries"] += file
        parts["data" if name.startswith("/") else "code" if "x" in m["may"] else "heap"] += m["Anonymous"]
    return parts


def watch(command):
    """Runs a command; returns its output, the parts while it ran, and the most that it took."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    program = None
    samples, most, weighed = [], 0, 0
    while process.poll() is None:
        try:
            most = max(most, status("VmHWM", process.pid))
            program = os.readlink(f"/proc/{process.pid}/exe")
            if time.monotonic() - weighed > 0.2:
                weighed = time.monotonic()
                samples.append((weighed, weigh(process.pid, program)))
        except (OSError, ProcessLookupError):
            pass  # it has just ended
        time.sleep(0.002)
    ended = time.monotonic()
    out, err = process.communicate()
    if process.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with {process.returncode}: {err.strip()[-200:]}")
    # Towards its end the process was certainly running the network.
    running = [s for at, s in samples if ended - at > 0.5 and ended - at < 0.75 * SECONDS]
    middle = statistics.median_low([sum(s[p] for p in PARTS) for s in running])
    return out, next(s for s in running if sum(s[p] for p in PARTS) == middle), most


# ---- the networks ----

def make_lstm(path):
    """Two LSTM layers over 100 steps of 40 values, and a classifier."""
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    random = np.random.default_rng(1)
    constants, nodes, inputs, last = [], [], 40, "x"

    def constant(name, *shape):
        values = random.standard_normal(shape).astype(np.float32) / np.sqrt(shape[-1])
        constants.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    constants.append(numpy_helper.from_array(np.array([1], np.int64), "axis"))
    constants.append(numpy_helper.from_array(np.array(99, np.int64), "end"))
    nodes.append(helper.make_node("Transpose", ["x"], ["steps"], perm=[1, 0, 2]))
    last = "steps"
    for i in range(2):
        weights = [constant(f"w{i}", 1, 1024, inputs), constant(f"r{i}", 1, 1024, 256), constant(f"b{i}", 1, 2048)]
        nodes.append(helper.make_node("LSTM", [last] + weights, [f"y{i}"], hidden_size=256))
        nodes.append(helper.make_node("Squeeze", [f"y{i}", "axis"], [f"s{i}"]))
        last, inputs = f"s{i}", 256
    nodes.append(helper.make_node("Gather", [last, "end"], ["h"], axis=0))
    nodes.append(helper.make_node("Gemm", ["h", constant("w", 12, 256), constant("b", 12)], ["out"], transB=1))
    graph = helper.make_graph(
        nodes, "lstm", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 100, 40])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["batch", 12])], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


# ---- ONNX Runtime ----

def trim():
    """What vbs_exec_trim does: unchanged pages of files that cannot be written go back to the system."""
    libc = ctypes.CDLL(None)
    libc.malloc_trim(0)
    for m in mappings("self"):
        if m["name"].startswith("/") and "w" not in m["may"] and m["Anonymous"] == 0:
            begin, end = (int(at, 16) for at in m["at"].split("-"))
            libc.madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), 4)  # MADV_DONTNEED


def run_onnxruntime(arguments):
    import numpy as np
    before = status("VmRSS")
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.inter_op_num_threads = 1
    if arguments.lean:
        options.enable_cpu_mem_arena = False
    session = onnxruntime.InferenceSession(arguments.file, options, providers=["CPUExecutionProvider"])
    value = session.get_inputs()[0]
    images = np.ones([d if isinstance(d, int) else 1 for d in value.shape], np.float32)
    if arguments.trim:
        trim()
    began = time.monotonic()
    while time.monotonic() - began < arguments.seconds:
        session.run(None, {value.name: images})
    print(json.dumps({"before": before, "version": onnxruntime.__version__}))


def weigh_onnxruntime(path, network):
    for system, words in [("onnxruntime", []), ("onnxruntime-lean", ["--lean"]),
                          ("onnxruntime-lean-trimmed", ["--lean", "--trim"])]:
        out, parts, most = watch([sys.executable, __file__, "onnxruntime", str(path), "--seconds", str(SECONDS), *words])
        yield row(system, network, "beside", parts, 0, most, json.loads(out)["before"])


# ---- vbslab ----

def row(system, network, weights, parts, arena, most, python=0):
    parts = dict(parts, arena=arena, heap=parts["heap"] - arena)
    return [system, network, weights, *(parts[p] for p in PARTS), sum(parts[p] for p in PARTS), parts["pss"],
            most, python]


def call(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return done.stdout


def make_schedule(program, profile, word, weights, path):
    """Plans for the least arena in which a plan can be placed; returns its bytes."""
    planner = "joint" if weights == "included" else "dp-vbs+"
    words = [profile, "--quiet", "--request", "1", "--weights", weights]
    least = str(json.loads(call(program, "frontier", *words, "--planner", planner, "--json", "-"))["points"][0]["memory_bytes"])
    call(program, "plan", *words, "--planner", planner,
         "--memory", least, "--json", path)
    try:
        call(program, "run", profile, "--model", word, "--quiet", "--schedule", path, "--runs", "1")
        return least
    except RuntimeError as refused:
        found = re.search(r"--memory (\d+)$", str(refused))
        if not found:
            raise
        return found[1]


def weigh_vbslab(programs, work, network, word):
    last = programs[-1][1]
    profile, store = str(work / f"{network}.csv"), str(work / "store.sqlite")
    if not os.path.exists(profile):
        number = call(last, "measure", "--db", store, "--quiet", word, "--batches", "1", "--threads", str(THREADS),
                      "--time-limit", "20").strip()
        call(last, "profiles", "export", number, profile, "--db", store, "--quiet")
    for weights, name in [("included", "inside"), ("excluded", "beside")]:
        schedule = str(work / f"{network}-{name}.json")
        least = make_schedule(last, profile, word, weights, schedule)
        more = ["--weights-file", str(work / f"{network}.bin")] if weights == "included" else []
        command = ["run", profile, "--model", word, "--schedule", schedule, "--memory", least, *more, "--quiet"]
        for system, program in programs:
            if more:
                call(program, *command, "--runs", "1")  # writes the file of weights
            out, parts, most = watch([program, *command, "--duration", str(SECONDS), "--json"])
            yield row(system, network, name, parts, json.loads(out)["memory"]["touched_bytes"], most)


def table(arguments):
    work = pathlib.Path(arguments.work)
    work.mkdir(parents=True, exist_ok=True)
    programs = [p.split("=", 1) for p in arguments.vbslab]
    lines = csv.writer(sys.stdout, lineterminator="\n")
    lines.writerow(COLUMNS)
    for network in arguments.networks or NETWORKS:
        path = work / f"{network}.onnx"
        if network not in BUILT_IN:
            make_lstm(path)
        elif not path.exists():
            call(programs[-1][1], "export", network, "-o", str(path))
        word = network if network in BUILT_IN else str(path)
        for line in list(weigh_vbslab(programs, work, network, word)) + list(weigh_onnxruntime(path, network)):
            lines.writerow(line)
            sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    each = commands.add_parser("table")
    each.add_argument("--vbslab", action="append", required=True)
    each.add_argument("--work", default="build/process-memory")
    each.add_argument("networks", nargs="*")
    each = commands.add_parser("onnxruntime")
    each.add_argument("file")
    each.add_argument("--seconds", type=float, required=True)
    each.add_argument("--lean", action="store_true")
    each.add_argument("--trim", action="store_true")
    arguments = parser.parse_args()
    if arguments.command == "table":
        table(arguments)
    else:
        run_onnxruntime(arguments)


if __name__ == "__main__":
    main()
