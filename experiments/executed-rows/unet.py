"""Writes U-Net (Ronneberger et al. 2015) as an ONNX file: usage unet.py CHANNELS SIZE FILE.onnx.

Images of 3 x SIZE x SIZE; CHANNELS of the first convolutions, twice as many at each of the four levels below;
padding keeps the sizes; seeded weights. Needs onnx and numpy.
"""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LEVELS = 4
CLASSES = 2


class Writer:
    def __init__(self):
        self.nodes, self.weights, self.rng = [], [], np.random.default_rng(1)

    def weight(self, name, shape, fan):
        values = self.rng.standard_normal(shape) * np.sqrt(2 / fan)
        self.weights.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def add(self, op, inputs, name, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def conv(self, x, name, n_in, n_out, size, relu=True):
        w = self.weight(name + ".w", (n_out, n_in, size, size), n_in * size * size)
        b = self.weight(name + ".b", (n_out,), n_out)
        y = self.add("Conv", [x, w, b], name, kernel_shape=[size, size], pads=[size // 2] * 4)
        return self.add("Relu", [y], name + ".relu") if relu else y

    def pair(self, x, name, n_in, n_out):
        return self.conv(self.conv(x, name + "_1", n_in, n_out, 3), name + "_2", n_out, n_out, 3)


def unet(channels, size):
    out, x, n, skips = Writer(), "input", 3, []
    for level in range(LEVELS + 1):
        x = out.pair(x, f"down{level}", n, channels << level)
        n = channels << level
        if level < LEVELS:
            skips.append(x)
            x = out.add("MaxPool", [x], f"pool{level}", kernel_shape=[2, 2], strides=[2, 2])
    for level in reversed(range(LEVELS)):
        n_out = channels << level
        w = out.weight(f"up{level}.w", (n, n_out, 2, 2), n)
        x = out.add("ConvTranspose", [x, w], f"up{level}", kernel_shape=[2, 2], strides=[2, 2])
        x = out.add("Concat", [skips[level], x], f"concat{level}", axis=1)
        x, n = out.pair(x, f"join{level}", 2 * n_out, n_out), n_out
    y = out.conv(x, "classes", n, CLASSES, 1, relu=False)
    image = helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 3, size, size])
    classes = helper.make_tensor_value_info(y, TensorProto.FLOAT, [1, CLASSES, size, size])
    graph = helper.make_graph(out.nodes, "unet", [image], [classes], out.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    return model


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    onnx.save(unet(int(sys.argv[1]), int(sys.argv[2])), sys.argv[3])
