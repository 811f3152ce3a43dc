#!/usr/bin/env python3
"""Makes full ONNX files out of light ones.

A light file has the network and, instead of weights, ConstantOfShape nodes with their shapes. Here
every parameter becomes an initialiser of seeded random numbers, scaled so that activations keep
their size from layer to layer, and the batch becomes a symbol, N. vgg16 is vgg19 without the
fourth convolutions of its blocks 3, 4 and 5.

The same seed gives the same bytes. Every file is checked, and run once when onnxruntime is there.
"""
import argparse
import pathlib
import sys
import zlib

import numpy as np
import onnx
from onnx import helper, numpy_helper

NETWORKS = ["bvlc_alexnet", "inception_v1", "resnet50", "squeezenet", "vgg16", "vgg19", "zfnet512"]
DERIVED = {"vgg16": ("vgg19", ["conv3_4", "conv4_4", "conv5_4"])}
# The last normalisation of a residual branch: sixteen sums would grow the activations 256 times.
BRANCH_END = "branch2c_bn"


def shapes_of_parameters(graph):
    """Shapes of all parameters, and the values of the integer ones."""
    known = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    shapes = {name: value.shape for name, value in known.items()}
    for node in graph.node:
        if node.op_type == "ConstantOfShape":
            shapes[node.output[0]] = tuple(int(d) for d in known[node.input[0]])
    return shapes, {name: value for name, value in known.items() if value.dtype == np.int64}


def roles_of_parameters(nodes):
    """What each parameter is to the node that reads it."""
    names = {
        "Conv": ["weight", "bias"],
        "Gemm": ["weight", "bias"],
        "BatchNormalization": ["scale", "bias", "mean", "variance"],
    }
    return {
        name: (node, role)
        for node in nodes
        for name, role in zip(node.input[1:], names.get(node.op_type, []))
    }


def values(rng, name, shape, node, role):
    """Random numbers for one parameter: He's scale for weights, near the neutral for the rest."""
    noise = rng.standard_normal(shape, dtype=np.float32)
    if role == "weight":
        fan_in = int(np.prod(shape[1:]))
        gain = 2.0 if node.op_type == "Conv" else 1.0
        return noise * np.float32(np.sqrt(gain / fan_in))
    if role == "scale":
        return np.float32(0.5 if BRANCH_END in name else 1.0) * (1 + np.float32(0.05) * noise)
    if role == "variance":
        return np.exp(np.float32(0.05) * noise)
    return np.float32(0.01) * noise


def without(nodes, names):
    """The nodes without the convolutions of these names and the activations behind them."""
    renamed = {}
    kept = []
    for node in nodes:
        dropped = node.op_type == "Conv" and node.input[1].rsplit("_w_", 1)[0] in names
        dropped |= node.op_type == "Relu" and node.input[0] in renamed
        for i, name in enumerate(node.input):
            node.input[i] = renamed.get(name, name)
        if dropped:
            renamed[node.output[0]] = node.input[0]
        else:
            kept.append(node)
    return kept


def is_flattening(node, integers):
    return node.op_type == "Reshape" and node.input[1] in integers


def fold_reshapes(nodes, shapes, integers):
    """Reshaped weights get their last shape at once; activations are flattened for any batch."""
    kept = []
    for node in nodes:
        if is_flattening(node, integers) and node.input[0] in shapes:
            shapes[node.output[0]] = tuple(int(d) for d in integers[node.input[1]])
            continue
        if is_flattening(node, integers):
            integers[node.input[1]] = np.array([0, -1], dtype=np.int64)
        kept.append(node)
    return kept


def with_symbolic_batch(value):
    dims = [d.dim_value for d in value.type.tensor_type.shape.dim]
    return helper.make_tensor_value_info(value.name, onnx.TensorProto.FLOAT, ["N"] + dims[1:])


def full_model(name, light, dropped, seed):
    graph = light.graph
    shapes, integers = shapes_of_parameters(graph)
    nodes = [node for node in graph.node if node.op_type != "ConstantOfShape"]
    nodes = fold_reshapes(without(nodes, dropped), shapes, integers)
    roles = roles_of_parameters(nodes)
    initialisers = []
    for parameter in sorted({name for node in nodes for name in node.input if name in shapes}):
        if parameter in integers:
            tensor = integers[parameter]
        else:
            rng = np.random.default_rng([seed, zlib.crc32(parameter.encode())])
            tensor = values(rng, parameter, shapes[parameter], *roles[parameter])
        initialisers.append(numpy_helper.from_array(tensor, parameter))
    inputs = [with_symbolic_batch(v) for v in graph.input if v.name not in shapes]
    outputs = [with_symbolic_batch(v) for v in graph.output]
    made = helper.make_graph(nodes, name, inputs, outputs, initialisers)
    # From version 4 on initialisers need not be inputs, so that no reader takes them for variable.
    return helper.make_model(made, ir_version=4, opset_imports=light.opset_import,
                             producer_name="vbslab experiments/peers")


def smoke(path):
    """Runs the file for two images: their outputs differ, and neither is a one among zeros."""
    try:
        import onnxruntime
    except ImportError:
        return "not run: no onnxruntime"
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    first = session.get_inputs()[0]
    images = np.random.default_rng(1).standard_normal([2] + first.shape[1:], dtype=np.float32)
    output = session.run(None, {first.name: images})[0].reshape(2, -1)
    if not np.isfinite(output).all() or np.array_equal(output[0], output[1]):
        raise ValueError(f"{path}: its outputs are not finite, or equal for different images")
    return f"largest probability {output.max():.3g} of {output.shape[1]}"


def make(name, light_folder, out_folder, seed):
    source, dropped = DERIVED.get(name, (name, []))
    light = onnx.load(light_folder / f"light_{source}.onnx")
    model = full_model(name, light, dropped, seed)
    onnx.checker.check_model(model, full_check=True)
    path = out_folder / f"{name}.onnx"
    part = path.with_suffix(".part")
    onnx.save(model, part)
    said = smoke(part)
    part.rename(path)
    print(f"{path}: {path.stat().st_size / 2**20:.1f} MiB, {said}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: " + " ".join(NETWORKS))
    parser.add_argument("--light", type=pathlib.Path, default="tests/data/onnx",
                        help="folder of the light files (default: tests/data/onnx)")
    parser.add_argument("--out", type=pathlib.Path, default="build/peers",
                        help="where the full files go (default: build/peers)")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or NETWORKS:
        if name not in NETWORKS:
            parser.error(f"unknown network '{name}'")
        if (arguments.out / f"{name}.onnx").exists():
            print(f"{name}: is there", file=sys.stderr)
            continue
        make(name, arguments.light, arguments.out, arguments.seed)


if __name__ == "__main__":
    main()
