#!/usr/bin/env python3
"""Times other runtimes on ONNX networks, and weighs them. Tables are CSV on standard output.

  peers.py table   [--models DIR] [--peers LIST] [--batches LIST] [--processes N] [NAME...]
  peers.py agree   [--models DIR] [--peers LIST] [NAME...]
  peers.py images  NET.onnx --batch B [--seed S] X.npy
  peers.py reference NET.onnx --input X.npy [--output Y.npy] [--against Z.npy]

Every line of a table comes from a process of its own, so that its high-water is that of one
network at one batch. Runs are timed in slices, each when the machine is idle; slices
in which other processes computed are left out while there are enough without. What others took of
the machine in those that count is in the last column.
"""
import argparse
import csv
import ctypes
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True

import numpy as np  # noqa: E402

import runtimes  # noqa: E402

NETWORKS = ["bvlc_alexnet", "inception_v1", "resnet50", "squeezenet", "vgg16", "vgg19"]
PEERS = ["onnxruntime", "openvino", "pytorch-channels-last", "pytorch-compile"]
COLUMNS = ["peer", "version", "network", "batch", "median_us", "low_us", "high_us", "fastest_us", "runs",
           "base_bytes", "high_water_bytes", "loaded_bytes", "run_high_water_bytes", "process",
           "others_percent"]
LEAST_RUNS = 7
QUIET_PERCENT = 5


def memory(field, process="self"):
    """VmRSS or VmHWM of a process, in bytes."""
    for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise OSError(f"no {field} of process {process}")


def reset_high_water():
    """Lets VmHWM begin anew at VmRSS."""
    pathlib.Path("/proc/self/clear_refs").write_text("5")


def give_back_freed():
    """Free memory that malloc keeps is no memory of the network."""
    ctypes.CDLL(None).malloc_trim(0)


def images_for(path, batch, seed=1):
    import onnx
    graph = onnx.load(path, load_external_data=False).graph
    constants = {t.name for t in graph.initializer}
    value = next(v for v in graph.input if v.name not in constants)
    shape = [d.dim_value for d in value.type.tensor_type.shape.dim][1:]
    return np.random.default_rng(seed).standard_normal([batch] + shape, dtype=np.float32)


def interval(times):
    """Median and the 95% interval of the median, from order statistics alone."""
    times = sorted(times)
    n = len(times)
    reach = 0.98 * math.sqrt(n)
    low = max(0, math.floor(n / 2 - reach))
    high = min(n - 1, math.ceil(n / 2 + reach))
    return statistics.median(times), times[low], times[high]


def ticks():
    """Busy clock ticks of the whole machine, and those of this process."""
    fields = pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
    user, nice, system, idle, iowait, irq, softirq, steal = map(int, fields)
    mine = sum(os.times()[:2]) * os.sysconf("SC_CLK_TCK")
    return user + nice + system + irq + softirq + steal, mine


def others_since(before, seconds):
    """Percent of the machine that other processes, or other machines, took since `before`."""
    busy, mine = (now - then for now, then in zip(ticks(), before))
    available = os.cpu_count() * os.sysconf("SC_CLK_TCK") * seconds
    return max(0.0, 100 * (busy - mine) / available)


def wait_for_idle(ends):
    """Until others take less than a tenth of the machine for a moment, or the clock says `ends`."""
    while time.monotonic() < ends:
        before = ticks()
        time.sleep(0.2)
        if others_since(before, 0.2) < 10:
            return


def prioritise(nice):
    """The priority of all threads of this process, which the libraries have started by now, and of
    its session, between which Linux shares time before it looks at threads."""
    group = pathlib.Path("/proc/self/autogroup")
    if group.exists():
        group.write_text(str(nice))
    for thread in os.listdir("/proc/self/task"):
        os.setpriority(os.PRIO_PROCESS, int(thread), nice)


def time_slice(run, images, slice_s):
    """Microseconds of runs one after the other for a moment, and what others took meanwhile."""
    times = []
    before = ticks()
    began = time.monotonic()
    while not times or time.monotonic() - began < slice_s:
        start = time.perf_counter_ns()
        run(images)
        times.append((time.perf_counter_ns() - start) / 1000)
    others = others_since(before, time.monotonic() - began)
    # The pause before has cooled the caches, unless a run is longer than they remember.
    return others, times[1:] or times


