#!/usr/bin/env python3
"""Makes full ONNX files of the light ones, whose weights are ConstantOfShape nodes.

Nodes stay as they are. Every parameter becomes an initialiser of seeded random numbers; statistics
of normalisations are those of random images. Like experiments/peers/networks.py, but for all nine
networks, with the batch of one that the files have.
"""
import argparse
import pathlib
import sys
import zlib

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper


def shapes_of_parameters(graph):
    known = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    return {node.output[0]: tuple(int(d) for d in known[node.input[0]])
            for node in graph.node if node.op_type == "ConstantOfShape"}


def readers_of(graph):
    """The node that computes with each parameter, and as which input: reshaping passes it on."""
    readers = {}
    for node in reversed(graph.node):
        for i, name in enumerate(node.input):
            passes = node.op_type in ("Reshape", "Unsqueeze") and i == 0
            readers[name] = readers.get(node.output[0], (node, i)) if passes else (node, i)
    return readers


def values(name, shape, node, index):
    """He's scale for weights, near the neutral for the rest."""
    noise = np.random.default_rng([1, zlib.crc32(name.encode())]).standard_normal(shape)
    if node.op_type in ("Conv", "Gemm") and index == 1:
        return noise * np.sqrt(2 / np.prod(shape[1:]))
    multiplies = node.op_type == "Mul" or (node.op_type == "BatchNormalization" and index == 1)
    if multiplies:
        return 1 + 0.2 * noise
    if node.op_type == "BatchNormalization" and index == 4:
        return np.exp(0.2 * noise)
    return 0.1 * noise


def full_model(light):
    graph = light.graph
    shapes, readers = shapes_of_parameters(graph), readers_of(graph)
    made = [numpy_helper.from_array(values(name, shape, *readers[name]).astype(np.float32), name)
            for name, shape in shapes.items() if name in readers]
    nodes = [node for node in graph.node if node.op_type != "ConstantOfShape"]
    read = {name for node in nodes for name in node.input}
    made += [t for t in graph.initializer if t.name in read]
    kept = {t.name for t in made}
    inputs = [value for value in graph.input if value.name in read - kept]
    model = helper.make_graph(nodes, graph.name, inputs, graph.output, made)
    return helper.make_model(model, ir_version=4, opset_imports=light.opset_import,
                             producer_name="vbslab experiments/agreement")


def fit_statistics(model):
    """Means and variances of normalisations become those of what they read, from the first on."""
    graph = model.graph
    tensors = {t.name: t for t in graph.initializer}
    shape = [d.dim_value for d in graph.input[0].type.tensor_type.shape.dim]
    images = np.random.default_rng(2).standard_normal(shape, dtype=np.float32)
    for node in graph.node:
        if node.op_type != "BatchNormalization":
            continue
        probe = onnx.ModelProto()
        probe.CopyFrom(model)
        del probe.graph.output[:]
        probe.graph.output.append(helper.make_empty_tensor_value_info(node.input[0]))
        session = onnxruntime.InferenceSession(probe.SerializeToString(),
                                               providers=["CPUExecutionProvider"])
        x = session.run(None, {graph.input[0].name: images})[0]
        for name, value in ((node.input[3], x.mean((0, 2, 3))),
                            (node.input[4], x.var((0, 2, 3)) + 1e-3)):
            tensors[name].CopyFrom(numpy_helper.from_array(value.astype(np.float32), name))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--light", type=pathlib.Path, default="tests/data/onnx")
    parser.add_argument("--out", type=pathlib.Path, default="build/agreement")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for source in sorted(arguments.light.glob("light_*.onnx")):
        path = arguments.out / source.name.removeprefix("light_")
        if path.exists():
            print(f"{path.name}: is there", file=sys.stderr)
            continue
        model = full_model(onnx.load(source))
        fit_statistics(model)
        onnx.checker.check_model(model)
        onnx.save(model, path.with_suffix(".part"))
        path.with_suffix(".part").rename(path)
        print(f"{path.name}: {path.stat().st_size / 2**20:.1f} MiB", file=sys.stderr)


if __name__ == "__main__":
    main()
