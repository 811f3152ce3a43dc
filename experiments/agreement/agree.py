#!/usr/bin/env python3
"""Do vbslab and ONNX Runtime compute the same? A row of CSV for each execution of each file.

  agree.py [--models DIR] --table TABLE.csv [--again RESULTS] [NAME...]

Every file below DIR, or those whose path holds one of the NAMEs, is measured and executed four times:

  least    planned by dp-vbs+ for the least memory that it can do with
  middle   for a budget in the middle of the curve of time against memory
  all      for so much memory that more changes nothing
  joint    planned by joint, weights included: in the least memory of dp-vbs+ and half of the weights,
           or in the least that joint can do with where this is more

All outputs of all samples are compared with those of ONNX Runtime. Results:

  agrees   the largest difference is at most the tolerance, of the largest value, or at most that of
           ONNX Runtime with its optimisations and without. Quantised networks,
           and those with 16-bit floats, agree too where 99.9% of the values of each output are at most
           one step of the output's grid off; where it is on no grid, the step is 1/255 of the range
           of its values. They also agree where no more values are off than of ONNX Runtime's own
           after its inputs are changed by 1e-5, a tenth of what is tolerated of floats: then a rounding
           that went the other way has grown on its way. They are compared with ONNX Runtime as it optimises the file and as it
           executes the file's own operators, and the closer one counts, for its optimisations
           round otherwise; so does its DynamicQuantizeLSTM, in whose place the second has LSTM with
           the same weights
  differs  it is not so, or shapes or numbers of outputs are others
  refused  vbslab says that it does not support the file, or what is wrong with it
  fails    a crash, a message of several lines, or more time than --patience
  unusable ONNX Runtime itself cannot run the file

A file that is refused or fails before it is executed has one row, of execution "read". Rows of the same
commit are passed over, unless --again names their result.
"""
import argparse
import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime

import reference

COLUMNS = ["file", "source", "network", "exporter", "opset", "batch", "variant", "numbers", "layers",
           "samples", "weight_bytes", "execution", "result", "budget_bytes", "process_bytes",
           "largest_absolute", "of_largest", "beyond_step", "plain_of_largest",
           "plain_beyond_step", "runtime_of_largest", "runtime_beyond_step", "shaken_beyond_step",
           "apart", "said", "commit"]
REFUSALS = (1, 2, 3)  # exit codes
EXPORTED = ("torchvision", "timm", "module", "keras")
REQUESTS = 3


class Stopped(Exception):
    """A command that ended otherwise than well: result, what it said."""


class Program:
    """vbslab with a store of its own, in a folder of its own."""

    def __init__(self, arguments, folder):
        self.path, self.folder, self.patience = arguments.vbslab, folder, arguments.patience

    def call(self, *words):
        command = [self.path, "--quiet", "--db", str(self.folder / "store.sqlite"),
                   *(str(word) for word in words)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                                  timeout=self.patience)
        except subprocess.TimeoutExpired:
            raise Stopped("fails", f"{words[0]}: more than {self.patience} s") from None
        if done.returncode == 0:
            return done.stdout
        lines = done.stderr.strip().splitlines()
        if done.returncode not in REFUSALS or len(lines) != 1:
            raise Stopped("fails", f"{words[0]}: exit {done.returncode}; " + " / ".join(lines[:3]))
        raise Stopped("refused", lines[0].split(": ", 1)[-1])


class File:
    """A file of the test bed: what its path says of it."""

    def __init__(self, root, path):
        self.path = path
        self.key = str(path.relative_to(root).with_suffix(""))
        self.source = self.key.split("/")[0]
        stem, _, self.variant = path.stem.partition("+")
        parts = stem.rsplit("-", 3)
        if len(parts) == 4 and self.source != "packages":
            self.network, self.exporter = parts[:2]
        elif self.source == "packages":
            self.network, self.exporter = f"{path.parent.name} {path.stem}", None
        else:
            self.network, self.exporter = stem, "onnx"


