"""Quantises trained networks with vbslab and with ONNX Runtime's own quantiser, on the same samples.

measure.py PROGRAM NETWORKS DATA SCRATCH SAMPLES RUN_IMAGES writes accuracy.csv and outputs.csv into SCRATCH:
accuracy of the files on all test images, computed by ONNX Runtime, and outputs of the files in vbslab
beside those in ONNX Runtime.
"""
import gzip
import json
import os
import subprocess
import sys

import numpy
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

MEAN, DEVIATION = 0.286041, 0.353024  # as the networks' files have them
NETWORKS = ["lenet-300-100", "lenet-5", "resnet-8-stride-2", "conv-5", "conv-5-pruned", "resnet-20"]
METHODS = {
    "minmax": CalibrationMethod.MinMax,
    "percentile": CalibrationMethod.Percentile,
    "entropy": CalibrationMethod.Entropy,
}


def images_of(folder, part):
    with gzip.open(f"{folder}/{part}-images-idx3-ubyte.gz") as file:
        pixels = numpy.frombuffer(file.read(), numpy.uint8, offset=16).reshape(-1, 1, 28, 28)
    with gzip.open(f"{folder}/{part}-labels-idx1-ubyte.gz") as file:
        labels = numpy.frombuffer(file.read(), numpy.uint8, offset=8)
    return pixels, labels


def normalised(pixels):
    return ((pixels / 255.0 - MEAN) / DEVIATION).astype(numpy.float32)


class Samples(CalibrationDataReader):
    """The samples, one by one."""

    def __init__(self, name, samples):
        self.batches = iter([{name: samples[i : i + 1]} for i in range(len(samples))])

    def get_next(self):
        return next(self.batches, None)


class Peer:
    """A file in ONNX Runtime."""

    def __init__(self, path):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 2
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.input = self.session.get_inputs()[0]

    def run(self, images):
        shape = [len(images)] + [n for n in self.input.shape[1:]]
        return self.session.run(None, {self.input.name: images.reshape(shape)})[0].reshape(len(images), -1)

    def right(self, pixels, labels):
        answers = [self.run(normalised(pixels[i : i + 500])).argmax(1) for i in range(0, len(pixels), 500)]
        return int((numpy.concatenate(answers) == labels).sum())


def decibels(a, b):
    error = ((a.astype(float) - b) ** 2).sum()
    return 10 * numpy.log10((a.astype(float) ** 2).sum() / error) if error > 0 else float("inf")


def shaped(samples, path):
    """The samples in the shape of the network's input."""
    return samples.reshape([len(samples)] + Peer(path).input.shape[1:])


def quantise_here(program, path, samples, to, method, per_tensor):
    command = [program, "quantize", path, "--data", samples, "-o", to, "--method", method, "--json", "--images", "1000000"]
    made = subprocess.run(command + ["--per-tensor"] * per_tensor, check=True, capture_output=True, text=True)
    return json.loads(made.stdout)


def quantise_there(path, samples, to, method, per_tensor):
    prepared = to + ".prepared.onnx"
    quant_pre_process(path, prepared)
    quantize_static(
        prepared,
        to,
        Samples(Peer(path).input.name, samples),
        quant_format=QuantFormat.QDQ,
        per_channel=not per_tensor,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        calibrate_method=METHODS[method],
    )


def compare_outputs(program, path, scratch, images):
    """Runs the same images in vbslab and in ONNX Runtime."""
    given, made = f"{scratch}/in.npy", f"{scratch}/out.npy"
    numpy.save(given, images)
    command = [program, "--quiet", "--db", f"{scratch}/store.sqlite", "run", path, "--request", str(len(images)), "--planner", "fbs"]
    subprocess.run(command + ["--memory", "400MiB", "--input", given, "--output", made], check=True, stdout=subprocess.DEVNULL)
    here, there = numpy.load(made).reshape(len(images), -1), Peer(path).run(images)
    difference = numpy.abs(here - there)
    return [
        here.size,
        f"{numpy.abs(there).max():.9g}",
        f"{difference.max():.9g}",
        f"{(difference <= 1e-5 * numpy.abs(there).max()).mean():.9g}",
        int((here.argmax(1) == there.argmax(1)).sum()),
    ]


def main():
    program, networks, data, scratch, n_samples, n_run = sys.argv[1:]
    pixels, _ = images_of(data, "train")
    chosen = numpy.random.default_rng(1).permutation(len(pixels))[: int(n_samples)]
    samples, (tests, labels) = normalised(pixels[chosen]), images_of(data, "t10k")
    with open(f"{scratch}/accuracy.csv", "w") as accuracy, open(f"{scratch}/outputs.csv", "w") as outputs:
        print("network,program,method,weights,images,right,bytes,db,db_there", file=accuracy)
        print("network,images,values,largest,difference,within,same_class", file=outputs)
        for network in NETWORKS:
            path = f"{networks}/{network}.onnx"
            given = f"{scratch}/samples.npy"
            own = shaped(samples, path)
            numpy.save(given, own)
            whole = Peer(path)
            before = whole.run(samples)
            size = os.path.getsize(path)
            print(f"{network},floats,,,{len(tests)},{whole.right(tests, labels)},{size},,", file=accuracy, flush=True)
            for method in METHODS:
                for per_tensor in (False, True):
                    weights = "tensor" if per_tensor else "channel"
                    here, there = f"{scratch}/here.onnx", f"{scratch}/there.onnx"
                    told = quantise_here(program, path, given, here, method, per_tensor)
                    quantise_there(path, own, there, method, per_tensor)
                    for name, file, db in (("vbslab", here, told["outputs_db"]), ("onnxruntime", there, "")):
                        peer = Peer(file)
                        row = [network, name, method, weights, len(tests), peer.right(tests, labels), os.path.getsize(file)]
                        row += [db, f"{decibels(before, peer.run(samples)):.9g}"]
                        print(*row, sep=",", file=accuracy, flush=True)
                    if method == "minmax" and not per_tensor:
                        images = shaped(normalised(tests[: int(n_run)]), path)
                        print(network, n_run, *compare_outputs(program, here, scratch, images), sep=",", file=outputs, flush=True)


main()