def timed(run, images, seconds, patience, nice):
    """Times of the runs in the least disturbed slices, and percent that others took in those."""
    for _ in range(3):
        run(images)
    ends = time.monotonic() + patience
    slices = []
    quiet_us = quiet_runs = 0
    while quiet_us < seconds * 1e6 or quiet_runs < LEAST_RUNS:
        if nice:
            prioritise(nice)
        else:
            wait_for_idle(ends)
        others, times = time_slice(run, images, seconds / 4)
        if nice:
            prioritise(0)
            time.sleep(seconds / 4)
        slices.append((others, times))
        if others < QUIET_PERCENT:
            quiet_us += sum(times)
            quiet_runs += len(times)
        if time.monotonic() > ends and sum(len(t) for _, t in slices) >= LEAST_RUNS:
            break
    kept, spent, disturbed = [], 0, 0
    for others, times in sorted(slices, key=lambda s: s[0]):
        if spent >= seconds * 1e6 and len(kept) >= LEAST_RUNS and others >= QUIET_PERCENT:
            break
        kept += times
        spent += sum(times)
        disturbed += others * sum(times)
    return kept, disturbed / spent


def measure_here(peer, path, batch, seconds, patience, nice, images):
    version = runtimes.base(peer)
    base = memory("VmRSS")
    reset_high_water()
    run = runtimes.load(peer, path, batch)
    give_back_freed()
    loading = memory("VmHWM")
    loaded = memory("VmRSS")
    reset_high_water()
    times, others = timed(run, images, seconds, patience, nice)
    running = memory("VmHWM")
    median, low, high = interval(times)
    return dict(peer=peer, version=version, batch=batch, median_us=round(median, 1),
                low_us=round(low, 1), high_us=round(high, 1), fastest_us=round(min(times), 1),
                runs=len(times), base_bytes=base, high_water_bytes=max(loading, running),
                loaded_bytes=loaded, run_high_water_bytes=running,
                others_percent=round(others, 1))


def child(arguments):
    images = np.load(arguments.images)
    row = measure_here(arguments.peer, arguments.model, len(images), arguments.seconds,
                       arguments.patience, arguments.nice, images)
    print(json.dumps(row))


def measure(peer, path, batch, folder, options):
    """One row, from a new process; None, and why on standard error, when it fails."""
    images = folder / f"{path.stem}-{batch}.npy"
    if not images.exists():
        np.save(images, images_for(path, batch))
    environment = {**os.environ, **runtimes.environment(),
                   "TORCHINDUCTOR_CACHE_DIR": str((folder / "inductor").resolve())}
    command = [sys.executable, __file__, "child", peer, str(path), str(images),
               "--seconds", str(options.seconds), "--patience", str(options.patience),
               "--nice", str(options.nice)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True,
                          start_new_session=True)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
        print(f"{peer}, {path.stem}, batch {batch}: {said}", file=sys.stderr)
        return None
    return {"network": path.stem, **json.loads(done.stdout.strip().splitlines()[-1])}


def machine():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def table(arguments):
    print(f"# device: {machine()}, {len(runtimes.cores())} threads")
    print(f"# date: {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())}")
    out = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    out.writeheader()
    for name in arguments.names or NETWORKS:
        for batch in (int(b) for b in arguments.batches.split(",")):
            for peer in arguments.peers.split(","):
                row = measure(peer, arguments.models / f"{name}.onnx", batch, arguments.models,
                              arguments)
                if row:
                    out.writerow({**row, "process": arguments.process})
                    sys.stdout.flush()


def agree(arguments):
    """How far the outputs of the peers are from those of onnxruntime, for three images."""
    print("network,peer,largest_absolute,largest_relative,absolute_over_largest_value")
    allowed = os.sched_getaffinity(0)
    for name in arguments.names or NETWORKS:
        path = arguments.models / f"{name}.onnx"
        given = images_for(path, 3)
        session = runtimes.onnxruntime_session(str(path), None, lean=False)
        result = session.run(None, {session.get_inputs()[0].name: given})[0]
        for peer in arguments.peers.split(","):
            found = runtimes.load(peer, path, 3)(given)
            os.sched_setaffinity(0, allowed)
            print(",".join([name, peer] + [f"{d:.3g}" for d in differ(found, result)]), flush=True)