def joined(requests, name, shape, n_samples, alone):
    """The values of an input for n samples, each of this shape; a whole input whose first size is 1
    comes as one batch where it is the only one."""
    values = np.stack([request[name] for request in requests])
    whole = alone and len(shape) == values.ndim - 1 and shape[:1] == [1]
    return values.reshape(n_samples, *shape[1 if whole else 0:])


def inputs_of(shown, given):
    """Name, shape of a sample, and whether all samples share it, as `models show` tells."""
    if "inputs" in shown:
        return [(i["name"], i["shape"], i["shared"]) for i in shown["inputs"]]
    return [(given[0].name, shown["input"], False)]


def choices(given):
    """Options for shapes that the file leaves open and inputs that are constants."""
    words, several = [], sum(one.constant is None for one in given) > 1
    for one in given:
        if one.constant is not None:
            words += ["--fix", f"{one.name}={one.constant:g}"]
        elif one.open:
            shape = "x".join(str(size) for i, size in enumerate(one.shape)
                             if i != one.batch or size > 1)
            words += ["--input", f"{one.name}={shape}" if several else shape]
    return words


class Checked:
    """One file's checks, which give its rows."""

    def __init__(self, arguments, file, folder):
        self.program, self.file, self.folder = Program(arguments, folder), file, folder
        self.arguments = arguments
        self.threads = ["--threads", arguments.threads] if arguments.threads else []
        self.row = {"file": file.key, "source": file.source, "network": file.network,
                    "exporter": file.exporter, "variant": file.variant, "commit": arguments.commit}

    def rows(self):
        try:
            self.prepare()
        except (Stopped, reference.Unusable) as stopped:
            return [self.ended("read", stopped)]
        except (ValueError, KeyError, StopIteration) as why:  # inputs that are none of the file's
            return [self.ended("read", Stopped("fails", f"agree.py: {why!r}"))]
        rows = []
        for execution, budget, words in self.executions():
            try:
                rows.append(self.within(execution, budget, words))
            except Stopped as stopped:
                rows.append(self.ended(execution, stopped))
        return rows

    def within(self, execution, budget, words):
        """The row of an execution in this budget, or in the least that vbslab names where it is too
        small."""
        for _ in range(3):
            self.row.update(budget_bytes=budget)
            try:
                return self.executed(execution, budget, words)
            except Stopped as stopped:
                least = re.search(r"(?:the least budget is|needs an arena of) (\d+) bytes",
                                  stopped.args[1])
                if execution not in ("least", "joint") or not least:
                    raise
                budget, last = int(least[1]), stopped
        raise last

    def ended(self, execution, stopped):
        result, said = (stopped.args if isinstance(stopped, Stopped) else
                        ("unusable", f"ONNX Runtime: {stopped}"))
        said = said.replace(str(self.file.path.parent) + "/", "").replace(",", ";")
        return {**self.row, "execution": execution, "result": result,
                "said": " ".join(said.replace('"', "'").split())}

    def prepare(self):
        """Reference, samples, profile, curve: what all executions share."""
        file = self.file
        self.theirs = theirs = reference.Reference(file.path, file.key, file.network)
        self.row.update(opset=theirs.opset, batch=theirs.batch,
                        exporter=file.exporter or theirs.producer or "unknown",
                        numbers=("quantised" if theirs.quantised else
                                 "halves" if theirs.half else "floats"))
        self.words = choices(theirs.given)
        shown = json.loads(self.program.call("models", "show", file.path, "--json", *self.words))
        self.inputs = inputs_of(shown, theirs.given)
        self.row.update(layers=shown["n_layers"], weight_bytes=shown["weight_bytes"])
        self.sample()
        self.profile = self.program.call(
            "measure", file.path, "--batches", self.arguments.batches, "--time-limit",
            self.arguments.time_limit, "--no-copies", *self.threads, *self.words).split()[-1]
        curve = self.program.call("frontier", self.profile, "--planner", "dp-vbs+", "--request",
                                  self.n_samples, "--csv", "-")
        rows = csv.DictReader(line for line in curve.splitlines() if not line.startswith("#"))
        self.curve = [int(row["memory_bytes"]) for row in rows if row["time_us"]]
        if not self.curve:
            raise Stopped("fails", "frontier: no budget is enough")

    def sample(self):
        """Requests to ONNX Runtime, and the same values as vbslab's samples."""
        rng = np.random.default_rng(7)
        shared = {name for name, _, same in self.inputs if same}
        given = {one.name: one for one in self.theirs.given}
        name, shape, _ = next(i for i in self.inputs if not i[2])
        per_request = int(np.prod(given[name].shape, dtype=np.int64) //
                          max(1, np.prod(shape, dtype=np.int64)))
        n = REQUESTS if per_request == 1 else 1
        self.n_samples = n * per_request
        fixed = {key: one.request(rng) for key, one in given.items() if key in shared}
        self.requests = [{key: fixed[key] if key in fixed else one.request(rng)
                          for key, one in given.items()} for _ in range(n)]
        self.row.update(samples=self.n_samples)
        self.values = []
        for name, shape, same in self.inputs:
            value = (self.requests[0][name].reshape(shape) if same else
                     joined(self.requests, name, shape, self.n_samples, len(self.inputs) == 1))
            path = self.folder / f"in{len(self.values)}.npy"
            np.save(path, value.astype(np.float32))
            self.values += ["--input", path if len(self.inputs) == 1 else f"{name}={path}"]
        self.wanted = self.theirs.run(self.requests)
        steps = self.theirs.steps()
        self.plain = self.theirs.run(self.requests, optimised=False)
        self.own = reference.compare(self.plain, self.wanted, steps)
        self.exact = not (self.theirs.quantised or self.theirs.half)
        self.shaken = 0 if self.exact else max(
            reference.compare(self.theirs.run(reference.shaken(self.requests, seed)), self.wanted,
                              steps).beyond for seed in range(5))

    def executions(self):
        least, half = self.curve[0], int(self.row["weight_bytes"]) // 2
        yield "least", least, ["--planner", "dp-vbs+"]
        yield "middle", self.curve[len(self.curve) // 2], ["--planner", "dp-vbs+"]
        yield "all", self.curve[-1], ["--planner", "dp-vbs+"]
        yield "joint", least + half, ["--planner", "joint", "--copy-rate", "5GB",
                                     "--time-limit", 5]

    def executed(self, execution, budget, words):
        made = self.folder / execution
        made.mkdir(exist_ok=True)
        said = json.loads(self.program.call(
            "run", self.profile, "--model", self.file.path, *words, "--memory", budget,
            "--request", self.n_samples, "--warmup", 0, "--runs", 1, *self.values, "--output",
            made / "y.npy", "--json"))
        mine = self.outputs(made)
        try:
            off = reference.compare(mine, self.wanted, self.theirs.steps())
            plain = reference.compare(mine, self.plain, self.theirs.steps())
        except ValueError as why:
            raise Stopped("differs", str(why)) from why
        memory = said["memory"]
        return {**self.row, "execution": execution, "result": self.judge(off, plain),
                "process_bytes": memory["resident_peak_bytes"],
                "largest_absolute": f"{off.absolute:.2g}", "of_largest": f"{off.of_largest:.2g}",
                "beyond_step": f"{off.beyond:.2g}",
                "plain_of_largest": f"{plain.of_largest:.2g}",
                "plain_beyond_step": f"{plain.beyond:.2g}",
                "runtime_of_largest": f"{self.own.of_largest:.2g}",
                "runtime_beyond_step": f"{self.own.beyond:.2g}",
                "shaken_beyond_step": f"{self.shaken:.2g}", "apart": f"{off.apart:.2g}"}

    def judge(self, off, plain):
        if off.of_largest <= max(self.arguments.tolerance, self.own.of_largest):
            return "agrees"
        if self.exact:
            return "differs"
        agrees = (min(off.of_largest, plain.of_largest) <= self.arguments.tolerance or
                  min(off.beyond, plain.beyond) <= max(1e-3, self.shaken))
        return "agrees" if agrees else "differs"

    def outputs(self, made):
        """The files that run has written, in the order of the outputs and the shapes of the file."""
        found = []
        for i, (name, wanted) in enumerate(zip(self.theirs.outputs, self.wanted)):
            clean = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in name)
            path = made / ("y.npy" if i == 0 else f"y-{clean}.npy")
            if not path.exists():
                raise Stopped("differs", f"no output '{name}'")
            array = np.load(path)
            if plain(array.shape) != plain(wanted.shape):
                raise Stopped("differs", f"output '{name}': shapes {array.shape} and {wanted.shape}")
            found.append(array.reshape(wanted.shape).astype(np.float64))
        return found


