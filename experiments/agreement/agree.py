#!/usr/bin/env python3
"""Do vbslab and ONNX Runtime compute the same? A row of CSV for each file.

  agree.py [--vbslab PROGRAM] [--batches LIST] [--request R] --table TABLE.csv FILE.onnx...

Each file is measured, planned for a budget in the middle of what the planner can use, and run; all
outputs of all samples are compared with those of ONNX Runtime. Results:

  agrees    the largest difference is at most the tolerance, of the largest value
  differs   it is not, or shapes or numbers of outputs are others
  refused   vbslab says that it does not support the file, or what is wrong with it
  failed    anything else: a crash, no schedule, no reference
"""
import argparse
import csv
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime

COLUMNS = ["file", "network", "exporter", "opset", "batch", "layers", "result", "largest_absolute",
           "of_largest", "apart", "said"]
REFUSALS = (1, 2)  # exit codes
SCALES = {"EfficientNetB0": 255}  # networks that scale their images down themselves


class Stopped(Exception):
    """A command that ended otherwise than well: result, what it said."""


def call(arguments, store, *words):
    command = [arguments.vbslab, "--quiet", "--db", str(store), *(str(word) for word in words)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return done.stdout
    lines = done.stderr.strip().splitlines()
    if done.returncode not in REFUSALS or len(lines) != 1:
        raise Stopped("failed", f"{words[0]}: exit {done.returncode}; " + " / ".join(lines))
    raise Stopped("refused", lines[0].split(": ", 1)[-1])


def name_of(path):
    """NETWORK-EXPORTER-OPSET-BATCH; a light file is NETWORK only."""
    parts = path.stem.rsplit("-", 3)
    return (parts[0], parts[1]) if len(parts) == 4 else (path.stem, "onnx")


def opset_of(path):
    model = onnx.load(path, load_external_data=False)
    return next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))


def images_for(session, network, n):
    shape = [d if isinstance(d, int) else 0 for d in session.get_inputs()[0].shape[1:]]
    images = np.random.default_rng(7).standard_normal([n, *shape], dtype=np.float32)
    return images * np.float32(SCALES.get(network, 1))


def reference(session, images):
    """All outputs for all images; one by one where the file wants that."""
    given, *unread = session.get_inputs()  # tf2onnx leaves inputs behind that no node reads
    rest = {i.name: np.zeros([1 if isinstance(d, str) else d for d in i.shape], np.float32)
            for i in unread}
    one_by_one = given.shape[0] == 1
    parts = images[:, None] if one_by_one else images[None]
    found = [session.run(None, {given.name: part, **rest}) for part in parts]
    return [np.concatenate(outputs) for outputs in zip(*found)]


def budget(arguments, store, profile):
    """Bytes in the middle of the curve: more than the least, less than what changes nothing."""
    text = call(arguments, store, "frontier", profile, "--planner", "dp-vbs+", "--request",
                arguments.request, "--csv", "-")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    bytes_ = [int(row["memory_bytes"]) for row in rows if row["time_us"]]
    return bytes_[len(bytes_) // 2]


def execute(arguments, store, path, images, folder):
    """The number of layers and vbslab's outputs."""
    text = call(arguments, store, "models", "show", path, "--csv")
    layers = sum(1 for line in text.splitlines() if not line.startswith("#")) - 1
    profile = call(arguments, store, "measure", path, "--batches", arguments.batches,
                   "--time-limit", 1, "--no-copies").split()[-1]
    np.save(folder / "x.npy", images)
    call(arguments, store, "run", profile, "--model", path, "--planner", "dp-vbs+", "--memory",
         budget(arguments, store, profile), "--request", arguments.request, "--repeat", 1,
         "--input", folder / "x.npy", "--output", folder / "y.npy")
    return layers


def outputs_of(folder, session):
    """The files that run has written, in the order of the outputs."""
    def clean(name):
        return "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in name)
    names = [o.name for o in session.get_outputs()]
    return [np.load(folder / ("y.npy" if i == 0 else f"y-{clean(name)}.npy"))
            for i, name in enumerate(names)]


def compare(mine, theirs):
    """Largest difference, the same over the largest value, and how far samples are apart."""
    worst = (0.0, 0.0, np.inf)
    for a, b in zip(mine, theirs, strict=True):
        if a.shape != b.shape:
            raise Stopped("differs", f"shapes {a.shape} and {b.shape}")
        largest = float(np.abs(b).max())
        if not (np.isfinite(a).all() and np.isfinite(b).all()) or largest == 0:
            raise Stopped("differs", "values that are not finite; or zeros only")
        apart = float(np.abs(b - b[:1]).max()) / largest
        off = float(np.abs(a.astype(np.float64) - b).max())
        worst = (max(worst[0], off), max(worst[1], off / largest), min(worst[2], apart))
    return worst


def check(arguments, path, folder):
    network, exporter = name_of(path)
    row = {"file": path.stem, "network": network, "exporter": exporter, "opset": opset_of(path)}
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    row["batch"] = 1 if session.get_inputs()[0].shape[0] == 1 else "open"
    try:
        images = images_for(session, network, arguments.request)
        row["layers"] = execute(arguments, folder / "store.sqlite", path, images, folder)
        try:
            theirs = reference(session, images)
        except (ValueError, RuntimeError) as why:
            raise Stopped("failed", f"ONNX Runtime: {why}") from why
        off, of_largest, apart = compare(outputs_of(folder, session), theirs)
        row.update(largest_absolute=f"{off:.2g}", of_largest=f"{of_largest:.2g}",
                   apart=f"{apart:.2g}")
        row["result"] = "agrees" if of_largest <= arguments.tolerance else "differs"
    except Stopped as stopped:
        row["result"], said = stopped.args
        said = said.replace(str(path.parent) + "/", "").replace(",", ";").replace('"', "'")
        row["said"] = " ".join(said.split())
    return row


def command_line():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE.onnx")
    parser.add_argument("--vbslab", default="build/vbslab", help="(default: build/vbslab)")
    parser.add_argument("--table", type=pathlib.Path, required=True, metavar="FILE.csv",
                        help="rows are added here, for the files that it has not yet")
    parser.add_argument("--batches", default="1,2", help="to measure (default: 1,2)")
    parser.add_argument("--request", type=int, default=3, help="samples (default: 3)")
    parser.add_argument("--tolerance", type=float, default=1e-4,
                        help="of the largest value (default: 1e-4)")
    return parser.parse_args()


def rows_of(table):
    """The names of the files that the table has already."""
    if not table.exists():
        return set()
    with open(table, newline="") as file:
        return {row["file"] for row in csv.DictReader(li for li in file if li[0] != "#")}


def main():
    arguments = command_line()
    there = rows_of(arguments.table)
    with open(arguments.table, "a", newline="") as file:
        out = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if file.tell() == 0:
            file.write(f"# reference: ONNX Runtime {onnxruntime.__version__}\n")
            file.write(f"# date: {time.strftime('%Y-%m-%d', time.gmtime())}\n")
            out.writeheader()
        for path in arguments.files:
            if path.stem in there:
                continue
            with tempfile.TemporaryDirectory() as folder:
                row = check(arguments, path, pathlib.Path(folder))
            out.writerow(row)
            file.flush()
            print(f"{path.name}: {row['result']}, {row.get('of_largest', row.get('said', ''))}",
                  file=sys.stderr)


if __name__ == "__main__":
    main()