def images(arguments):
    np.save(arguments.file, images_for(arguments.model, arguments.batch, arguments.seed))


def differ(mine, theirs):
    """The largest absolute difference, and the largest relative one beside |theirs|."""
    if mine.size != theirs.size or mine.shape[0] != theirs.shape[0]:
        raise ValueError(f"shapes {mine.shape} and {theirs.shape}")
    mine = mine.astype(np.float64).ravel()
    theirs = theirs.astype(np.float64).ravel()
    if not (np.isfinite(mine).all() and np.isfinite(theirs).all()):
        raise ValueError("values that are not finite")
    apart = np.abs(mine - theirs)
    size = np.abs(theirs)
    relative = np.divide(apart, size, out=np.where(apart > 0, math.inf, 0.0), where=size > 0)
    return apart.max(), relative.max(), apart.max() / size.max() if size.max() > 0 else math.inf


def reference(arguments):
    """Runs onnxruntime once, whole input at once, and compares."""
    session = runtimes.onnxruntime_session(str(arguments.model), None, lean=False)
    given = np.load(arguments.input)
    result = session.run(None, {session.get_inputs()[0].name: given})[0]
    if arguments.output:
        np.save(arguments.output, result)
    if arguments.against:
        absolute, relative, of_largest = differ(np.load(arguments.against), result)
        print("network,images,largest_absolute,largest_relative,absolute_over_largest_value")
        print(f"{arguments.model.stem},{len(given)},{absolute:.3g},{relative:.3g},{of_largest:.3g}")
        return of_largest <= arguments.tolerance
    return True


def command_line():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("table", help="times and memory of the peers")
    verb.add_argument("names", nargs="*", metavar="NAME", help="default: " + " ".join(NETWORKS))
    verb.add_argument("--models", type=pathlib.Path, default="build/peers")
    verb.add_argument("--peers", default=",".join(PEERS), help="of " + ", ".join(runtimes.LOADERS))
    verb.add_argument("--batches", default="1,4,12")
    verb.add_argument("--process", type=int, default=1, help="what the last column says")
    verb.add_argument("--seconds", type=float, default=2, help="per cell (default: 2)")
    verb.add_argument("--patience", type=float, default=60,
                      help="seconds for idle moments, per cell (default: 60)")
    verb.add_argument("--nice", type=int, default=0,
                      help="run slices with this priority, as -20, instead of waiting for idle "
                           "moments; needs the right to")
    verb.set_defaults(do=table)
    verb = verbs.add_parser("agree", help="whether the peers compute the same")
    verb.add_argument("names", nargs="*", metavar="NAME")
    verb.add_argument("--models", type=pathlib.Path, default="build/peers")
    verb.add_argument("--peers", default=",".join(PEERS))
    verb.set_defaults(do=agree)
    verb = verbs.add_parser("images", help="writes seeded random input")
    verb.add_argument("model", type=pathlib.Path)
    verb.add_argument("file")
    verb.add_argument("--batch", type=int, default=1)
    verb.add_argument("--seed", type=int, default=1)
    verb.set_defaults(do=images)
    verb = verbs.add_parser("reference", help="output of onnxruntime, and how far another's is off")
    verb.add_argument("model", type=pathlib.Path)
    verb.add_argument("--input", required=True)
    verb.add_argument("--output")
    verb.add_argument("--against", metavar="Z.npy")
    verb.add_argument("--tolerance", type=float, default=1e-4,
                      help="of the largest value; beyond it the exit code is 1 (default: 1e-4)")
    verb.set_defaults(do=reference)
    verb = verbs.add_parser("child", help="one cell of a table, in this process")
    verb.add_argument("peer", choices=runtimes.LOADERS)
    verb.add_argument("model", type=pathlib.Path)
    verb.add_argument("images")
    verb.add_argument("--seconds", type=float, default=2)
    verb.add_argument("--patience", type=float, default=60)
    verb.add_argument("--nice", type=int, default=0)
    verb.set_defaults(do=child)
    return parser


if __name__ == "__main__":
    chosen = command_line().parse_args()
    sys.exit(1 if chosen.do(chosen) is False else 0)