def plain(shape):
    """A shape without its ones, and the samples of one request as requests are."""
    return tuple(size for size in shape if size != 1)


def command_line():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="parts of paths (default: all)")
    parser.add_argument("--models", type=pathlib.Path, default="build/agreement",
                        help="where the files are (default: build/agreement)")
    parser.add_argument("--vbslab", default="build/vbslab", help="(default: build/vbslab)")
    parser.add_argument("--table", type=pathlib.Path, required=True, metavar="FILE.csv")
    parser.add_argument("--commit", default=commit(), help="that the program is of")
    parser.add_argument("--again", default="", metavar="RESULTS",
                        help="check again only files that have one of these, as refused,differs")
    parser.add_argument("--threads", type=int, help="of vbslab (default: its own default)")
    parser.add_argument("--batches", default="1,2", help="to measure (default: 1,2)")
    parser.add_argument("--time-limit", type=float, default=0.5, metavar="SECONDS",
                        help="of measuring (default: 0.5)")
    parser.add_argument("--patience", type=float, default=180, metavar="SECONDS",
                        help="that one command may take (default: 180)")
    parser.add_argument("--tolerance", type=float, default=1e-4,
                        help="of the largest value (default: 1e-4)")
    return parser.parse_args()


def commit():
    done = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def read(table):
    """The rows of the table by file."""
    rows = {}
    if table.exists():
        with open(table, newline="") as file:
            for row in csv.DictReader(line for line in file if line[0] != "#"):
                rows.setdefault(row["file"], []).append(row)
    return rows


