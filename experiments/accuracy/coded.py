"""Networks with coded weights, as the program makes and runs them."""

import csv
import io
import math
import os
import subprocess

import numpy

PART = 1000  # samples that are run at once


def command(vbslab, *arguments, folder):
    """Runs the program with a store of its own, and returns what it prints."""
    environment = dict(os.environ, VBSLAB_DB=os.path.join(folder, "store.sqlite"))
    done = subprocess.run([vbslab, *arguments], capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(done.stderr.strip() or f"{vbslab} {' '.join(arguments)}: exit code {done.returncode}")
    return done.stdout


def settings(values):
    """Bits by layer for weights that have this many values beside 0."""
    return ",".join(f"{name}={max(1, math.ceil(math.log2(n + 1)))}" for name, n in values.items())


def compress(vbslab, model, path, bits, density=None, excess=None):
    """Codes a network, each layer in the form and with the bits of a distance that take least.

    Gives of each matrix its name, weights, those that are not 0, values of the codebook, form, bits of
    a distance, and bytes.
    """
    given = ["--bits", bits]
    for option, value in (("--density", density), ("--excess", excess)):
        given += [] if value is None else [option, str(value)]
    text = command(vbslab, "compress", model, "-o", path, "--csv", *given, folder=os.path.dirname(path))
    rows = csv.DictReader(line for line in io.StringIO(text) if not line.startswith("#"))
    return [[row["name"], int(row["weights"]), int(row["nonzero"] or row["weights"]), row["values"],
             row["form"], row["index_bits"], int(row["stored_bytes"])]
            for row in rows if row["name"] and row["kind"] in ("conv", "fc")]


def run(vbslab, model, samples, work, memory="64MiB"):
    """Outputs for all samples of an array, some at a time. Times do not matter here: few are taken."""
    folder = os.path.dirname(work)
    command(vbslab, "--quiet", "measure", model, "--batches", "1,10", "--time-limit", "0.1", "--no-copies",
            folder=folder)
    outputs = []
    for i in range(0, len(samples), PART):
        part = samples[i:i + PART]
        numpy.save(work + "-in.npy", part)
        command(vbslab, "run", model, "--memory", memory, "--request", str(len(part)), "--input", work + "-in.npy",
                "--output", work + "-out.npy", "--runs", "1", "--warmup", "0", folder=folder)
        outputs.append(numpy.load(work + "-out.npy"))
    os.remove(work + "-in.npy")
    os.remove(work + "-out.npy")
    return numpy.concatenate(outputs)
