"""Makes an ONNX file of the convolutions and inner products of a network, with random weights.

The layers are those of a built-in network, as 'vbslab models show NAME --json' gives them; what lies
between them is left out, since only the weights are looked at. Weights are independent, normally or
Laplace distributed around 0.
"""

import argparse
import json
import subprocess
import sys

import numpy
import onnx
from onnx import TensorProto, helper

DISTRIBUTIONS = ("normal", "laplace")


def layers_of(vbslab, name):
    """Gives name and shape of the weights of each layer with a matrix."""
    shown = subprocess.run([vbslab, "models", "show", name, "--json"], check=True, capture_output=True)
    for layer in json.loads(shown.stdout)["layers"]:
        if layer["kind"] in ("conv", "fc"):
            rows = layer["shape"][0]
            columns = layer["weight_bytes"] // 4 // rows - 1  # one weight of each row is the bias
            yield layer["name"], layer["kind"], rows, columns


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vbslab", required=True)
    parser.add_argument("--distribution", choices=DISTRIBUTIONS, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("model")
    parser.add_argument("file")
    arguments = parser.parse_args()
    random = numpy.random.default_rng(arguments.seed)
    nodes, initializers, outputs = [], [], []
    width = 0
    found = list(layers_of(arguments.vbslab, arguments.model))
    for _, _, _, columns in found:
        width = max(width, columns)
    for name, kind, rows, columns in found:
        draw = random.standard_normal if arguments.distribution == "normal" else random.laplace
        weights = draw(size=(rows, columns)).astype(numpy.float32)
        shape = (rows, columns, 1) if kind == "conv" else (rows, columns)
        bounds = [helper.make_tensor(f"{name}.{end}", TensorProto.INT64, [1], [value])
                  for end, value in (("begin", 0), ("end", columns), ("axis", 1))]
        initializers += bounds
        nodes.append(helper.make_node("Slice", ["x"] + [b.name for b in bounds], [f"{name}.x"]))
        initializers.append(helper.make_tensor(f"{name}.w", TensorProto.FLOAT, shape,
                                               weights.tobytes(), raw=True))
        if kind == "conv":
            axes = helper.make_tensor(f"{name}.axes", TensorProto.INT64, [1], [2])
            initializers.append(axes)
            nodes.append(helper.make_node("Unsqueeze", [f"{name}.x", axes.name], [f"{name}.x3"]))
            nodes.append(helper.make_node("Conv", [f"{name}.x3", f"{name}.w"], [name], name=name))
            outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", rows, 1]))
        else:
            nodes.append(helper.make_node("Gemm", [f"{name}.x", f"{name}.w"], [name], name=name,
                                          transB=1))
            outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", rows]))
    graph = helper.make_graph(
        nodes, arguments.model, [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", width])],
        outputs, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    with open(arguments.file, "wb") as file:
        file.write(model.SerializeToString())
    return 0


if __name__ == "__main__":
    sys.exit(main())