def write(table, rows):
    part = table.with_suffix(".part")
    with open(part, "w", newline="") as file:
        file.write(f"# reference: ONNX Runtime {onnxruntime.__version__}\n")
        file.write(f"# date: {time.strftime('%Y-%m-%d', time.gmtime())}\n")
        out = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        out.writeheader()
        for key in sorted(rows):
            out.writerows(rows[key])
    part.replace(table)


def bytes_of(path):
    """With the weights in files beside."""
    return sum(part.stat().st_size for part in path.parent.glob(path.name + "*"))


def chosen(arguments, rows):
    files = [path for path in arguments.models.rglob("*.onnx") if path.parent.name != "part"]
    files.sort(key=lambda path: (bytes_of(path), path))  # what is quick comes first
    again = set(filter(None, arguments.again.split(",")))
    for path in files:
        file = File(arguments.models, path)
        there = rows.get(file.key, [])
        if arguments.names and not any(name in file.key for name in arguments.names):
            continue
        if again and there and not any(row["result"] in again for row in there):
            continue
        if there and not again and all(row["commit"] == arguments.commit for row in there):
            continue
        yield file


def main():
    arguments = command_line()
    rows = read(arguments.table)
    todo = list(chosen(arguments, rows))
    for i, file in enumerate(todo):
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            rows[file.key] = Checked(arguments, file, pathlib.Path(folder)).rows()
        write(arguments.table, rows)
        print(f"{i + 1}/{len(todo)} {file.key}: " + "; ".join(
            f"{row['execution']} {row['result']} {row.get('of_largest', row.get('said', ''))}"
            for row in rows[file.key]) + f" ({time.monotonic() - begin:.0f} s)", file=sys.stderr)


if __name__ == "__main__":
    main()
