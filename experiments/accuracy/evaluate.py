#!/usr/bin/env python3
"""Reads the test images once, for all trained networks, and writes the tables of this experiment.

    evaluate.py --vbslab build/vbslab --checkpoints build/accuracy --out experiments/accuracy

Each compressed network is written as an ONNX file, coded by `vbslab compress`, and run by `vbslab run` on all
test images; its accuracy is that of these outputs.

accuracy.csv   right answers of each network among 10,000 test images
pairs.csv      compressed against dense networks on the same images: McNemar's exact test, 95 % intervals
layers.csv     what each coded matrix takes
"""

import argparse
import csv
import datetime
import glob
import math
import os
import platform
import re
import subprocess
import sys

sys.dont_write_bytecode = True

import numpy
import torch

import coded
import data
import export
import networks
import sharing
import train

KINDS = ("dense", "longer")


def checkpoints(folder):
    """Network, seed, kind and path of each finished one."""
    for path in sorted(glob.glob(os.path.join(folder, "*.pt"))):
        match = re.fullmatch(r"([a-z]+\d+)-(\d+)-([a-z0-9.]+)\.pt", os.path.basename(path))
        if match and match[1] in train.RECIPES:
            kept = torch.load(path, weights_only=False)
            if kept["epoch"] == kept["epochs"]:
                yield match[1], int(match[2]), match[3], kept


def network_of(name, kind, kept):
    make = train.RECIPES[name]["make"]
    network = make() if kind in KINDS else networks.folded(make())
    if kind not in KINDS:
        sharing.share(network)
        train.restore(network, kept["forms"])
    network.load_state_dict(kept["network"])
    return sharing.plain(network.eval())


def answers(network, images):
    with torch.no_grad():
        return torch.cat([network(part) for part in images.split(500)]).numpy()


def mcnemar(worse, better):
    """Two-sided exact probability of so uneven a split of the images that only one of two gets right."""
    n, k = worse + better, min(worse, better)
    if n == 0:
        return 1.0
    terms = [math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) for i in range(k + 1)]
    return min(1.0, 2 * sum(math.exp(term - n * math.log(2)) for term in terms))


def compare(reference, compared):
    """Images right by both, by one and by none, the difference in points, its interval, and McNemar's p.

    Rows are seeds. The interval is that of the mean over images of the difference over all seeds:
    answers to one image by several networks are not independent, images are.
    """
    both = int((reference & compared).sum())
    worse = int((reference & ~compared).sum())
    better = int((~reference & compared).sum())
    difference = 100 * (compared.astype(float) - reference).mean(0)
    middle = difference.mean()
    half = 1.96 * difference.std(ddof=1) / math.sqrt(len(difference))
    return [both, worse, better, reference.size - both - worse - better, f"{middle:.3f}",
            f"{middle - half:.3f}", f"{middle + half:.3f}", f"{mcnemar(worse, better):.4g}"]


def across_seeds(reference, compared):
    """Half of the 95 % interval of the mean difference by its variation from seed to seed."""
    student = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}
    differences = 100 * (compared.mean(1) - reference.mean(1))
    n = len(differences)
    return f"{student[n] * differences.std(ddof=1) / math.sqrt(n):.3f}" if n in student else ""


class Table:
    """A CSV file that says where it comes from."""

    def __init__(self, path, columns, about):
        self.file = open(path, "w", newline="")
        for key, value in about.items():
            self.file.write(f"# {key}: {value}\n")
        self.writer = csv.writer(self.file, lineterminator="\n")
        self.writer.writerow(columns)

    def row(self, *values):
        self.writer.writerow(values)
        self.file.flush()


def provenance(vbslab):
    with open("/proc/cpuinfo") as file:
        device = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "")
    said = subprocess.run([vbslab, "--version"], capture_output=True, text=True, check=True).stdout
    return dict(device=f"{device}, {os.cpu_count()} threads", vbslab=said.splitlines()[0],
                torch=torch.__version__, numpy=numpy.__version__, python=platform.python_version(),
                data=f"Fashion-MNIST, dataset-fashion-mnist; validation: {data.N_VALIDATION} of the training "
                     f"images, split seed {data.SPLIT_SEED}",
                date=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vbslab", default="build/vbslab")
    parser.add_argument("--checkpoints", default="build/accuracy")
    parser.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)))
    options = parser.parse_args()
    torch.set_num_threads(1)
    images, labels = data.test()
    about = provenance(options.vbslab)
    work = os.path.join(options.checkpoints, "coded")
    os.makedirs(work, exist_ok=True)

    accuracy = Table(os.path.join(options.out, "accuracy.csv"),
                     ["network", "seed", "kind", "epochs", "validation", "right", "vbslab_right",
                      "largest_difference", "dense_bytes", "bytes", "times_smaller"], about)
    layers = Table(os.path.join(options.out, "layers.csv"),
                   ["network", "seed", "kind", "layer", "weights", "nonzero", "values", "form",
                    "index_bits", "bytes"],
                   about)
    right = {}
    for name, seed, kind, kept in checkpoints(options.checkpoints):
        network = network_of(name, kind, kept)
        out = answers(network, images)
        right[name, kind, seed] = out.argmax(1) == labels.numpy()
        row = ["", "", "", "", ""]
        if kind not in KINDS:
            stem = os.path.join(work, f"{name}-{seed}-{kind}")
            export.save(network, stem + ".onnx")
            values = {layer: len(matrix.weight.detach().unique().nonzero())
                      for layer, matrix in zip(network.matrices, network.layers())}
            parts = coded.compress(options.vbslab, stem + ".onnx", stem + ".vbz", coded.settings(values))
            for part in parts:
                layers.row(name, seed, kind, *part)
            by_vbslab = coded.run(options.vbslab, stem + ".vbz", images.numpy(), stem)
            right[name, kind, seed] = by_vbslab.argmax(1) == labels.numpy()
            size = sum(part[-1] for part in parts) + train.bias_bytes(network)
            dense = 4 * network.n_parameters()
            row = [int(right[name, kind, seed].sum()), f"{abs(by_vbslab - out).max() / abs(out).max():.2g}",
                   dense, size, f"{dense / size:.2f}"]
        epochs = train.RECIPES[name]["epochs"]
        accuracy.row(name, seed, kind, epochs[0] if kind == "dense" else sum(epochs), f"{kept['validation']:.2f}",
                     int((out.argmax(1) == labels.numpy()).sum()), *row)

    pairs = Table(os.path.join(options.out, "pairs.csv"),
                  ["network", "reference", "compared", "seed", "seeds", "both", "only_reference", "only_compared",
                   "neither", "points", "low", "high", "p", "half_by_seeds"], about)
    for name, kind in sorted({key[:2] for key in right}):
        for reference in KINDS:
            seeds = [seed for other, k, seed in sorted(right)
                     if (other, k) == (name, kind) and (name, reference, seed) in right]
            if kind == reference or kind == "dense" or not seeds:
                continue
            first = numpy.stack([right[name, reference, seed] for seed in seeds])
            second = numpy.stack([right[name, kind, seed] for seed in seeds])
            for i, seed in enumerate(seeds):
                pairs.row(name, reference, kind, seed, 1, *compare(first[i:i + 1], second[i:i + 1]), "")
            pairs.row(name, reference, kind, "all", len(seeds), *compare(first, second), across_seeds(first, second))


if __name__ == "__main__":
    main()
