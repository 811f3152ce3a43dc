#!/usr/bin/env python3
"""Puts the networks of one seed into db/networks, and a sample of the test images beside the tests.

    ship.py --vbslab build/vbslab --checkpoints build/accuracy --seed 0

The coded networks, the dense ones where they are below 2 MB, and networks.csv: what each gets right of all
test images and of the sample.
"""

import argparse
import gzip
import os
import shutil
import sys

sys.dont_write_bytecode = True

import numpy

import coded
import data
import evaluate
import export
import train

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SAMPLE = 200  # the first of the test images
# The name of its files, and the compressed kind that is put there.
FILES = {"lenet300": ("lenet-300-100", "40"), "lenet5": ("lenet-5", "40"), "resnet8": ("resnet-8-stride-2", "10")}
LARGEST = 2000000


def margin(outputs):
    """The least distance of the largest output of an image to the next, over the largest of all."""
    ordered = numpy.sort(outputs, axis=1)
    return (ordered[:, -1] - ordered[:, -2]).min() / abs(outputs).max()


def write_sample(images, labels, folder):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "images.npy.gz"), "wb") as file:
        with gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
            numpy.save(packed, images[:SAMPLE])
    with open(os.path.join(folder, "labels"), "w") as file:
        file.write("".join(f"{label}\n" for label in labels[:SAMPLE]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vbslab", default="build/vbslab")
    parser.add_argument("--checkpoints", default="build/accuracy")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    images, labels = (part.numpy() for part in data.test())
    work = os.path.join(options.checkpoints, "coded")
    folder = os.path.join(ROOT, "db", "networks")
    os.makedirs(folder, exist_ok=True)
    write_sample(images, labels, os.path.join(ROOT, "tests", "data", "fashion-mnist"))
    table = evaluate.Table(os.path.join(folder, "networks.csv"),
                           ["file", "network", "kind", "bytes", "right_of_10000", f"right_of_{SAMPLE}"],
                           evaluate.provenance(options.vbslab))
    for name, seed, kind, kept in evaluate.checkpoints(options.checkpoints):
        stem, compressed = FILES[name]
        if seed != options.seed or kind not in ("dense", compressed):
            continue
        file = stem + (".onnx" if kind == "dense" else ".vbz")
        path = os.path.join(folder, file)
        if kind == "dense":
            export.save(evaluate.network_of(name, kind, kept), path)
            if os.path.getsize(path) > LARGEST:
                os.remove(path)
                continue
        else:
            shutil.copy(os.path.join(work, f"{name}-{seed}-{kind}.vbz"), path)
        outputs = coded.run(options.vbslab, path, images, os.path.join(work, "ship"))
        right = outputs.argmax(1) == labels
        table.row(file, train.RECIPES[name]["make"].__name__, kind, os.path.getsize(path), int(right.sum()),
                  int(right[:SAMPLE].sum()))
        print(f"{file}: margin of the sample {margin(outputs[:SAMPLE]):.2g}")


if __name__ == "__main__":
    main()
