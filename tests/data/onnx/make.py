#!/usr/bin/env python3
"""Makes the small networks of this folder with onnx.helper, each with an input and the outputs that
onnx.reference computes. Needs the Python packages onnx (1.16 or later) and numpy.

    python3 make.py [FOLDER]
"""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

FOLDER = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))


CONTRIB = "com.microsoft"  # the domain of the operators that ONNX Runtime adds
LOCAL = "local"  # that of functions in the file itself
LEARN = "ai.onnx.ml"  # and of those of classic learning


class Net:
    """Nodes and initialisers in the order in which they are asked for."""

    def __init__(self, name, opset, shape, batch=2, seed=1):
        self.name, self.opset = name, opset
        self.random = np.random.RandomState(seed)
        self.nodes, self.weights, self.outputs = [], [], []
        self.sparse, self.functions = [], []
        self.shape = shape  # of the file: with its batch, names for open dimensions
        self.batch = batch
        self.count = 0

    def fresh(self, stem):
        self.count += 1
        return "%s_%d" % (stem, self.count)

    def weight(self, *shape, scale=None, name=None):
        fan = int(np.prod(shape[1:])) if len(shape) > 1 else 1
        values = self.random.randn(*shape) * (scale if scale else 1 / np.sqrt(fan))
        return self.constant(values.astype(np.float32), name or self.fresh("w"))

    def constant(self, values, name=None):
        name = name or self.fresh("c")
        self.weights.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def floats(self, *values):
        return self.constant(np.array(values, np.float32))

    def scalar(self, value):
        return self.constant(np.array(value, np.float32))

    def op(self, kind, *inputs, outputs=1, name=None, **attributes):
        out = [self.fresh(kind.lower()) for _ in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), out, name=name or self.fresh(kind),
                                           **attributes))
        return out[0] if outputs == 1 else out

    def output(self, value, name):
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(name)

    def output_itself(self, value):
        self.outputs.append(value)

    def model(self, ir=8):
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)
        outs = [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in self.outputs]
        inputs = [x]
        if ir == 3:  # initialisers were inputs then
            inputs += [helper.make_tensor_value_info(w.name, w.data_type, list(w.dims))
                       for w in self.weights]
        graph = helper.make_graph(self.nodes, self.name, inputs, outs, self.weights,
                                  sparse_initializer=self.sparse)
        domains = [helper.make_opsetid("", self.opset)]
        for domain in (CONTRIB, LEARN):
            if any(node.domain == domain for node in self.nodes):
                domains.append(helper.make_opsetid(domain, 1))
        if self.functions:
            domains.append(helper.make_opsetid(LOCAL, 1))
        model = helper.make_model(graph, opset_imports=domains, functions=self.functions,
                                  producer_name="make.py")
        model.ir_version = ir
        return model

    def save(self, ir=8, external=None, results=None, apart=False, twin=None):
        """apart: each sample is computed on its own; twin: a network that computes the same."""
        model = self.model(ir)
        shape = [self.batch if isinstance(d, str) or d is None else d for d in self.shape]
        x = self.random.randn(*shape).astype(np.float32)
        if results is None:
            evaluator = ReferenceEvaluator(twin.model(ir) if twin else model)
            parts = [x[i:i + 1] for i in range(len(x))] if apart else [x]
            parts = [evaluator.run(None, {"x": part}) for part in parts]
            results = [np.concatenate(part) for part in zip(*parts)] if apart else parts[0]
        elif callable(results):
            results = results(x)
        path = os.path.join(FOLDER, self.name)
        if external:
            onnx.save_model(model, path + ".onnx", save_as_external_data=True, location=external,
                            size_threshold=64)
        else:
            onnx.save_model(model, path + ".onnx")
        write(path + "_in.pb", x)
        for i, y in enumerate(results):
            write(path + "_out%d.pb" % i, y)
        return results


def write(path, values):
    with open(path, "wb") as file:
        file.write(numpy_helper.from_array(np.asarray(values, np.float32)).SerializeToString())


def batch_norm(n, x, channels):
    scale = n.constant((1 + 0.2 * n.random.randn(channels)).astype(np.float32))
    mean = n.weight(channels, scale=0.3)
    variance = n.constant(n.random.uniform(0.5, 2, channels).astype(np.float32))
    return n.op("BatchNormalization", x, scale, n.weight(channels, scale=0.3), mean, variance,
                epsilon=1e-3)


def torch_flatten(version, results=None):
    """What torch.onnx.export writes for x.view(x.size(0), -1)."""
    n = Net("torch_flatten_%d" % version, version, ["N", 3, 8, 8])
    y = n.op("Conv", "x", n.weight(8, 3, 3, 3), n.weight(8), kernel_shape=[3, 3], pads=[1] * 4)
    y = n.op("Relu", batch_norm(n, y, 8))
    y = n.op("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2])
    size = n.op("Gather", n.op("Shape", y), n.constant(np.array(0, np.int64)), axis=0)
    size = n.op("Unsqueeze", size, axes=[0]) if version < 13 else n.op("Unsqueeze", size, n.ints(0))
    shape = n.op("Concat", size, n.ints(-1), axis=0)
    y = n.op("Reshape", y, shape)
    y = n.op("Dropout", n.op("Gemm", y, n.weight(10, 128), n.weight(10), transB=1, alpha=0.5,
                             beta=2.0))
    n.output(n.op("Softmax", y, axis=1), "y")
    return n.save(results=results)


def torch_gates():
    """Activations that exporters write as several nodes, and dimensions computed from shapes."""
    n = Net("torch_gates", 13, ["N", 4, 6, 6])
    y = n.op("Conv", "x", n.weight(8, 4, 1, 1))
    y = n.op("Mul", y, n.op("Sigmoid", y))
    y = n.op("Conv", y, n.weight(8, 1, 3, 3), group=8, pads=[1] * 4)
    y = n.op("Div", n.op("Mul", y, n.op("Clip", n.op("Add", y, n.scalar(3)), n.scalar(0),
                                        n.scalar(6))), n.scalar(6))
    y = n.op("Conv", y, n.weight(8, 8, 1, 1))
    y = n.op("Mul", y, n.op("Tanh", n.op("Softplus", y)))
    gate = n.op("ReduceMean", y, axes=[2, 3], keepdims=1)
    gate = n.op("HardSigmoid", n.op("Conv", gate, n.weight(8, 8, 1, 1)), alpha=0.2)
    y = n.op("Mul", gate, y)
    e = n.op("Erf", n.op("Div", y, n.scalar(1.4142135)))
    y = n.op("Mul", n.op("Mul", y, n.op("Add", e, n.scalar(1))), n.scalar(0.5))
    shape = n.op("Shape", y)

    def part(i):
        begin, end = n.ints(i), n.ints(i + 1)
        return n.op("Slice", shape, begin, end)

    half = n.op("Div", part(1), n.ints(2))
    split = n.op("Concat", part(0), n.ints(2), half, part(2), part(3), axis=0)
    y = n.op("Transpose", n.op("Reshape", y, split), perm=[0, 2, 1, 3, 4])
    y = n.op("Reshape", y, n.op("Concat", part(0), n.ints(-1), part(2), part(3), axis=0))
    y = n.op("MatMul", n.op("ReduceMean", y, axes=[2, 3], keepdims=0), n.weight(8, 5))
    n.output(n.op("LogSoftmax", n.op("Add", n.weight(5), y)), "y")
    n.save()


def keras_nhwc():
    """What tf2onnx writes: images with channels last, a Pad before a convolution, biases apart."""
    n = Net("keras_nhwc", 15, ["N", 9, 9, 3])
    y = n.op("Transpose", "x", perm=[0, 3, 1, 2])
    y = n.op("Pad", y, n.ints(0, 0, 0, 0, 0, 0, 1, 1), n.scalar(0))
    y = n.op("Conv", y, n.op("Transpose", n.weight(3, 3, 3, 8, scale=0.2), perm=[3, 2, 0, 1]),
             strides=[2, 2])
    y = n.op("Add", y, n.weight(1, 8, 1, 1))
    y = n.op("Clip", y, n.scalar(0), n.scalar(6))
    depthwise = n.op("Reshape", n.weight(8, 3, 3), n.ints(8, 1, 3, 3))
    y = n.op("Conv", y, depthwise, group=8, auto_pad="SAME_LOWER", strides=[2, 2])
    y = n.op("Mul", y, n.weight(8, 1, 1))
    y = n.op("Add", y, n.weight(1, 8, 1, 1))
    y = n.op("Transpose", n.op("LeakyRelu", y, alpha=0.3), perm=[0, 2, 3, 1])
    y = n.op("Transpose", y, perm=[0, 3, 1, 2])
    y = n.op("Squeeze", n.op("GlobalAveragePool", y), n.ints(2, 3))
    y = n.op("Add", n.op("MatMul", y, n.weight(8, 6)), n.weight(6))
    n.output(n.op("Softmax", y), "y")
    n.save()


def segment():
    """Down, up and across, as segmentation networks do; outputs of two sizes."""
    n = Net("segment", 18, [1, 3, 8, 8])
    a = n.op("Elu", n.op("Conv", "x", n.weight(4, 3, 3, 3), n.weight(4), pads=[1] * 4))
    y = n.op("AveragePool", a, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4, ceil_mode=1,
             count_include_pad=1)
    y = n.op("Conv", y, n.weight(8, 4, 3, 3), pads=[2] * 4, dilations=[2, 2])
    y = n.op("InstanceNormalization", y, n.weight(8), n.weight(8))
    y = n.op("PRelu", y, n.weight(8, 1, 1))
    y = n.op("ConvTranspose", y, n.weight(8, 4, 3, 3), n.weight(4), strides=[2, 2],
             output_padding=[1, 1], pads=[2, 2, 2, 2])
    y = n.op("Pad", y, n.ints(1, 1, 0, 0), n.scalar(0), n.ints(-1, 2), mode="edge")
    y = n.op("Slice", y, n.ints(0, 0), n.ints(8, 8), n.ints(2, 3))
    y = n.op("Concat", y, a, axis=1)
    first, second, third = n.op("Split", y, n.ints(3, 3, 2), outputs=3, axis=1)
    y = n.op("Sum", first, n.op("Mul", second, second), n.op("Max", first, second))
    y = n.op("Resize", y, "", "", n.ints(1, 3, 12, 10), mode="linear",
             coordinate_transformation_mode="pytorch_half_pixel")
    n.output(n.op("Sigmoid", n.op("Conv", y, n.weight(2, 3, 1, 1))), "mask")
    n.output(n.op("DepthToSpace", n.op("Concat", third, third, axis=1), blocksize=2), "small")
    n.save(ir=9)


def outputs():
    """Outputs that are read inside, aliases of each other, and of the input."""
    n = Net("outputs", 17, ["N", 4])
    a = n.op("Gemm", "x", n.weight(4, 4), n.weight(4), transB=1)
    b = n.op("Relu", a)
    n.output_itself(a)
    n.output_itself(b)
    n.output(n.op("Unsqueeze", b, n.ints(1)), "wide")
    n.output(n.op("Sub", n.op("Concat", a, a, axis=1), n.op("Concat", "x", "x", axis=-1)), "y")
    n.output("x", "same")
    unread = n.op("Tan", b)
    n.op("Cos", unread)
    n.save()


def one_channel():
    """A tensor of one channel that is copied to an output, and joined with another one."""
    n = Net("one_channel", 17, ["N", 3, 6, 6])
    a = n.op("Relu", n.op("Conv", "x", n.weight(32, 3, 5, 5), pads=[2] * 4))
    s = n.op("Sigmoid", n.op("Conv", a, n.weight(1, 32, 3, 3), pads=[1] * 4))
    y = n.op("Concat", s, a, axis=1)
    n.output(s, "y1")
    n.output(n.op("Conv", y, n.weight(8, 33, 3, 3), pads=[1] * 4), "y2")
    n.save()


def whole():
    """A network that works along dimension 0, which is no batch then."""
    n = Net("whole", 17, [5, 3])
    y = n.op("MatMul", "x", n.weight(3, 4))
    y = n.op("Softmax", n.op("MatMul", n.op("Transpose", y), "x"), axis=0)
    y = n.op("Add", y, n.weight(4, 1))
    n.output(n.op("ReduceMax", y, axes=[0], keepdims=0), "y")
    n.save()


def normals():
    """Normalisations with means and deviations, tokens joined with a constant, and embeddings."""
    n = Net("normals", 21, ["N", 6, 8])
    y = n.op("LayerNormalization", "x", n.weight(8), n.weight(8), axis=-1)
    token = n.op("Expand", n.weight(1, 1, 8),
                 n.op("Concat", n.op("Shape", "x", start=0, end=1), n.ints(1, 8), axis=0))
    y = n.op("Concat", token, y, axis=1)
    y = n.op("Add", y, n.weight(1, 7, 8))
    q = n.op("Add", n.op("MatMul", y, n.weight(8, 8)), n.weight(8))
    q = n.op("Transpose", n.op("Reshape", q, n.ints(0, 0, 2, 4)), perm=[0, 2, 1, 3])
    k = n.op("Transpose", n.op("Reshape", y, n.ints(0, 7, 2, -1)), perm=[0, 2, 3, 1])
    y = n.op("MatMul", n.op("Softmax", n.op("Mul", n.op("MatMul", q, k), n.scalar(0.5))), q)
    y = n.op("Reshape", n.op("Transpose", y, perm=[0, 2, 1, 3]), n.ints(0, 7, 8))
    y = n.op("GroupNormalization", n.op("Transpose", y, perm=[0, 2, 1]), n.weight(8), n.weight(8),
             num_groups=2)
    y = n.op("Gelu", n.op("Gather", y, n.ints(0, -1, 3), axis=2), approximate="tanh")
    n.output(n.op("ReduceL2", y, n.ints(1), keepdims=0), "y")
    n.save(ir=10)


def recurrent():
    """Sequences of the columns of images, the samples behind their elements; then rows of all samples
    together, as in networks that read text."""
    n = Net("recurrent", 17, ["N", 1, 4, 7])
    y = n.op("Conv", "x", n.weight(6, 1, 3, 3), pads=[1, 1, 1, 1])
    y = n.op("Transpose", y, perm=[3, 0, 1, 2])
    def size(of, dim):
        return n.op("Unsqueeze", n.op("Gather", n.op("Shape", of), n.constant(np.int64(dim))), n.ints(0))
    y = n.op("Reshape", y, n.op("Concat", size(y, 0), size(y, 1), n.ints(24), axis=0))
    zero = n.op("ConstantOfShape", n.op("Concat", n.ints(1), size(y, 1), n.ints(5), axis=0))
    y, _, _ = n.op("LSTM", y, n.weight(1, 20, 24), n.weight(1, 20, 5), n.weight(1, 40), "", zero, zero,
                   outputs=3, hidden_size=5)
    y, last = n.op("GRU", n.op("Squeeze", y, n.ints(1)), n.weight(1, 9, 5), n.weight(1, 9, 3),
                   n.weight(1, 18), outputs=2, hidden_size=3, linear_before_reset=1)
    y = n.op("Squeeze", y, n.ints(1))
    rows = n.op("Concat", n.op("Mul", size(y, 0), size(y, 1)), n.ints(3), axis=0)
    z = n.op("Relu", n.op("Gemm", n.op("Reshape", y, rows), n.weight(3, 8), n.weight(8)))
    z = n.op("Reshape", z, n.op("Concat", size(y, 0), size(y, 1), n.ints(-1), axis=0))
    n.output(n.op("LogSoftmax", n.op("Transpose", z, perm=[1, 0, 2]), axis=2), "y")
    n.output(n.op("Squeeze", last, n.ints(0)), "last")
    n.save()


def sequence():
    """An input whose dimension 1 counts the samples, of which the file has one."""
    n = Net("sequence", 14, [7, 1, 5], batch=1)
    y, _ = n.op("RNN", n.op("Relu", "x"), n.weight(1, 4, 5), n.weight(1, 4, 4), outputs=2, hidden_size=4,
                activations=["Tanh"])
    y = n.op("Add", n.op("Squeeze", y, n.ints(1)), n.weight(7, 1, 4))
    y = n.op("Slice", y, n.ints(1), n.ints(-1), n.ints(0))
    y = n.op("Unsqueeze", n.op("Transpose", y, perm=[0, 2, 1]), n.ints(0))
    n.output(n.op("ReduceMean", y, axes=[1], keepdims=0), "y")
    n.save()


def quantised():
    """Weights and activations of 8 bits: with one scale, and with one for each channel."""
    n = Net("quantised", 19, ["N", 3, 5, 5])

    def whole(kind, low, high, *shape):
        return n.constant(n.random.randint(low, high + 1, shape).astype(kind))

    def quantise(value, scale, zero):
        grid = n.scalar(scale), n.constant(zero)
        return n.op("DequantizeLinear", n.op("QuantizeLinear", value, *grid), *grid)
    scales = n.constant((0.01 + 0.02 * n.random.rand(4)).astype(np.float32))
    w = n.op("DequantizeLinear", whole(np.int8, -127, 127, 4, 3, 3, 3), scales, axis=0)
    b = n.op("DequantizeLinear", whole(np.int32, -99, 99, 4), n.scalar(0.003))
    y = n.op("Conv", quantise("x", 0.02, np.uint8(117)), w, b, pads=[1, 1, 1, 1])
    y = quantise(n.op("Relu", y), 0.025, np.int8(-128))
    zeros = whole(np.uint8, 100, 150, 4)
    y = n.op("QuantizeLinear", y, scales, zeros, axis=1)
    y = n.op("Flatten", n.op("DequantizeLinear", y, scales, zeros, axis=1))
    w = n.op("DequantizeLinear", whole(np.uint8, 0, 255, 100, 6), n.scalar(0.001), n.constant(np.uint8(130)))
    n.output(n.op("MatMul", y, n.op("Identity", w)), "y")
    n.save()


def integers():
    """Convolutions and products of whole numbers."""
    n = Net("integers", 19, ["N", 2, 5, 5], seed=2)

    def whole(kind, low, high, *shape):
        return n.constant(n.random.randint(low, high + 1, shape).astype(kind))
    grid, next_grid = (n.scalar(0.02), n.constant(np.uint8(117))), (n.scalar(0.05), n.constant(np.uint8(90)))
    last_grid = n.scalar(0.2), n.constant(np.uint8(128))
    scales = n.constant((0.01 + 0.02 * n.random.rand(3)).astype(np.float32))
    y = n.op("QuantizeLinear", "x", *grid)
    z = n.op("ConvInteger", y, whole(np.uint8, 0, 255, 3, 2, 3, 3), grid[1], n.constant(np.uint8(120)))
    n.output(n.op("Mul", n.op("Cast", z, to=1), n.scalar(1e-4)), "z")
    z = n.op("MatMulInteger", n.op("Flatten", y), whole(np.int8, -9, 9, 50, 4), grid[1])
    n.output(n.op("Mul", n.op("Cast", z, to=1), n.scalar(1e-4)), "row")
    y = n.op("QLinearConv", y, *grid, whole(np.int8, -99, 99, 3, 2, 3, 3), scales,
             n.constant(np.zeros(3, np.int8)), *next_grid, whole(np.int32, -99, 99, 3), pads=[1, 1, 0, 0])
    y = n.op("QLinearMatMul", n.op("Transpose", y, perm=[0, 2, 3, 1]), *next_grid,
             whole(np.uint8, 0, 255, 3, 6), n.scalar(0.01), n.constant(np.uint8(100)), *last_grid)
    n.output(n.op("DequantizeLinear", y, *last_grid), "y")
    n.save()


def dynamic():
    """Quantised by the range of each sample; weights with one scale, and with one for each column."""
    n = Net("dynamic", 19, ["N", 2, 6, 6], seed=3)

    def whole(kind, low, high, *shape):
        return n.constant(n.random.randint(low, high + 1, shape).astype(kind))
    y, scale, zero = n.op("DynamicQuantizeLinear", "x", outputs=3)
    z = n.op("ConvInteger", y, whole(np.uint8, 0, 255, 4, 2, 3, 3), zero, n.constant(np.uint8(120)))
    y = n.op("Mul", n.op("Cast", z, to=1), n.op("Mul", scale, n.scalar(0.004)))
    y = n.op("Relu", n.op("Add", y, n.weight(1, 4, 1, 1)))
    y, scale, zero = n.op("DynamicQuantizeLinear", n.op("Flatten", y), outputs=3)
    z = n.op("MatMulInteger", y, whole(np.int8, -99, 99, 64, 5), zero, n.constant(np.zeros(5, np.int8)))
    scales = n.constant((0.001 + 0.002 * n.random.rand(5)).astype(np.float32))
    n.output(n.op("Mul", n.op("Cast", z, to=1), n.op("Mul", scale, scales)), "y")
    n.save(apart=True)


def blocks():
    """Weights of 4 and 8 bits with a scale for each block of them."""
    n = Net("blocks", 21, ["N", 24], seed=4)

    def whole(kind, low, high, *shape):
        values = n.random.randint(low, high + 1, shape)
        name = n.fresh("w")
        n.weights.append(helper.make_tensor(name, kind, shape, values.reshape(-1).tolist()))
        return name

    def scales(*shape):
        return n.constant((0.02 + 0.05 * n.random.rand(*shape)).astype(np.float32))
    w = n.op("DequantizeLinear", whole(TensorProto.INT4, -8, 7, 24, 15), scales(3, 15), axis=0, block_size=8)
    y = n.op("Relu", n.op("MatMul", "x", w))
    w = n.op("DequantizeLinear", whole(TensorProto.UINT4, 0, 15, 7, 15), scales(7, 4),
             whole(TensorProto.UINT4, 0, 15, 7, 4), axis=1, block_size=4)
    y = n.op("Relu", n.op("Gemm", y, w, transB=1))
    w = n.op("DequantizeLinear", whole(TensorProto.INT16, -999, 999, 9, 7), scales(9, 1), axis=1, block_size=9)
    y = n.op("MatMul", n.op("Slice", y, n.ints(1), n.ints(7), n.ints(1)),
             n.op("Slice", n.op("Transpose", w, perm=[1, 0]), n.ints(1), n.ints(7), n.ints(0)))
    w = n.op("DequantizeLinear", whole(TensorProto.INT4, -8, 7, 9, 3), n.scalar(0.1))
    n.output(n.op("MatMul", y, w), "y")
    n.save(ir=10)


def contrib_nodes(n, own):
    """Operators of ONNX Runtime's own (own), or others that compute the same."""
    def whole(kind, low, high, *shape):
        return n.constant(n.random.randint(low, high + 1, shape).astype(kind))

    def grid(scale, zero):
        return n.scalar(scale), n.constant(np.uint8(zero))

    def op(kind, inputs, out, **attributes):
        """inputs: pairs of a value and its grid."""
        if own:
            flat = [name for value, g in inputs for name in (value, *g)]
            flat = [*out, *flat] if kind == "Concat" else [*flat, *out]
            return n.op("QLinear" + kind, *flat, domain=CONTRIB, **attributes)
        values = [n.op("DequantizeLinear", value, *g) for value, g in inputs]
        return n.op("QuantizeLinear", n.op(kind, *values, **attributes), *out)
    g0, g1, g2, g3, g4 = grid(0.02, 117), grid(0.02, 120), grid(0.03, 90), grid(1 / 255, 0), grid(0.1, 130)
    x = n.op("QuantizeLinear", "x", *g0)
    a = op("LeakyRelu", [(x, g0)], g1, alpha=0.2)
    b = op("Mul", [(x, g0), (a, g1)], g2)
    c = op("Add", [(b, g2), (x, g0)], g2)
    d = op("AveragePool", [(c, g2)], g1, kernel_shape=[2, 2], pads=[0, 0, 1, 1])
    y = op("Concat", [(d, g1), (op("Sigmoid", [(b, g2)], g3), g3)], g0, axis=1)
    y = op("GlobalAveragePool", [(y, g0)], g1)
    y = n.op("Flatten", y)
    scales = 0.01 + 0.02 * n.random.rand(6)
    w = whole(np.int8, -99, 99, 6, 4)
    bias = n.random.randint(-99, 99, 6)
    if own:
        y = n.op("QGemm", y, *g1, w, n.constant(scales.astype(np.float32)), n.constant(np.zeros(6, np.int8)),
                 n.constant(bias.astype(np.int32)), *g4, transB=1, domain=CONTRIB)
    else:
        w = n.op("DequantizeLinear", w, n.constant(scales.astype(np.float32)), axis=0)
        bias = n.constant((bias * scales * np.float32(0.02)).astype(np.float32))
        y = n.op("QuantizeLinear", n.op("Gemm", n.op("DequantizeLinear", y, *g1), w, bias, transB=1), *g4)
    y = op("Softmax", [(y, g4)], g3, axis=1)
    n.output(n.op("DequantizeLinear", y, *g3), "y")


def contrib():
    """Operators of whole numbers of the domain com.microsoft, as ONNX Runtime's quantiser writes them."""
    n, twin = (Net("contrib", 19, ["N", 2, 5, 5], seed=5) for _ in range(2))
    contrib_nodes(n, True)
    contrib_nodes(twin, False)
    n.save(twin=twin)


def nhwc_nodes(n, own):
    """Images of whole numbers with their channels last (own), or others that compute the same."""
    def whole(low, high, *shape):
        return n.constant(n.random.randint(low, high + 1, shape).astype(np.int8))

    g = [(n.scalar(s), n.constant(np.uint8(z))) for s, z in ((0.0213, 117), (0.0317, 100), (0.0409, 128))]
    w = (n.scalar(0.0107), n.constant(np.int8(0)))

    def op(kind, values, out, weights=(), **attributes):
        if own:
            if kind != "Concat" and kind != "Add":
                attributes["channels_last"] = 1
            flat = [name for value, grid in values for name in (value, *grid)]
            flat = [*out, *flat] if kind == "Concat" else [*flat, *weights, *out]
            return n.op("QLinear" + kind, *flat, domain=CONTRIB, **attributes)
        values = [n.op("DequantizeLinear", value, *grid) for value, grid in values]
        values += [n.op("DequantizeLinear", *weights)] if weights else []
        return n.op("QuantizeLinear", n.op(kind, *values, **attributes), *out)
    x = n.op("QuantizeLinear", "x", *g[0])
    x = n.op("Transpose", x, perm=[0, 2, 3, 1]) if own else x
    a = op("Conv", [(x, g[0])], g[1], (whole(-99, 99, 6, 3, 3, 3), *w), pads=[1] * 4)
    b = op("Conv", [(a, g[1])], g[1], (whole(-99, 99, 6, 1, 3, 3), *w), pads=[1] * 4, group=6)
    y = op("Add", [(a, g[1]), (b, g[1])], g[2])
    pool = {"kernel_shape": [2, 2], "strides": [2, 2]}
    y = n.op("NhwcMaxPool", y, domain=CONTRIB, **pool) if own else n.op("MaxPool", y, **pool)
    z = op("AveragePool", [(b, g[1])], g[2], **pool)
    y = op("Concat", [(y, g[2]), (z, g[2])], g[2], axis=3 if own else 1)
    y = op("Conv", [(y, g[2])], g[1], (whole(-99, 99, 4, 12, 1, 1), *w))
    z = op("GlobalAveragePool", [(y, g[1])], g[1])
    for value, name in ((y, "y"), (z, "z")):
        value = n.op("Transpose", value, perm=[0, 3, 1, 2]) if own else value
        n.output(n.op("DequantizeLinear", value, *g[1]), name)


def nhwc():
    """Operators of whole numbers with channels last, as ONNX Runtime's optimiser writes them."""
    n, twin = (Net("nhwc", 19, ["N", 3, 6, 6], seed=9) for _ in range(2))
    nhwc_nodes(n, True)
    nhwc_nodes(twin, False)
    n.save(twin=twin)


def scaler():
    """Columns scaled before a network and after it, as converters of scikit-learn write it."""
    n, twin = (Net("scaler", 17, ["N", 6], seed=7) for _ in range(2))

    def scaled(x, offset, scale):
        own = n.op("Scaler", x[0], offset=offset, scale=scale, domain=LEARN)
        return own, twin.op("Mul", twin.op("Sub", x[1], twin.floats(*offset)), twin.floats(*scale))
    y = scaled(("x", "x"), [0.5, -1, 0, 2, 0.25, 1], [2, 1, 0.5, -1, 3, 0.1])
    w, bias = n.random.randn(6, 3).astype(np.float32), n.random.randn(3).astype(np.float32)
    y = [net.op("Relu", net.op("Gemm", value, net.constant(w), net.constant(bias)))
         for net, value in zip((n, twin), y)]
    for net, value in zip((n, twin), scaled(y, [-3.0], [4.0])):
        net.output(value, "y")
    n.save(twin=twin)


def contrib_weights():
    """Products and a sequence with quantised weights of the domain com.microsoft."""
    n, twin = (Net("contrib_weights", 19, ["N", 6, 10], seed=6) for _ in range(2))
    q = n.random.randint(0, 256, (12, 3, 2)).astype(np.uint8)  # rows of 10 numbers, in 3 blocks of 4
    zeros = n.random.randint(0, 256, (12, 2)).astype(np.uint8)
    scales = (0.02 * n.random.randn(12, 3)).astype(np.float32)
    y = n.op("MatMulNBits", "x", n.constant(q), n.constant(scales.reshape(-1)), n.constant(zeros.reshape(-1)), K=10,
             N=12, bits=4, block_size=4, domain=CONTRIB)

    def nibbles(packed):
        return np.stack([packed & 15, packed >> 4], -1).reshape(len(packed), -1).astype(np.float32)
    w = (nibbles(q.reshape(12, -1)).reshape(12, 3, 4) - nibbles(zeros)[:, :3, None]) * scales[:, :, None]
    z = twin.op("MatMul", "x", twin.constant(w.reshape(12, 12)[:, :10].T.copy()))
    w = n.random.randint(-99, 99, (12, 7)).astype(np.int8)
    scales = (0.001 + 0.002 * n.random.rand(7)).astype(np.float32)
    bias = n.random.randn(7).astype(np.float32)
    y = n.op("DynamicQuantizeMatMul", y, n.constant(w), n.constant(scales), "", n.constant(bias), domain=CONTRIB)
    whole, scale, zero = twin.op("DynamicQuantizeLinear", z, outputs=3)
    z = twin.op("Cast", twin.op("MatMulInteger", whole, twin.constant(w), zero), to=1)
    z = twin.op("Mul", z, twin.op("Mul", scale, twin.constant(scales)))
    z = twin.op("Add", z, twin.constant(bias))
    w = n.random.randint(0, 256, (7, 7)).astype(np.uint8)
    whole, scale, zero = n.op("DynamicQuantizeLinear", y, outputs=3)
    grid = 0.01, 120
    y = n.op("MatMulIntegerToFloat", whole, n.constant(w), scale, n.scalar(grid[0]), zero,
             n.constant(np.uint8(grid[1])), n.constant(bias), domain=CONTRIB)
    whole, scale, zero = twin.op("DynamicQuantizeLinear", z, outputs=3)
    z = twin.op("MatMulInteger", whole, twin.constant(w), zero, twin.constant(np.uint8(grid[1])))
    z = twin.op("Mul", twin.op("Cast", z, to=1), twin.op("Mul", scale, twin.scalar(grid[0])))
    z = twin.op("Add", z, twin.constant(bias))
    n.output(y, "y")
    twin.output(z, "y")
    n.save(apart=True, twin=twin)


def contrib_lstm():
    """A DynamicQuantizeLSTM, of which the sequence is rounded and the states are not."""
    n, twin = (Net("contrib_lstm", 19, ["N", 6, 5], seed=8) for _ in range(2))
    w, r = (n.random.randint(-127, 128, (2, size, 16)).astype(np.int8) for size in (5, 4))
    w_scale, r_scale = (0.002 + 0.004 * n.random.rand(2, 16)).astype(np.float32), np.float32([0.004, 0.005])
    bias = (0.3 * n.random.randn(2, 32)).astype(np.float32)
    options = {"hidden_size": 4, "direction": "bidirectional"}
    zeros = n.constant(np.zeros((2, 16), np.int8)), n.constant(np.zeros(2, np.int8))
    y = n.op("DynamicQuantizeLSTM", n.op("Transpose", "x", perm=[1, 0, 2]), n.constant(w), n.constant(r),
             n.constant(bias), "", "", "", "", n.constant(w_scale), zeros[0], n.constant(r_scale), zeros[1],
             domain=CONTRIB, **options)
    z = twin.op("DynamicQuantizeLinear", twin.op("Transpose", "x", perm=[1, 0, 2]), outputs=3)
    w = (w * w_scale[:, None]).transpose(0, 2, 1)
    r = (r * r_scale[:, None, None]).transpose(0, 2, 1)
    z = twin.op("LSTM", twin.op("DequantizeLinear", *z), twin.constant(w), twin.constant(r), twin.constant(bias),
                **options)
    n.output(n.op("Transpose", y, perm=[2, 0, 1, 3]), "y")
    twin.output(twin.op("Transpose", z, perm=[2, 0, 1, 3]), "y")
    n.save(apart=True, twin=twin)


def fused_nodes(n, own):
    """Operators that ONNX Runtime's optimiser makes (own), or those that it makes them of."""
    def op(kind, *inputs, **attributes):
        return n.op(kind, *inputs, domain=CONTRIB, **attributes)
    weights = [n.weight(8, 3, 3, 3), n.weight(8), n.weight(8, 8, 1, 1), n.weight(8), n.weight(6), n.weight(6, 6),
               n.weight(6), n.weight(6), n.weight(6), n.weight(6, 4, 36), n.weight(5, 6), n.weight(5)]
    if own:
        y = op("FusedConv", "x", *weights[:2], kernel_shape=[3, 3], pads=[1] * 4, activation="LeakyRelu",
               activation_params=[0.2])
        y = op("FusedConv", y, *weights[2:4], y, activation="Clip", activation_params=[-0.5, 1.0])
        a = op("FastGelu", op("BiasGelu", y, weights[4]))
        s = op("FusedMatMul", a, a, transB=1, alpha=0.3)
        a = op("FusedMatMul", s, op("QuickGelu", a), transA=1)
        b = op("Gelu", op("FusedMatMul", a, weights[5], transB=1))
        y = op("SkipLayerNormalization", a, b, weights[6], weights[7], weights[8], epsilon=1e-3)
        y = n.op("ReduceMean", y, n.ints(1, 2), keepdims=0)
        n.output(op("FusedGemm", y, *weights[10:], transB=1, activation="Sigmoid"), "y")
        return
    y = n.op("LeakyRelu", n.op("Conv", "x", *weights[:2], pads=[1] * 4), alpha=0.2)
    y = n.op("Clip", n.op("Add", n.op("Conv", y, *weights[2:4]), y), n.scalar(-0.5), n.scalar(1))
    a = n.op("Gelu", n.op("Gelu", n.op("Add", y, weights[4])), approximate="tanh")
    s = n.op("Mul", n.op("MatMul", a, n.op("Transpose", a, perm=[0, 1, 3, 2])), n.scalar(0.3))
    g = n.op("Mul", a, n.op("Sigmoid", n.op("Mul", a, n.scalar(1.702))))
    a = n.op("MatMul", n.op("Transpose", s, perm=[0, 1, 3, 2]), g)
    b = n.op("Gelu", n.op("MatMul", a, n.op("Transpose", weights[5], perm=[1, 0])))
    y = n.op("Add", n.op("Add", a, b), weights[8])
    y = n.op("LayerNormalization", y, *weights[6:8], epsilon=1e-3)
    y = n.op("ReduceMean", y, n.ints(1, 2), keepdims=0)
    n.output(n.op("Sigmoid", n.op("Gemm", y, *weights[10:], transB=1)), "y")


def fused():
    """What ONNX Runtime's optimiser writes of floats: the domain com.microsoft."""
    n, twin = (Net("fused", 20, ["N", 3, 4, 6], seed=7) for _ in range(2))
    fused_nodes(n, True)
    fused_nodes(twin, False)
    n.save(twin=twin)


def windows():
    """Attention within windows and heads, which are folded into the dimension of the samples."""
    n = Net("windows", 17, ["N", 4, 4, 6])
    y = n.op("Transpose", n.op("Reshape", "x", n.ints(-1, 2, 2, 2, 2, 6)), perm=[0, 1, 3, 2, 4, 5])
    y = n.op("LayerNormalization", n.op("Reshape", y, n.ints(-1, 4, 6)), n.weight(6), n.weight(6))
    def heads(value):
        value = n.op("Transpose", n.op("Reshape", value, n.ints(0, 4, 2, 3)), perm=[0, 2, 1, 3])
        return n.op("Reshape", value, n.ints(-1, 4, 3))
    q, k = heads(n.op("MatMul", y, n.weight(6, 6))), heads(y)
    scores = n.op("Reshape", n.op("MatMul", q, n.op("Transpose", k, perm=[0, 2, 1])),
                  n.ints(-1, 4, 2, 4, 4))
    scores = n.op("Reshape", n.op("Add", scores, n.weight(4, 1, 4, 4)), n.ints(-1, 4, 4))
    y = n.op("Reshape", n.op("MatMul", n.op("Softmax", scores, axis=-1), k), n.ints(-1, 2, 4, 3))
    y = n.op("Reshape", n.op("Transpose", y, perm=[0, 2, 1, 3]), n.ints(-1, 2, 2, 2, 2, 6))
    y = n.op("Transpose", y, perm=[0, 1, 3, 2, 4, 5])
    n.output(n.op("Reshape", y, n.ints(-1, 16, 6)), "y")
    n.save()


def single():
    """Windows and heads of a file whose batch is 1, with all sizes written out, as dynamo exports
    them: -1 stands behind the dimension of the samples, and a view of other strides is a Gather."""
    n = Net("single", 18, [1, 4, 4, 6], batch=1)
    y = n.op("Transpose", n.op("Reshape", "x", n.ints(1, 2, 2, 2, 2, 6)), perm=[0, 1, 3, 2, 4, 5])
    y = n.op("Reshape", y, n.ints(4, 4, 6))
    q = n.op("Transpose", n.op("Reshape", y, n.ints(4, 4, 2, -1)), perm=[0, 2, 1, 3])
    length = n.op("ReduceL2", q, n.ints(-1), keepdims=1)
    q = n.op("Div", q, n.op("Expand", n.op("Clip", length, n.scalar(1e-6)), n.ints(4, 2, 4, 3)))
    y = n.op("Reshape", n.op("Transpose", q, perm=[0, 2, 1, 3]), n.ints(1, 2, 2, 2, 2, -1))
    y = n.op("Reshape", n.op("Transpose", y, perm=[0, 1, 3, 2, 4, 5]), n.ints(1, 16, 6))
    mean = n.op("Reshape", n.op("ReduceMean", y, n.ints(1), keepdims=0), n.ints(-1))
    mean = n.op("Gather", mean, n.constant(np.arange(6).reshape(1, 6, 1)[:, ::-1].copy()))
    halves = n.op("Gather", n.op("Reshape", mean, n.ints(6)), n.ints(4, 1, 0, 2))
    n.output(n.op("Gemm", n.op("Reshape", halves, n.ints(1, -1)), n.weight(4, 5)), "y")
    n.save()


def heads():
    """Attention of torch.nn with a batch of 1 in dimension 1, whose heads are folded into it, beside
    a cell of a recurrent network that is written out, with a state of more dimensions."""
    n = Net("heads", 18, [5, 1, 8], batch=1)
    def split(value):
        value = n.op("Reshape", n.op("MatMul", value, n.weight(8, 8)), n.ints(5, 2, 4))
        return n.op("Transpose", value, perm=[1, 0, 2])
    q, k, v = split("x"), split("x"), split("x")
    scores = n.op("Softmax", n.op("MatMul", q, n.op("Transpose", k, perm=[0, 2, 1])), axis=-1)
    y = n.op("Transpose", n.op("MatMul", scores, v), perm=[1, 0, 2])
    y = n.op("Gemm", n.op("Reshape", y, n.ints(5, 8)), n.weight(8, 8), n.weight(8))
    y = n.op("Add", "x", n.op("Reshape", y, n.ints(5, 1, 8)))
    steps = n.op("Split", y, n.ints(1, 1, 3), outputs=3, axis=0)
    first, second = (n.op("Squeeze", step, n.ints(0)) for step in steps[:2])
    state = n.op("Tanh", n.op("Add", n.weight(1, 1, 8), first))
    state = n.op("Tanh", n.op("Add", second, n.op("MatMul", state, n.weight(8, 8))))
    n.output(n.op("Concat", state, steps[2], axis=0), "y")
    n.save()


def copies():
    """A file with a batch of 4, in which each sample has a copy of a token and of positions, and
    gathers from its own elements, as dynamo exports a view of other strides."""
    n = Net("copies", 18, [4, 5, 6], batch=4)
    token = n.constant(np.repeat(n.random.randn(1, 1, 6), 4, axis=0).astype(np.float32))
    positions = n.op("Expand", n.weight(1, 6, 6), n.ints(4, 6, 6))
    y = n.op("Add", n.op("Concat", token, "x", axis=1), positions)
    y = n.op("Reshape", n.op("ReduceMean", y, n.ints(1), keepdims=1), n.ints(-1))
    own = np.array([[5, 1], [0, 2]])
    y = n.op("Gather", y, n.constant(own[None] + 6 * np.arange(4)[:, None, None]))
    n.output(n.op("Gemm", n.op("Reshape", y, n.ints(4, 4)), n.weight(4, 3)), "y")
    n.save()


def inner(name, nodes, outputs, weights=(), inputs=()):
    """A graph inside a node, all of whose values are floats but those that are named."""
    types = {"i": TensorProto.INT64, "go": TensorProto.BOOL, "on": TensorProto.BOOL}
    info = lambda v: helper.make_tensor_value_info(v, types.get(v, TensorProto.FLOAT), None)
    return helper.make_graph(nodes, name, [info(v) for v in inputs], [info(v) for v in outputs],
                             list(weights))


def control():
    """An If in an If whose conditions follow from shapes, with weights of their own that stay in the
    file, and a Loop that ends before its trip count, whose sums over positions are stacked."""
    n = Net("control", 17, ["N", 3, 6, 6])
    node = helper.make_node
    weight = lambda name, *shape: numpy_helper.from_array(
        (n.random.randn(*shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32), name)
    y = n.op("Conv", "x", n.weight(8, 3, 3, 3), pads=[1] * 4)
    channels = n.op("Gather", n.op("Shape", y), n.constant(np.array(1, np.int64)))
    eight = n.op("Equal", channels, n.constant(np.array(8, np.int64)))
    then = inner("then", [
        node("Conv", [y, "own"], ["a"], pads=[1] * 4),
        node("Add", ["a", "shift"], ["b"]),
        node("If", [n.op("Not", eight)], ["c"],
             then_branch=inner("nan", [node("Log", ["b"], ["none"])], ["none"]),
             else_branch=inner("tanh", [node("Tanh", ["b"], ["some"])], ["some"])),
        node("Mul", ["c", y], ["d"])], ["d"], [weight("own", 8, 8, 3, 3), weight("shift", 8, 1, 1)])
    other = inner("else", [node("Unique", [y], ["e"])], ["e"])
    y = n.op("If", eight, then_branch=then, else_branch=other)
    body = inner("body", [
        node("Conv", ["h", "turn"], ["p"]),
        node("Cast", ["i"], ["step"], to=TensorProto.FLOAT),
        node("Add", ["p", "step"], ["q"]),
        node("ReduceMean", ["q"], ["m"], axes=[2, 3], keepdims=0),
        node("Less", ["step", "last"], ["on"])], ["on", "q", "m"],
        [weight("turn", 8, 8, 1, 1), numpy_helper.from_array(np.array(1.5, np.float32), "last")],
        ["i", "go", "h"])
    h, means = n.op("Loop", n.constant(np.array(9, np.int64)), n.constant(np.array(True)), y,
                    outputs=2, body=body)
    n.outputs = [h, means]
    raw = ReferenceEvaluator(n.model())
    n.outputs = []
    n.output(n.op("Relu", h), "y")
    n.output(n.op("Transpose", means, perm=[1, 0, 2]), "z")
    def results(x):  # onnx.reference joins the scan outputs along their first dimension
        h, means = raw.run(None, {"x": x})
        return np.maximum(h, 0), means.reshape(-1, len(x), 8).transpose(1, 0, 2)
    n.save(results=results)


def truth():
    """Comparisons and logic on data, what they choose, infinite masks, whole numbers, and bounds that
    are computed."""
    n = Net("truth", 17, ["N", 4, 5, 5])
    half, zero = n.op("Mul", "x", n.scalar(0.5)), n.scalar(0)
    row = n.op("ReduceMean", "x", axes=[3], keepdims=1)
    over, under = n.op("Greater", "x", row), n.op("LessOrEqual", n.op("Abs", "x"), n.floats(0.7))
    either = n.op("Or", n.op("Xor", over, under), n.op("And", over, n.op("Less", half, n.floats(-1))))
    y = n.op("Where", either, "x", n.floats(0.25))
    mask = n.constant(np.tril(np.ones((5, 5), bool)))
    endless = n.scalar(-np.inf)
    scores = n.op("Softmax", n.op("Where", mask, y, endless), axis=3)
    far = n.op("Where", n.op("Or", n.op("Not", under), n.constant(np.eye(5) > 0)), "x", endless)
    y = n.op("Add", scores, n.op("Softmax", n.op("Add", far, n.constant(
        np.where(np.tri(5) > 0, 0, -np.inf).astype(np.float32))), axis=2))
    whole = n.op("Cast", n.op("Mul", "x", n.scalar(5)), to=TensorProto.INT32)
    rest = n.op("Cast", n.op("Mod", whole, n.constant(np.array(3, np.int32))), to=TensorProto.FLOAT)
    log = n.op("Log", "x")
    odd = n.op("Or", n.op("IsNaN", log), n.op("IsInf", n.op("Div", n.scalar(1), rest),
                                              detect_negative=0))
    y = n.op("Add", y, n.op("Where", odd, rest, log))
    y = n.op("Sub", y, n.op("Mod", half, n.floats(0.3), fmod=1))
    same = n.op("Cast", n.op("Equal", whole, n.constant(np.array([[1], [0], [-1], [2], [3]],
                                                                 np.int32))), to=TensorProto.FLOAT)
    n.output(n.op("Add", y, n.op("Max", half, row, n.op("Sub", same, zero))), "y")
    n.output(n.op("Cast", n.op("Cast", rest, to=TensorProto.BOOL), to=TensorProto.FLOAT), "z")
    n.save()


def bounds():
    """Bounds of a Clip that are computed; they make a sample of the whole tensor."""
    n = Net("bounds", 17, [1, 3, 4, 4])
    y = n.op("Conv", "x", n.weight(3, 3, 1, 1))
    low, high = n.op("ReduceMin", y, keepdims=0), n.op("ReduceMax", "x", keepdims=0)
    y = n.op("Clip", y, n.op("Mul", low, n.scalar(0.5)), n.op("Mul", high, n.scalar(0.25)))
    n.output(n.op("Add", y, n.op("Clip", "x", "", high)), "y")
    n.save()


def index():
    """Elements that are chosen and replaced by constant indices, places of the largest, sums so far,
    triangles, and marks; the batch is 1 in the file."""
    n = Net("index", 17, [1, 4, 5, 5], batch=1)
    ints = lambda *shape, high: n.constant(n.random.randint(0, high, shape).astype(np.int64))
    y = n.op("GatherElements", "x", ints(1, 4, 5, 3, high=5), axis=3)
    y = n.op("ScatterElements", "x", ints(1, 2, 5, 3, high=5),
             n.op("Slice", y, n.ints(0), n.ints(2), n.ints(1)), axis=2)
    grid = np.stack(np.meshgrid([0], [1, 3], np.arange(5), [0, 4], indexing="ij"), -1)
    y = n.op("ScatterND", y, n.constant(grid.astype(np.int64)), n.op("Mul", n.op(
        "Slice", "x", n.ints(0, 0), n.ints(2, 2), n.ints(1, 3)), n.scalar(3)))
    y = n.op("ScatterND", y, n.constant(grid[:, :, :1].astype(np.int64)),
             n.constant(np.ones((1, 2, 1, 2), np.float32)))
    y = n.op("Trilu", y, n.constant(np.array(1, np.int64)), upper=0)
    y = n.op("CumSum", n.op("CumSum", y, n.constant(np.array(2, np.int64)), reverse=1),
             n.constant(np.array(3, np.int64)), exclusive=1)
    first = n.op("ArgMax", y, axis=1)
    last = n.op("ArgMin", n.op("Round", y), axis=2, keepdims=0, select_last_index=1)
    hot = n.op("OneHot", n.op("Squeeze", first, n.ints(1)), n.constant(np.array(4, np.int64)),
               n.floats(0.5, 2), axis=1)
    n.output(n.op("Mul", y, hot), "y")
    n.output(n.op("Cast", last, to=TensorProto.FLOAT), "z")
    n.save()


def picked():
    """Elements of tensors and of a constant whose indices are computed, counted from either end."""
    n = Net("picked", 17, ["N", 4, 3, 5])
    whole = lambda value, high: n.op("Cast", n.op("Clip", n.op(
        "Round", n.op("Mul", value, n.scalar(2))), n.scalar(-high), n.scalar(high - 1)),
        to=TensorProto.INT64)
    table = n.op("Expand", n.weight(1, 1, 1, 5), n.op("Shape", "x"))
    y = n.op("GatherElements", "x", whole("x", 3), axis=2)
    y = n.op("Add", y, n.op("GatherElements", table, whole("x", 5), axis=3))
    few = n.op("Slice", whole(y, 4), n.ints(0), n.ints(2), n.ints(1))
    n.output(n.op("GatherElements", y, few, axis=-3), "y")
    n.save()


def largest():
    """The end of a detector: of 20 boxes with 6 classes each, the best ones and their classes."""
    n = Net("largest", 17, ["N", 20, 6])
    boxes = n.op("MatMul", "x", n.weight(6, 4))
    scores = n.op("Sigmoid", "x")
    best, box = n.op("TopK", n.op("ReduceMax", scores, axes=[2], keepdims=0), n.ints(9), outputs=2)
    wide = n.op("Unsqueeze", box, n.ints(2))
    scores = n.op("GatherElements", scores, n.op("Tile", wide, n.ints(1, 1, 6)), axis=1)
    boxes = n.op("GatherElements", boxes, n.op("Tile", wide, n.ints(1, 1, 4)), axis=1)
    score, place = n.op("TopK", n.op("Flatten", scores), n.ints(5), outputs=2, axis=1)
    classes = n.op("Mod", place, n.ints(6))
    box = n.op("Unsqueeze", n.op("Div", place, n.ints(6)), n.ints(2))
    n.output(n.op("GatherElements", boxes, n.op("Tile", box, n.ints(1, 1, 4)), axis=1), "y")
    n.output(n.op("Add", score, n.op("Cast", classes, to=TensorProto.FLOAT)), "z")
    n.output(n.op("TopK", best, n.ints(2), outputs=2, axis=1, largest=0)[0], "least")
    n.save()


def products():
    """Einsum of tensors and constants: relative positions, attention, diagonals, sums, three factors."""
    n = Net("products", 17, ["N", 2, 4, 4, 6])
    sums = lambda equation, *inputs: n.op("Einsum", *inputs, equation=equation)
    q, k = (n.op("Transpose", "x", perm=[0, 2, 1, 3, 4]), n.op("Sigmoid", "x"))
    y = sums("bthwc,hkc->bthwk", "x", n.weight(4, 5, 6))
    y = sums("bthwk,...kc->bthwc", y, n.weight(5, 6))
    a = n.op("Softmax", sums("bhtwc,bthvc->btwhv", q, k), axis=-1)
    y = n.op("Add", y, sums("btwhv, bthvc -> bthwc", a, k))
    y = n.op("Mul", y, sums("bthwc,w,c->btwhc", y, n.weight(4), n.weight(6)))
    y = n.op("Add", y, n.op("Unsqueeze", sums("bthhc->btc", y), n.ints(2, 3)))
    n.output(n.op("Mul", y, n.op("Unsqueeze", sums("bthhc->bth", y), n.ints(3, 4))), "y")
    n.output(sums("bthwc,bthwc->b", y, k), "z")
    n.save()


def images():
    """Windows of an image that are folded into the samples, with convolutions and pools on them."""
    n = Net("images", 17, ["N", 3, 8, 8])
    y = n.op("Reshape", n.op("Conv", "x", n.weight(8, 3, 3, 3), pads=[1] * 4),
             n.ints(-1, 8, 2, 4, 2, 4))
    y = n.op("Reshape", n.op("Transpose", y, perm=[0, 2, 4, 1, 3, 5]), n.ints(-1, 8, 4, 4))
    y = n.op("Relu", n.op("Conv", y, n.weight(8, 1, 3, 3), n.weight(8), pads=[1] * 4, group=8))
    gate = n.op("Conv", n.op("GlobalAveragePool", y), n.weight(8, 8, 1, 1))
    y = n.op("Mul", y, n.op("Sigmoid", gate))
    y = n.op("MaxPool", y, kernel_shape=[3, 2], strides=[1, 2], pads=[1, 0, 1, 0])
    y = n.op("ConvTranspose", y, n.weight(8, 6, 1, 2), strides=[1, 2])
    y = n.op("Transpose", n.op("Reshape", y, n.ints(-1, 2, 2, 6, 4, 4)), perm=[0, 3, 1, 4, 2, 5])
    n.output(n.op("Conv", n.op("Reshape", y, n.ints(-1, 6, 8, 8)), n.weight(4, 6, 1, 1)), "y")
    n.save()


def folds():
    """What keeps the samples apart behind dimensions that are folded into them: Flatten, Pad, Expand,
    BatchNormalization of rows; a table that is repeated for each sample before it is reshaped."""
    n = Net("folds", 14, ["N", 3, 4, 4])
    y = n.op("Transpose", n.op("Reshape", "x", n.ints(0, 3, 16)), perm=[0, 2, 1])
    y = batch_norm(n, n.op("Flatten", n.op("MatMul", y, n.weight(3, 6)), axis=2), 6)
    size = n.op("Gather", n.op("Shape", "x"), n.ints(0))
    y = n.op("Reshape", y, n.op("Concat", size, n.ints(4, 4, 6), axis=0))
    y = n.op("Reshape", y, n.ints(-1, 4, 6))
    y = n.op("Pad", y, n.ints(0, 0, 1, 0, 1, 0))
    y = n.op("Flatten", n.op("Unsqueeze", y, n.ints(1)), axis=3)
    y = n.op("Reshape", y, n.ints(-1, 1, 5, 7))
    y = n.op("Expand", y, n.op("Concat", n.op("Mul", size, n.ints(4)), n.ints(2, 5, 7), axis=0))
    y = n.op("Reshape", y, n.op("Concat", size, n.ints(8, 35), axis=0))
    table = n.op("Tile", n.weight(1, 8, 5, 7), n.op("Concat", size, n.ints(1, 1, 1), axis=0))
    n.output(n.op("Add", y, n.op("Reshape", table, n.op("Concat", size, n.ints(-1, 35), axis=0))), "y")
    n.save()


def later(results=None):
    """What versions 18 to 20 brought."""
    n = Net("later", 20, ["N", 4, 7, 6])
    y = n.op("Gelu", n.op("Mish", "x"))
    y = n.op("AveragePool", y, kernel_shape=[2, 3], dilations=[2, 1], pads=[1, 0, 0, 1])
    y = n.op("Pad", y, n.ints(1, 2), "", n.ints(-2), mode="wrap")
    a, b = n.op("Split", y, outputs=2, axis=2, num_outputs=2)
    y = n.op("Concat", b, a, axis=2)
    y = n.op("Resize", y, "", "", n.ints(12, 18), axes=[2, 3], mode="linear",
             keep_aspect_ratio_policy="not_larger",
             coordinate_transformation_mode="half_pixel_symmetric")
    z = n.op("LeakyRelu", y)
    z = n.op("GlobalLpPool", z, p=1) if results else n.op("ReduceL1", z, n.ints(2, 3))
    y = n.op("Mul", y, z)
    y = n.op("GroupNormalization", y, n.weight(2), n.weight(2), num_groups=2, epsilon=1e-2)
    y = n.op("Reshape", y, n.ints(-1, 2, 2, 84), allowzero=1)
    n.output(n.op("ReduceLogSumExp", y, n.ints(3, -2), keepdims=0), "y")
    return n.save(ir=9, results=results)


def external():
    """Weights in a file of their own."""
    n = Net("external", 17, ["N", 3, 6, 6])
    y = n.op("Relu", n.op("Conv", "x", n.weight(16, 3, 3, 3), n.weight(16)))
    y = n.op("Gemm", n.op("Flatten", y), n.weight(256, 5), n.weight(5))
    n.output(y, "y")
    n.save(external="external.bin")


def folded():
    """The weights of a matrix are computed from constants, by every operator that works on constants
    only, and by others."""
    n = Net("folded", 18, ["N", 4])
    parts = []

    def take(value):
        flat = n.op("Reshape", n.op("Cast", value, to=TensorProto.FLOAT), all_of)
        parts.append(flat)

    all_of = n.ints(-1)
    image = n.constant(np.arange(12, dtype=np.float32).reshape(3, 4) / 4 - 1)
    cells, column = n.constant(np.array([[0, 1], [-1, 2]])), n.constant(np.array([[1], [2], [0]]))
    places = n.constant(np.array([[0, -1], [1, 1], [-2, 3]]))
    take(n.op("ScatterND", image, cells, n.floats(9, 8)))
    take(n.op("ScatterElements", image, places, n.constant(np.ones((3, 2), np.float32)), axis=1,
              reduction="add"))
    take(n.op("GatherND", image, cells))
    take(n.op("GatherND", image, column, batch_dims=1))
    take(n.op("GatherElements", image, places, axis=1))
    take(n.op("Gather", image, n.ints(2, -3), axis=0))
    take(n.op("OneHot", n.ints(0, 2, -1), n.constant(np.array(3)), n.floats(0, 1), axis=0))
    take(n.op("NonZero", image))
    take(n.op("Tile", image, n.ints(2, 1)))
    for mode in "constant", "reflect", "edge", "wrap":
        take(n.op("Pad", image, n.ints(1, 1, 0, 2), mode=mode))
    take(n.op("Trilu", image, n.constant(np.array(1)), upper=0))
    take(n.op("EyeLike", image, k=1))
    take(n.op("Concat", image, image, axis=-1))
    take(n.op("CumSum", image, n.constant(np.array(1)), exclusive=1, reverse=1))
    take(n.op("ArgMax", image, axis=1, select_last_index=1))
    take(n.op("ArgMin", image, keepdims=0))
    for part in n.op("TopK", image, n.ints(2), axis=0, largest=0, outputs=2):
        take(part)
    for kind in "L1", "L2", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare":
        take(n.op("Reduce" + kind, image, n.ints(-1)))
    take(n.op("Softmax", image, axis=0))
    take(n.op("LogSoftmax", image))
    take(n.op("LayerNormalization", image, n.weight(4), n.weight(4), epsilon=1e-3))
    square = n.weight(2, 3, 3)
    take(n.op("MatMul", square, n.weight(3, 2)))
    take(n.op("Einsum", square, n.weight(2), equation="...ii,..."))
    take(n.op("Gemm", image, image, n.floats(1, 2, 3), transB=1, alpha=0.5, beta=2.0))
    stack = n.weight(1, 2, 6)
    take(n.op("Conv", stack, n.weight(2, 1, 3), n.weight(2), pads=[1, 0], strides=[2], group=2))
    ones, zeros = n.floats(1, 1), n.floats(0, 0)
    normal = n.op("BatchNormalization", stack, n.weight(2), n.weight(2), zeros, ones, outputs=3,
                  training_mode=1)
    for part in normal:
        take(part)
    whole, other = n.ints(-7, 1000), n.ints(3, -1)
    word = n.constant(np.array([3, 70], np.uint32))
    take(n.op("Mod", whole, other))
    take(n.op("Mod", whole, other, fmod=1))
    take(n.op("BitShift", word, n.constant(np.array([1, 4], np.uint32)), direction="LEFT"))
    take(n.op("BitwiseXor", whole, other))
    take(n.op("BitwiseAnd", whole, other))
    take(n.op("BitwiseOr", whole, other))
    take(n.op("BitwiseNot", other))
    take(n.op("Pow", n.floats(-1.5, 2), n.ints(2, -1)))
    take(n.op("Clip", whole, n.constant(np.array(-2)), n.constant(np.array(5))))
    take(n.op("PRelu", image, n.floats(0.5)))
    take(n.op("Mean", image, image, n.floats(1, 2, 3, 4)))
    take(n.op("Where", n.op("Less", image, n.scalar(0)), n.op("Erf", image), image))
    take(n.op("IsInf", n.floats(1, np.inf)))
    take(n.op("IsNaN", n.floats(1, np.nan)))
    sizes = n.ints(1, 1, 4, 7)
    table = n.weight(1, 1, 3, 4)
    take(n.op("Resize", table, "", "", sizes, mode="cubic", cubic_coeff_a=-0.5))
    take(n.op("Resize", table, "", "", sizes, mode="linear",
              coordinate_transformation_mode="align_corners"))
    take(n.op("Resize", table, "", n.floats(1, 1, 2, 0.5), mode="nearest"))
    joined = n.op("Concat", *parts, axis=0)
    whole_rows = n.op("Slice", joined, n.ints(0), n.ints(4 * 80))
    n.output(n.op("MatMul", "x", n.op("Reshape", whole_rows, n.ints(4, 80))), "y")
    rest = n.op("Slice", joined, n.ints(4 * 80), n.ints(1 << 20))
    n.output(n.op("Add", n.op("ReduceSum", "x", n.ints(1)), rest), "rest")
    n.save()


def opset(version, results=None):
    """The same network in the words of several versions."""
    n = Net("opset_%02d" % version, version, [1, 4, 6, 6], seed=5)
    y = n.op("Conv", "x", n.weight(6, 4, 3, 3), n.weight(6), auto_pad="SAME_UPPER")
    if version < 11:
        y = n.op("Clip", y, min=-0.5, max=1.5)
        y = n.op("Pad", y, pads=[0, 0, 1, 0, 0, 0, 0, 1], value=0.25)
    else:
        y = n.op("Clip", y, n.scalar(-0.5), n.scalar(1.5))
        y = n.op("Pad", y, n.ints(0, 0, 1, 0, 0, 0, 0, 1), n.scalar(0.25))
    if version < 10:
        y = n.op("Slice", y, starts=[1, 0], ends=[1000, -1], axes=[1, 3])
    else:
        y = n.op("Slice", y, n.ints(1, 0), n.ints(1000, -1), n.ints(1, -1))
    if version == 7:
        y = n.op("Upsample", y, mode="nearest", scales=[1.0, 1.0, 2.0, 2.0])
    elif version == 9:
        y = n.op("Upsample", y, n.floats(1, 1, 2, 2), mode="nearest")
    elif version == 10:
        y = n.op("Resize", y, n.floats(1, 1, 2, 2), mode="nearest")
    else:
        region = n.floats() if version == 11 else ""
        y = n.op("Resize", y, region, n.floats(1, 1, 2, 2), mode="nearest", nearest_mode="floor",
                 coordinate_transformation_mode="asymmetric")
    if version < 13:
        a, b = n.op("Split", y, outputs=2, axis=1, split=[2, 3])
        y = n.op("Mul", n.op("ReduceSum", a, axes=[1], keepdims=1), b)
        y = n.op("Unsqueeze", n.op("Squeeze", n.op("ReduceMax", y, axes=[2]), axes=[2]), axes=[1])
        y = n.op("Softmax", y, axis=3)
    else:
        a, b = n.op("Split", y, n.ints(2, 3), outputs=2, axis=1)
        y = n.op("Mul", n.op("ReduceSum", a, n.ints(1), keepdims=1), b)
        largest = n.op("ReduceMax", y, axes=[2]) if version < 18 else n.op("ReduceMax", y,
                                                                           n.ints(2))
        y = n.op("Unsqueeze", n.op("Squeeze", largest, n.ints(2)), n.ints(1))
        y = n.op("Softmax", y, axis=-1)
    y = n.op("Dropout", y)
    n.output(y, "y")
    return n.save(ir=3 if version == 7 else 7, results=results)


def old(version, results=None):
    """The same network in the words of versions before 7, and of 9."""
    n = Net("old_%02d" % version, version, [1, 4, 6, 6], seed=6)
    consumed = {"consumed_inputs": [0]} if version < 6 else {}
    test = {"is_test": 1} if version < 7 else {}
    y = n.op("Conv", "x", n.weight(6, 4, 3, 3), pads=[1, 1, 1, 1])
    y = n.op("Add", y, n.weight(*([6] if version < 7 else [6, 1, 1])),
             **({"broadcast": 1, "axis": 1} if version < 7 else {}))
    scale = (1 + 0.2 * n.random.randn(6)).astype(np.float32)
    mean, shift = (0.3 * n.random.randn(2, 6)).astype(np.float32)
    variance = n.random.uniform(0.5, 2, 6).astype(np.float32)
    if version == 9:  # written out: onnx.reference trains in version 9
        factor = (scale / np.sqrt(variance + np.float32(1e-3))).reshape(6, 1, 1)
        y = n.op("Mul", y, n.constant(factor))
        y = n.op("Add", y, n.constant(shift.reshape(6, 1, 1) - factor * mean.reshape(6, 1, 1)))
    else:
        y = n.op("BatchNormalization", y, *map(n.constant, (scale, shift, mean, variance)),
                 epsilon=1e-3, **test,
                 **({"consumed_inputs": [0, 0, 0, 1, 1]} if version < 6 else {}))
    slopes = n.weight(*([6] if version < 7 else [6, 1, 1]), scale=0.2)
    y = n.op("PRelu", y, slopes, **consumed)
    y = n.op("Pad", y, **{"paddings" if version < 2 else "pads": [0, 0, 1, 0, 0, 0, 0, 1]},
             value=0.25)
    y = n.op("Clip", n.op("LeakyRelu", y, alpha=0.1, **consumed), min=-0.5, max=1.5, **consumed)
    y = n.op("Dropout", n.op("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2]), **test)
    a, b = n.op("Split", y, outputs=2, axis=1, split=[3, 3])
    y = n.op("Concat", n.op("Sum", a, b, **consumed), n.op("Sigmoid", b, **consumed), axis=1)
    if version < 5:
        y = n.op("Reshape", y, shape=[0, -1], **consumed)
    else:
        y = n.op("Reshape", y, n.ints(0, -1))
    y = n.op("Gemm", y, n.weight(54, 5, scale=0.2), n.weight(5),
             **({"broadcast": 1} if version < 7 else {}))
    y = n.op("Softmax", y, axis=1)
    n.output(y, "y")
    return n.save(ir=3, results=results)


def edges():
    """Means that count their padding and round up, with windows that would begin in it; reductions
    along no dimension, of data and of constants."""
    n = Net("edges", 18, ["N", 2, 8, 8])
    parts = []
    for kernel, stride, pads in ((2, 2, (0, 0, 1, 1)), (3, 2, (1, 1, 1, 1)), (3, 3, (0, 0, 2, 1)),
                                 (2, 4, (0, 1, 1, 1)), (3, 2, (2, 0, 2, 2))):
        y = n.op("AveragePool", "x", kernel_shape=[kernel] * 2, strides=[stride] * 2,
                 pads=list(pads), ceil_mode=1, count_include_pad=1)
        parts.append(n.op("Flatten", y))
    n.output(n.op("Concat", *parts, axis=1), "pools")
    above = n.op("Add", n.op("Mul", "x", "x"), n.scalar(0.5))
    factors = n.constant(n.random.uniform(-2, 2, (2, 8, 8)).astype(np.float32))
    positive = n.op("Abs", factors)
    parts = []
    for kind in ("L1", "L2", "SumSquare", "LogSum", "LogSumExp", "Sum", "Mean", "Max", "Min", "Prod"):
        own, constant = (above, positive) if kind == "LogSum" else ("x", factors)
        y = n.op("Mul", n.op("Reduce" + kind, own, noop_with_empty_axes=1),
                 n.op("Reduce" + kind, constant, noop_with_empty_axes=1))
        parts.append(y)
    n.output(n.op("Concat", *parts, axis=1), "reductions")
    n.save()


NEAREST = {"floor": np.floor, "ceil": np.ceil, "round_prefer_floor": lambda x: np.ceil(x - 0.5),
           "round_prefer_ceil": lambda x: np.floor(x + 0.5)}


def original(mode, positions, size, scale):
    """Coordinates by the formulas of the operator Resize, with the 32 bits of its scales:
    onnx.reference takes 64 bits, with which 2 / 0.4 is below 5."""
    one, half = np.float32(1), np.float32(0.5)
    x, size, scale = positions.astype(np.float32), np.float32(size), np.float32(scale)
    length = size * scale
    middle = (x + half) / scale - half
    return {"asymmetric": lambda: x / scale,
            "half_pixel": lambda: middle,
            "tf_half_pixel_for_nn": lambda: (x + half) / scale,
            "align_corners": lambda: x * (size - one) / (length - one),
            "half_pixel_symmetric": lambda: size * half * (one - np.floor(length) / length) + middle}[mode]()


def scales():
    """Resize to the nearest element by scales that are no binary fractions, of data and of constants."""
    n = Net("scales", 19, ["N", 1, 20])
    cases = [(mode, way, np.float32(tenths / 10)) for mode, way in (
        ("asymmetric", "floor"), ("half_pixel", "round_prefer_ceil"), ("tf_half_pixel_for_nn", "ceil"),
        ("align_corners", "floor"), ("half_pixel_symmetric", "round_prefer_floor"))
             for tenths in range(2, 23)]
    ramp = np.arange(1, 21, dtype=np.float32).reshape(1, 1, 20)
    constant = n.constant(ramp)

    def resized_by_all(value):
        return n.op("Concat", *(
            n.op("Resize", value, "", n.floats(1, 1, scale), mode="nearest", nearest_mode=way,
                 coordinate_transformation_mode=mode) for mode, way, scale in cases), axis=2)
    n.output(n.op("Mul", resized_by_all("x"), resized_by_all(constant)), "y")

    def results(x):
        resized = []
        for mode, way, scale in cases:
            positions = np.arange(int(np.floor(np.float32(20) * scale)))
            at = NEAREST[way](original(mode, positions, 20, scale))
            at = np.clip(at, 0, 19).astype(int)
            resized.append(x[:, :, at] * ramp[:, :, at])
        return [np.concatenate(resized, axis=2)]
    n.save(results=results)


def whole_numbers():
    """Whole numbers on data: what is cut off behind the point, and what overflows 8 and 16 bits."""
    n = Net("whole_numbers", 18, ["N", 4, 6], seed=7)
    int8, uint8, int16, int32 = TensorProto.INT8, TensorProto.UINT8, TensorProto.INT16, TensorProto.INT32

    def own(value, dtype, *shape):
        return n.constant(np.full(shape, value, dtype))

    def output(*values):
        parts = [n.op("Flatten", n.op("Cast", value, to=TensorProto.FLOAT)) for value in values]
        n.output(n.op("Concat", *parts, axis=1), "y%d" % len(n.outputs))
    a = n.op("Cast", n.op("Mul", "x", n.scalar(60)), to=int32)
    small = n.op("Div", a, own(7, np.int32))
    above = n.op("Add", n.op("Abs", small), own(1, np.int32))
    output(n.op("Pow", small, own(3, np.int32)), n.op("Pow", above, own(-1, np.int32)),
           n.op("Pow", above, n.scalar(0.5)), n.op("Pow", above, own(2, np.int64)))
    output(n.op("ReduceMean", a, n.ints(2)), n.op("ReduceMean", a, n.ints(1), keepdims=0),
           n.op("ReduceL2", a, n.ints(2)), n.op("ReduceLogSum", above, n.ints(1, 2)),
           n.op("ReduceLogSumExp", small, n.ints(1)))
    multiples = n.op("Mul", small, own(41, np.int32))
    output(n.op("Div", multiples, own(41, np.int32)), n.op("Div", a, own(-7, np.int32)),
           n.op("Div", a, n.constant(np.array([3, -5, 41, 47, 55, 61], np.int32))), n.op("Div", a, above))
    u = n.op("Cast", n.op("Add", a, own(128, np.int32)), to=uint8)
    output(u, n.op("Add", u, own(200, np.uint8)), n.op("Sub", u, own(50, np.uint8)),
           n.op("Mul", u, own(3, np.uint8)), n.op("Mul", u, u),
           n.op("Add", n.op("Reshape", n.op("Transpose", u, perm=[0, 2, 1]), n.ints(0, 4, 6)), u))
    s = n.op("Cast", n.op("Sub", n.op("Mul", a, own(3, np.int32)), own(128, np.int32)), to=int8)
    least = n.op("Min", s, own(-128, np.int8, 4, 6))
    output(s, n.op("Neg", s), n.op("Abs", least), n.op("Mul", s, s), n.op("Sub", s, own(100, np.int8)),
           n.op("Div", least, own(-1, np.int8)), n.op("Neg", least))
    wide = n.op("Cast", n.op("Mul", a, own(300, np.int32)), to=int16)
    output(wide, n.op("Add", wide, wide), n.op("Sub", wide, own(30000, np.int16)))
    output(n.op("Cast", n.op("Mul", "x", n.scalar(300)), to=uint8),
           n.op("Cast", n.op("Mul", "x", n.scalar(300)), to=int8),
           n.op("CastLike", a, u), n.op("Cast", u, to=int8), n.op("Cast", u, to=int32))

    def results(x):
        def cut(values):
            return np.trunc(values)

        def wrapped(values, dtype):
            bits = np.iinfo(dtype).bits
            low = np.iinfo(dtype).min
            return (values - low) % (1 << bits) + low

        def joined(*values):
            return np.concatenate([v.reshape(len(x), -1) for v in values], axis=1).astype(np.float32)
        a = cut((x * np.float32(60)).astype(np.float64)).astype(np.int64)
        small = cut(a / 7).astype(np.int64)
        above = np.abs(small) + 1
        u = wrapped(a + 128, np.uint8)
        s = wrapped(3 * a - 128, np.int8)
        wide = wrapped(a * 300, np.int16)
        turned = np.transpose(u, (0, 2, 1)).reshape(u.shape)
        least = np.full(s.shape, -128)
        far = cut((x * np.float32(300)).astype(np.float64))
        return [
            joined(small ** 3, cut(1 / above), cut(np.sqrt(above)), above ** 2),
            joined(cut(a.sum(2) / 6), cut(a.sum(1) / 4), cut(np.sqrt((a ** 2).sum(2))),
                   cut(np.log(above.sum((1, 2)))), cut(np.log(np.exp(small.astype(float)).sum(1)))),
            joined(small, cut(a / -7), cut(a / np.array([3, -5, 41, 47, 55, 61])), cut(a / above)),
            joined(*(wrapped(v, np.uint8) for v in (u, u + 200, u - 50, u * 3, u * u, turned + u))),
            joined(*(wrapped(v, np.int8) for v in (s, -s, -least, s * s, s - 100, -least, -least))),
            joined(*(wrapped(v, np.int16) for v in (wide, 2 * wide, wide - 30000))),
            joined(np.clip(far, 0, 255), np.clip(far, -128, 127), wrapped(a, np.uint8), wrapped(u, np.int8), u)]
    n.save(results=results)


def counted():
    """x times the number of samples, which are open, and so one whole input."""
    n = Net("counted", 17, ["N", 3], batch=4)
    size = n.op("Cast", n.op("Gather", n.op("Shape", "x"), n.ints(0)), to=TensorProto.FLOAT)
    n.output_itself(n.op("Mul", "x", size, name="times"))
    n.save()


def wraps():
    """Pads that cut off and add, of data and of constants, in all modes; pools with auto_pad VALID that
    round up; sizes by scales of 32 bits."""
    n = Net("wraps", 19, ["N", 2, 7])
    cases = [("wrap", -2, 3), ("wrap", 3, -2), ("wrap", -3, -1), ("wrap", 9, -4), ("wrap", -5, 11),
             ("reflect", -2, 3), ("reflect", 4, -2), ("edge", -2, 3), ("edge", 3, -3), ("constant", -2, 3)]
    ramp = np.arange(1, 15, dtype=np.float32).reshape(1, 2, 7)
    constant = n.constant(ramp)

    def padded(value):
        return n.op("Concat", *(n.op("Pad", value, n.ints(0, 0, before, 0, 0, behind), mode=mode)
                                for mode, before, behind in cases), axis=2)
    n.output(n.op("Mul", padded("x"), padded(constant)), "pads")
    image = n.op("Unsqueeze", n.op("Concat", "x", "x", axis=2), n.ints(2))
    pools = [n.op(kind, image, kernel_shape=[1, kernel], strides=[1, stride], auto_pad="VALID", ceil_mode=1)
             for kind in ("MaxPool", "AveragePool") for kernel, stride in ((3, 2), (2, 3), (4, 3))]
    n.output(n.op("Concat", *pools, axis=3), "pools")
    long = n.op("Concat", "x", "x", "x", axis=2)
    sizes = [n.op("Resize", n.op("Slice", long, n.ints(0), n.ints(size), n.ints(2)), "",
                  n.floats(1, 1, scale), mode="nearest", nearest_mode="floor",
                  coordinate_transformation_mode="asymmetric") for size, scale in ((20, 0.7), (10, 0.3), (7, 0.9))]
    n.output(n.op("Concat", *sizes, axis=2), "sizes")

    def results(x):
        def of(value, mode, before, behind):
            left = value[:, :, max(-before, 0):value.shape[2] - max(-behind, 0)]
            return np.pad(left, ((0, 0), (0, 0), (max(before, 0), max(behind, 0))), mode)
        pads = [of(x, *case) * of(ramp, *case) for case in cases]
        line = np.concatenate([x, x], axis=2)
        pools = []
        for reduce in (np.max, np.mean):
            for kernel, stride in ((3, 2), (2, 3), (4, 3)):
                count = -(-(14 - kernel + 1) // stride)  # as the operator's definition has it
                pools.append(np.stack([reduce(line[:, :, i * stride:i * stride + kernel], axis=2)
                                       for i in range(count)], axis=2))
        long = np.concatenate([x, x, x], axis=2)
        sizes = []
        for size, scale in ((20, 0.7), (10, 0.3), (7, 0.9)):
            scale = np.float32(scale)
            count = int(np.floor(np.float32(size) * scale))
            at = np.floor(np.arange(count, dtype=np.float32) / scale).astype(int)
            sizes.append(long[:, :, np.minimum(at, size - 1)])
        return [np.concatenate(pads, axis=2), np.concatenate(pools, axis=2)[:, :, None, :],
                np.concatenate(sizes, axis=2)]
    n.save(results=results)
def sampled(version, results=None):
    """Values of images at points: by every mode and padding, in the words of two versions; of images
    that are folded into the samples, and of constants."""
    n = Net("sampled_%d" % version, version, ["N", 4, 6, 7])
    linear, cubic = ("bilinear", "bicubic") if version < 20 else ("linear", "cubic")
    y = n.op("Conv", "x", n.weight(2, 4, 3, 3), pads=[1, 0, 0, 0], strides=[2, 2])
    points = n.op("Transpose", n.op("Mul", y, n.scalar(1.7)), perm=[0, 2, 3, 1])
    parts = []
    for mode in "nearest", linear, cubic:
        for padding in "zeros", "border", "reflection":
            for corners in 0, 1:
                parts.append(n.op("GridSample", "x", points, mode=mode, padding_mode=padding,
                                  align_corners=corners))
    n.output(n.op("Concat", *parts, axis=1), "modes")
    heads = n.op("Reshape", "x", n.ints(-1, 2, 6, 7))
    several = n.op("Reshape", n.op("Conv", "x", n.weight(12, 4, 1, 1)), n.ints(-1, 3, 42, 2))
    several = n.op("Reshape", n.op("GridSample", heads, several), n.ints(-1, 4, 3, 42))
    samples = n.op("Slice", n.op("Shape", "x"), n.ints(0), n.ints(1))

    def of_each(constant, *shape):
        return n.op("Expand", constant, n.op("Concat", samples, n.ints(*shape), axis=0))
    fixed = n.op("GridSample", "x", of_each(n.weight(3, 2, 2), 3, 2, 2), padding_mode="border")
    image = n.op("GridSample", of_each(n.weight(1, 5, 4, 3, scale=1), 5, 4, 3), points, mode=cubic)
    known = n.op("GridSample", n.weight(1, 2, 5, 4, scale=1), n.weight(1, 3, 2, 2, scale=1),
                 mode=cubic, padding_mode="reflection", align_corners=1)
    n.output(n.op("ReduceSum", several, n.ints(3)), "heads")
    n.output(n.op("Concat", n.op("Flatten", fixed), n.op("Flatten", image), axis=1), "constants")
    n.output(n.op("Add", n.op("ReduceMean", "x", keepdims=1, axes=[1, 2, 3]) if version < 18 else
                  n.op("ReduceMean", "x", n.ints(1, 2, 3)), n.op("Reshape", known, n.ints(1, 12, 1, 1))), "known")
    return n.save(results=results)


def deformed(version, results=None):
    """Convolutions at moved places: in groups, with factors, of images that are folded into the
    samples, and of constants."""
    n = Net("deformed_%d" % version, version, ["N", 4, 7, 6])
    samples = n.op("Slice", n.op("Shape", "x"), n.ints(0), n.ints(1))

    def moved(x, channels, out, groups=1, pads=(1, 1, 1, 1), strides=(1, 1)):
        return n.op("Conv", x, n.weight(out, channels // groups, 3, 3, scale=0.4), kernel_shape=[3, 3],
                    pads=pads, strides=strides, group=groups)

    def of_each(constant, *shape):
        return n.op("Expand", constant, n.op("Concat", samples, n.ints(*shape), axis=0))
    plain = n.op("DeformConv", "x", n.weight(5, 4, 3, 3), moved("x", 4, 18), pads=[1, 1, 1, 1])
    half = dict(pads=(1, 1, 1, 2), strides=(2, 3))
    offsets = moved("x", 4, 18 * 2, **half)
    factors = n.op("Sigmoid", moved("x", 4, 9 * 2, **half))
    window = dict(kernel_shape=[3, 3], pads=[1, 2, 1, 3], strides=[2, 3], dilations=[1, 2], group=2, offset_group=2)
    groups = n.op("DeformConv", "x", n.weight(6, 2, 3, 3), offsets, n.weight(6), factors, **window)
    groups = n.op("Relu", groups)
    apart = n.op("DeformConv", "x", n.weight(4, 1, 2, 1), moved("x", 4, 4), "", moved("x", 4, 2), pads=[1, 0, 0, 0],
                 group=4)
    heads = n.op("Reshape", "x", n.ints(-1, 2, 7, 6))
    several = n.op("DeformConv", heads, n.weight(3, 2, 3, 3), moved(heads, 2, 18), n.weight(3), pads=[1, 1, 1, 1])
    fixed = n.op("DeformConv", "x", n.weight(2, 4, 2, 2), of_each(n.weight(8, 6, 5, scale=1), 8, 6, 5))
    image = n.op("DeformConv", of_each(n.weight(1, 2, 5, 5, scale=1), 2, 5, 5), n.weight(2, 2, 3, 3),
                 n.op("Slice", moved("x", 4, 18), n.ints(1, 1), n.ints(6, 6), n.ints(2, 3)), pads=[1, 1, 1, 1])
    known = n.op("DeformConv", n.weight(1, 4, 5, 5, scale=1), n.weight(2, 2, 3, 2), n.weight(1, 24, 2, 6, scale=1),
                 n.weight(2), n.weight(1, 12, 2, 6, scale=1), group=2, offset_group=2, strides=[2, 1], pads=[0, 1, 0, 1])
    n.output(n.op("Concat", plain, apart, axis=1), "plain")
    n.output(groups, "groups")
    n.output(n.op("Reshape", several, n.ints(-1, 6, 7, 6)), "several")
    n.output(n.op("Concat", n.op("Flatten", fixed), n.op("Flatten", image), axis=1), "constants")
    n.output(n.op("Add", n.op("ReduceMean", "x", n.ints(1, 2, 3)), n.op("Reshape", known, n.ints(1, 24, 1, 1))),
             "known")
    return n.save(results=results)


def transformed(version, results=None):
    """Fourier transforms of real and complex numbers along every dimension, cut off and filled up; half
    of them, inverse ones, and back to real numbers; of constants; of what is folded into the samples."""
    n = Net("transformed_%d" % version, version, ["N", 6, 10])

    def dft(x, axis, length=None, **attributes):
        inputs = [x, "" if length is None else n.constant(np.int64(length))]
        if version >= 20:
            inputs.append(n.constant(np.int64(axis)))
        else:
            attributes["axis"] = axis
        return n.op("DFT", *inputs, **attributes)
    x = n.op("Unsqueeze", "x", n.ints(3))
    rows, columns = dft(x, -2), dft(x, 1)
    n.output(rows, "rows")
    n.output(n.op("Concat", columns, dft(x, 1, 11), dft(x, 1, 4), dft(rows, 1), axis=1), "columns")
    half = dft(x, 2, onesided=1)
    n.output(n.op("Concat", half, dft(x, 2, 37, onesided=1), dft(x, 2, 8, onesided=1), axis=2), "half")
    n.output(n.op("Concat", dft(rows, 2, inverse=1), dft(columns, 1, 9, inverse=1), dft(x, 1, 3, inverse=1), axis=1),
             "inverse")
    n.output(n.op("Concat", dft(half, 2, inverse=1, onesided=1), dft(half, 2, 13, inverse=1, onesided=1), axis=2),
             "real")
    heads = dft(n.op("Reshape", "x", n.ints(-1, 2, 10, 1)), 2)
    n.output(n.op("Reshape", dft(heads, 1, 3), n.ints(-1, 9, 10, 2)), "heads")
    known = dft(n.weight(1, 5, 34, 2, scale=1), 2)
    known = dft(dft(known, 1, 6, inverse=1), 2, inverse=1, onesided=1)
    n.output(n.op("Add", n.op("ReduceMean", x, n.ints(1, 2, 3)) if version >= 18 else
                  n.op("ReduceMean", x, axes=[1, 2, 3]), known), "known")
    return n.save(results=results)


def framed():
    """Fourier transforms of pieces of a signal, with and without windows, and the windows."""
    n = Net("framed", 17, ["N", 50])
    x = n.op("Unsqueeze", "x", n.ints(2))

    def of(value):
        return n.constant(np.int64(value))
    hann = n.op("HannWindow", of(16))
    twice = n.op("Concat", x, n.op("Neg", x), axis=2)
    for i, frames in enumerate((
            n.op("STFT", x, of(6), hann), n.op("STFT", x, of(9), n.weight(13, scale=1), of(13), onesided=0),
            n.op("STFT", twice, of(7), "", of(20), onesided=0))):
        n.output(frames, "frames_%d" % i)
    windows = [n.op(kind, of(20), periodic=periodic) for kind in ("HannWindow", "HammingWindow", "BlackmanWindow")
               for periodic in (0, 1)]
    n.output(n.op("Mul", n.op("Unsqueeze", n.op("Slice", "x", n.ints(0), n.ints(20), n.ints(1)), n.ints(1)),
                  n.op("Reshape", n.op("Concat", *windows, axis=0), n.ints(1, 6, 20))), "windows")
    known = [n.op("Reshape", frames, n.ints(1, -1)) for frames in (
        n.op("STFT", n.weight(2, 30, 1, scale=1), of(5), hann),
        n.op("STFT", n.weight(1, 12, 2, scale=1), of(3), "", of(5), onesided=0))]
    n.output(n.op("Add", n.op("ReduceMean", "x", axes=[1]), n.op("Concat", *known, axis=1)), "known")
    n.save()


def noise():
    """Random numbers, with and without a seed, as docs/onnx.md describes them: of a sample's shape, of
    what is folded into the samples, and of constant shapes."""
    n = Net("noise", 17, ["N", 3, 4])
    normal = n.op("RandomNormalLike", "x", seed=2.5, mean=0.5, scale=2.0)
    uniform = n.op("RandomUniformLike", "x", low=-3.0, high=1.0, name="drawn")
    rows = n.op("Reshape", "x", n.ints(-1, 4))
    rows = n.op("Mul", rows, n.op("RandomNormalLike", rows, seed=-1.0))
    fixed = n.op("Mul", n.op("RandomNormal", shape=[3, 1], seed=0.0), n.op("RandomUniform", shape=[4], name="of four"))
    n.output(n.op("Add", "x", normal), "normal")
    n.output(n.op("Mul", "x", uniform), "uniform")
    n.output(n.op("Reshape", rows, n.ints(-1, 3, 4)), "rows")
    n.output(n.op("Add", "x", fixed), "fixed")
    mask = (1 << 64) - 1

    def output(key, index):  # of splitmix64
        word = (key + (index + 1) * 0x9e3779b97f4a7c15) & mask
        word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9 & mask
        word = (word ^ word >> 27) * 0x94d049bb133111eb & mask
        return word ^ word >> 31

    def seeded(seed):
        return output(1, int(np.float64(seed).view(np.uint64)))

    def named(name):
        key = 0
        for byte in name.encode():
            key = output(key, byte)
        return key

    def numbers(key, *shape):
        count = int(np.prod(shape))
        u, v = (np.array([output(key, 2 * i + j) >> 11 for i in range(count)], np.float64) * 2.0**-53 for j in (0, 1))
        return u.reshape(shape), (np.sqrt(-2 * np.log(1 - u)) * np.cos(2 * np.pi * v)).reshape(shape)

    def results(x):
        return [x + np.float32(0.5 + 2 * numbers(seeded(2.5), 3, 4)[1]),
                x * np.float32(-3 + 4 * numbers(named("drawn"), 3, 4)[0]),
                x * np.float32(numbers(seeded(-1), 3, 4)[1]),
                x + np.float32(numbers(seeded(0), 3, 1)[1]) * np.float32(numbers(named("of four"), 4)[0])]
    n.save(results=results)


def lines(version, lengths=None):
    """Marks of the largest of each line, and lines divided by their length, of data and of constants;
    a line of zeros stays one. lengths: the outputs of version 13; onnx.reference marks as it does there."""
    n = Net("lines_%d" % version, version, ["N", 3, 4, 5])
    factors = n.weight(3, 4, 5, scale=1)
    parts = []
    for axis in (1, 2, 3) if version < 13 else (1, -2, 3):
        parts.append(n.op("Mul", n.op("Hardmax", "x", axis=axis), n.op("Hardmax", factors, axis=axis % 3)))
    wide = n.op("MatMul", "x", n.constant(np.tile(np.float32([[1], [0], [0], [0], [0]]), (1, 5))))
    parts.append(n.op("Hardmax", wide))  # all elements of a line are equal
    n.output(n.op("Concat", *parts, axis=1), "marks")
    y = n.op("Relu", n.op("Sub", "x", n.scalar(0.9)))  # has lines of zeros
    parts = []
    for p in 1, 2:
        for axis in 1, 2, -1:
            parts.append(n.op("Mul", n.op("LpNormalization", y, axis=axis, p=p),
                              n.op("LpNormalization", n.op("Abs", factors), axis=axis % 3, p=p)))
    n.output(n.op("Concat", *parts, axis=1), "lengths")

    def coerced(x, axis):  # before version 13, all dimensions from axis on were one line
        flat = x.reshape(int(np.prod(x.shape[:axis])), -1)
        return (np.arange(flat.shape[1]) == flat.argmax(1)[:, None]).reshape(x.shape)

    def marks(x):
        known = numpy_helper.to_array(n.weights[0])
        all_equal = np.repeat(x[..., :1], 5, axis=-1)
        return np.concatenate([coerced(x, axis) * coerced(known, axis % 3) for axis in (1, 2, 3)] +
                              [coerced(all_equal, 1)], axis=1)
    return n.save(results=lengths and (lambda x: [marks(x), lengths[1]]))


def norms():
    """Lengths of windows, by several powers, with padding on all sides and windows that round up."""
    n = Net("norms", 18, ["N", 2, 9, 8])
    windows = [dict(kernel_shape=[3, 2]), dict(kernel_shape=[2, 3], p=1, strides=[2, 1], pads=[1, 2, 0, 1]),
               dict(kernel_shape=[3, 3], p=3, auto_pad="SAME_UPPER", strides=[2, 2]),
               dict(kernel_shape=[2, 2], p=2, dilations=[2, 3])]
    up = [dict(kernel_shape=[2, 3], strides=[2, 3], ceil_mode=1),
          dict(kernel_shape=[3, 3], strides=[3, 2], pads=[0, 0, 2, 1], ceil_mode=1, p=1)]
    n.output(n.op("Concat", *(n.op("Flatten", n.op("LpPool", "x", **w)) for w in windows + up), axis=1), "y")

    def results(x):
        parts = []
        for w in windows + up:
            kernel, p = np.array(w["kernel_shape"]), w.get("p", 2)
            stride, dilation = (np.array(w.get(k, [1, 1])) for k in ("strides", "dilations"))
            extent, size = (kernel - 1) * dilation + 1, np.array(x.shape[2:])
            low, high = np.array(w.get("pads", [0] * 4)).reshape(2, 2)
            if "auto_pad" in w:
                total = (-(-size // stride) - 1) * stride + extent - size
                low, high = total // 2, total - total // 2
            room = size + low + high - extent
            n_out = room // stride + 1
            if "ceil_mode" in w:
                n_out = -(-room // stride) + 1
                n_out -= (n_out - 1) * stride >= size + low
            wide = np.pad(np.abs(x.astype(np.float64)) ** p, [(0, 0)] * 2 + [(l, h + 9) for l, h in zip(low, high)])
            sums = sum(wide[:, :, i * dilation[0]:, j * dilation[1]:]
                       [:, :, :(n_out[0] - 1) * stride[0] + 1:stride[0], :(n_out[1] - 1) * stride[1] + 1:stride[1]]
                       for i in range(kernel[0]) for j in range(kernel[1]))
            parts.append((sums ** (1 / p)).reshape(len(x), -1))
        return [np.concatenate(parts, axis=1)]
    n.save(results=results)


def reversed_():
    """Sequences whose first elements are reversed, as many as a constant or a tensor says; elements
    that a condition chooses."""
    n = Net("reversed", 17, ["N", 4, 3, 2])
    samples = n.op("Slice", n.op("Shape", "x"), n.ints(0), n.ints(1))
    turned = n.op("Transpose", "x", perm=[1, 0, 2, 3])
    parts = []
    for length in 0, 3, 4:
        each = n.op("Expand", n.ints(length), samples)
        parts.append(n.op("ReverseSequence", "x", each, batch_axis=0, time_axis=1))
        y = n.op("ReverseSequence", turned, each)
        parts.append(n.op("Transpose", y, perm=[1, 0, 2, 3]))
    length = n.op("ReduceSum", n.op("Mul", "x", n.scalar(0.7)), n.ints(1, 2, 3), keepdims=0)
    length = n.op("Clip", n.op("Add", length, n.scalar(2)), n.scalar(0), n.scalar(4))
    parts.append(n.op("ReverseSequence", "x", n.op("Cast", length, to=TensorProto.INT64), batch_axis=0,
                      time_axis=1))
    known = n.op("ReverseSequence", n.weight(4, 2, 3), n.ints(4, 2))
    parts.append(n.op("Add", "x", n.op("Transpose", known, perm=[0, 2, 1])))
    n.output(n.op("Concat", *parts, axis=3), "y")
    flags = lambda *values: n.constant(np.array(values, bool))
    y = n.op("Compress", n.op("Compress", "x", flags(1, 0, 0, 1), axis=1), flags(0, 1, 1), axis=-2)
    chosen = n.op("Compress", n.weight(3, 4), flags(0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1))
    y = n.op("Add", n.op("Compress", y, flags(0, 1), axis=3), n.op("Reshape", chosen, n.ints(2, 2, 1)))
    n.output(y, "z")
    n.save()


def whole_reversed():
    """The same where each sequence has a length of its own, and the samples are mixed."""
    n = Net("whole_reversed", 17, [3, 4, 2], batch=3)
    y = n.op("ReverseSequence", "x", n.ints(2, 4, 0), batch_axis=0, time_axis=1)
    length = n.op("Cast", n.op("Abs", n.op("Slice", "x", n.ints(0, 0, 0), n.ints(1, 4, 1))), to=TensorProto.INT64)
    length = n.op("Reshape", n.op("Clip", length, n.constant(np.array(0)), n.constant(np.array(3))), n.ints(4))
    y = n.op("ReverseSequence", y, length)
    n.output(y, "y")
    n.output(n.op("Compress", n.op("Sigmoid", y), n.constant(np.arange(24) % 5 == 1)), "z")
    n.save()


def rows_of_samples(n, x):
    """The positions of the samples of x, as exporters write them."""
    samples = n.op("Gather", n.op("Shape", x), n.constant(np.array(0)))
    return n.op("Range", n.constant(np.array(0)), samples, n.constant(np.array(1)))


def chosen():
    """Parts of tensors at places that are computed: what text towers, heads and detectors take."""
    n = Net("chosen", 17, ["N", 5, 6], batch=4)
    hidden = n.op("MatMul", "x", n.weight(6, 8))
    scores = n.op("ReduceMax", "x", axes=[2], keepdims=0)
    place = n.op("ArgMax", scores, axis=-1, keepdims=0)
    rows = rows_of_samples(n, hidden)
    parts = []

    def add(y, width):
        parts.append(n.op("Reshape", y, n.ints(-1, width)))
    # x[arange(n), place] as torch.onnx.export writes it, and as its successor does
    flat = n.op("Flatten", hidden, axis=2)
    first = n.op("Mul", rows, n.op("Gather", n.op("Shape", hidden), n.constant(np.array(1))))
    index = n.op("Add", place, first)
    y = n.op("Gather", flat, index)
    add(n.op("Reshape", y, n.op("Concat", n.op("Shape", index), n.ints(8), axis=0)), 8)
    wide = n.op("Shape", n.op("Max", rows, place))
    column = lambda value: n.op("Unsqueeze", n.op("Expand", value, wide), n.ints(-1))
    add(n.op("GatherND", hidden, n.op("Concat", column(rows), column(place), axis=-1)), 8)
    # several places of each sample, counted from either end, and of several numbers
    best = n.op("TopK", scores, n.ints(2), outputs=2)[1]
    add(n.op("Gather", flat, n.op("Add", n.op("Unsqueeze", first, n.ints(1)), best)), 16)
    behind = n.op("Unsqueeze", n.op("Sub", best, n.ints(5)), n.ints(2))
    add(n.op("GatherND", hidden, behind, batch_dims=1), 16)
    least = n.op("ArgMin", hidden, axis=2, keepdims=1)  # [n, 5, 1]
    pairs = n.op("Concat", n.op("ArgMax", hidden, axis=1, keepdims=1), n.op(
        "ArgMin", hidden, axis=1, keepdims=1, select_last_index=1), axis=1)  # [n, 2, 8]
    pairs = n.op("Mod", n.op("Transpose", pairs, perm=[0, 2, 1]), n.ints(5, 2))
    add(n.op("GatherND", n.op("Reshape", hidden, n.ints(0, 5, 2, 4)), pairs, batch_dims=1), 32)
    add(n.op("GatherND", hidden, least, batch_dims=2), 5)
    add(n.op("GatherElements", hidden, least, axis=2), 5)
    # heads that are folded into the samples
    heads = n.op("Transpose", n.op("Reshape", hidden, n.ints(0, 5, 2, 4)), perm=[0, 2, 1, 3])
    heads = n.op("Reshape", heads, n.ints(-1, 5, 4))
    index = n.op("ArgMax", n.op("ReduceMax", heads, axes=[2], keepdims=0), axis=1)
    add(n.op("GatherND", heads, index, batch_dims=1), 8)
    # constants
    add(n.op("Transpose", n.op("Gather", n.weight(3, 5, scale=1), best, axis=1), perm=[1, 0, 2]), 6)
    add(n.op("GatherND", n.weight(5, 3, scale=1), behind), 6)
    index = n.op("Concat", behind, n.op("Mod", behind, n.ints(3)), axis=2)
    add(n.op("GatherND", n.weight(5, 3, 2, scale=1), index), 4)
    n.output(n.op("Concat", *parts, axis=1), "y")
    n.save()


def chosen_one():
    """The same of a file of one sample, where places of the sample are numbers, or none are needed."""
    n = Net("chosen_one", 17, [1, 5, 6], batch=1)
    hidden = n.op("MatMul", "x", n.weight(6, 8))
    place = n.op("ArgMax", n.op("ReduceMax", "x", axes=[2], keepdims=0), axis=-1, keepdims=0)
    parts = [n.op("Gather", hidden, place, axis=1)]
    parts.append(n.op("Unsqueeze", n.op("Gather", n.op("Reshape", hidden, n.ints(-1, 8)), place), n.ints(1)))
    index = n.op("Concat", n.constant(np.zeros([1, 1], np.int64)), n.op("Unsqueeze", place, n.ints(1)), axis=1)
    parts.append(n.op("Unsqueeze", n.op("GatherND", hidden, index), n.ints(1)))
    turned = n.op("Transpose", hidden, perm=[1, 0, 2])
    index = n.op("Concat", n.op("Unsqueeze", place, n.ints(1)), n.constant(np.zeros([1, 1], np.int64)), axis=1)
    parts.append(n.op("Unsqueeze", n.op("GatherND", turned, index), n.ints(1)))
    parts.append(n.op("Transpose", n.op("Gather", turned, place, axis=0), perm=[1, 0, 2]))
    best = n.op("TopK", hidden, n.ints(3), outputs=2, axis=1)[1]  # [1, 3, 8]
    y = n.op("Gather", hidden, n.op("Slice", best, n.ints(0), n.ints(2), n.ints(2)), axis=1)
    parts.append(n.op("Reshape", y, n.ints(1, 6, 8)))
    n.output(n.op("Concat", *parts, axis=1), "y")
    n.save()


def chosen_four():
    """The same of a file of four samples, whose positions are numbers."""
    n = Net("chosen_four", 17, [4, 5, 6], batch=4)
    hidden = n.op("MatMul", "x", n.weight(6, 8))
    place = n.op("ArgMax", n.op("ReduceMax", "x", axes=[2], keepdims=0), axis=-1, keepdims=0)
    rows = n.constant(np.arange(4))
    index = n.op("Add", n.constant(5 * np.arange(4)), place)
    parts = [n.op("Gather", n.op("Reshape", hidden, n.ints(-1, 8)), index)]
    index = n.op("Concat", n.op("Unsqueeze", rows, n.ints(1)), n.op("Unsqueeze", place, n.ints(1)), axis=1)
    parts.append(n.op("GatherND", hidden, index))
    n.output(n.op("Concat", *parts, axis=1), "y")
    n.save()


def whole_chosen():
    """Parts along every dimension of a network that mixes its samples."""
    n = Net("whole_chosen", 17, [3, 4, 5], batch=3)
    mixed = n.op("Sub", "x", n.op("ReduceMean", "x", axes=[0], keepdims=1))
    parts = []
    for axis in 0, 1, -1:
        other = (axis + 1) % 3
        index = n.op("ArgMax", mixed, axis=axis, keepdims=0)
        index = n.op("Gather", index, n.ints(1, 0), axis=other % 2)
        parts.append(n.op("Gather", mixed, n.op("Neg", index), axis=axis))
    index = n.op("Unsqueeze", n.op("ArgMin", mixed, axis=2, keepdims=0), n.ints(2))
    parts.append(n.op("GatherND", mixed, n.op("Mod", n.op("Concat", index, index, axis=2), n.ints(4, 5)), batch_dims=1))
    parts.append(n.op("GatherND", mixed, n.op("Mod", index, n.ints(3))))
    parts.append(n.op("GatherND", mixed, index, batch_dims=2))
    n.output(n.op("Concat", *[n.op("Reshape", part, n.ints(-1)) for part in parts], axis=0), "y")
    n.save()


def shared_choice():
    """Parts at places that all samples share, and parts of data that all of them share; the first
    tensor has both inputs of each sample."""
    value = helper.make_tensor_value_info
    n = Net("shared_choice", 17, ["N", 4, 3])
    weight = n.weight(3, 3)
    hidden = n.op("MatMul", "x", weight)
    parts = [n.op("Reshape", n.op("Gather", hidden, "at", axis=axis), n.ints(-1, width))
             for axis, width in ((1, 6), (2, 8))]
    place = n.op("ArgMax", n.op("ReduceMax", "x", axes=[2], keepdims=0), axis=-1, keepdims=1)
    table = n.op("MatMul", "t", weight)
    parts.append(n.op("Reshape", n.op("Gather", table, place), n.ints(-1, 3)))
    parts.append(n.op("GatherND", table, place))
    n.output(n.op("Concat", *parts, axis=1), "y")
    inputs = [value("x", TensorProto.FLOAT, ["N", 4, 3]), value("at", TensorProto.INT64, [2]),
              value("t", TensorProto.FLOAT, [4, 3])]
    graph = helper.make_graph(n.nodes, "shared_choice", inputs, [value("y", TensorProto.FLOAT, None)],
                              n.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="make.py")
    model.ir_version = 8
    path = os.path.join(FOLDER, "shared_choice")
    onnx.save_model(model, path + ".onnx")
    x, at = n.random.randn(3, 4, 3).astype(np.float32), np.array([2, -2])
    t = n.random.randn(4, 3).astype(np.float32)
    whole = [np.concatenate([sample.ravel(), at, t.ravel()]) for sample in x]
    write(path + "_in.pb", np.stack(whole))
    write(path + "_out0.pb", ReferenceEvaluator(model).run(None, {"x": x, "at": at, "t": t})[0])


def computed(n, images, features, c, m, *kernel, samples=1):
    """Weights [samples m, c, kernel] and biases [samples m] for images of these features each."""
    mean = n.op("Flatten", n.op("GlobalAveragePool", images))
    size = m * c * int(np.prod(kernel))
    weights = n.op("Tanh", n.op("Gemm", mean, n.weight(features, size), n.weight(size)))
    bias = n.op("Gemm", mean, n.weight(features, m), n.weight(m))
    return n.op("Reshape", weights, n.ints(samples * m, c, *kernel)), n.op("Reshape", bias, n.ints(samples * m))


def computed_one():
    """Convolutions by weights that a file of one sample computes, in one to three dimensions, and by
    one branch of a siamese network."""
    n = Net("computed_one", 17, [1, 4, 9, 8], batch=1)
    weights, bias = computed(n, "x", 4, 4, 3, 3, 2)
    n.output(n.op("Relu", n.op("Conv", "x", weights, bias, pads=[1, 0, 2, 1], strides=[2, 1], dilations=[1, 2])),
             "dense")
    n.output(n.op("Conv", "x", computed(n, "x", 4, 2, 6, 2, 3)[0], n.weight(6, scale=1), group=2,
                  auto_pad="SAME_LOWER", strides=[2, 3]), "groups")
    n.output(n.op("Conv", "x", computed(n, "x", 4, 4, 5, 1, 1)[0]), "points")
    n.output(n.op("Conv", "x", n.weight(3, 4, 3, 3), computed(n, "x", 4, 1, 3, 1)[1]), "bias")
    line = n.op("Reshape", "x", n.ints(1, 4, 72))
    n.output(n.op("Conv", line, *computed(n, "x", 4, 4, 2, 5), dilations=[3], pads=[4, 7]), "line")
    wide = n.op("Reshape", n.op("Concat", "x", "x", "x", "x", axis=2), n.ints(1, 1, 3, 384))
    n.output(n.op("Conv", wide, computed(n, "x", 4, 1, 1, 2, 192)[0]), "wide")  # a long list of places
    volume = n.op("Reshape", "x", n.ints(1, 2, 3, 6, 8))
    n.output(n.op("Conv", volume, *computed(n, "x", 4, 2, 3, 2, 3, 2), pads=[1, 1, 0, 0, 1, 1]), "volume")
    branch = n.op("Conv", "x", n.weight(6, 4, 3, 3), pads=[1, 1, 1, 1])
    template = n.op("Slice", branch, n.ints(2, 3), n.ints(6, 6), n.ints(2, 3))
    n.output(n.op("Conv", branch, template), "siamese")
    template = n.op("Reshape", template, n.ints(6, 1, 4, 3))
    n.output(n.op("Conv", branch, template, group=6), "depthwise")
    fixed = n.op("Conv", n.weight(1, 4, 5, 6, scale=1), computed(n, "x", 4, 4, 2, 3, 3)[0])
    heads = n.op("Reshape", "x", n.ints(2, 2, 9, 8))
    heads = n.op("Conv", heads, *computed(n, "x", 4, 1, 4, 2, 2), group=2)
    n.output(n.op("Concat", n.op("Flatten", fixed), n.op("Reshape", heads, n.ints(1, -1)), axis=1), "others")
    n.save()


def computed_four():
    """The same of a file of four samples, which lie in its channels and groups."""
    n = Net("computed_four", 17, [4, 3, 7, 6], batch=4)
    apart = n.op("Reshape", "x", n.ints(1, 12, 7, 6))

    def of_each(y):
        n.nodes.append(helper.make_node("Reshape", [y, n.ints(4, -1)], [n.fresh("row")]))
        return n.nodes[-1].output[0]
    weights, bias = computed(n, "x", 3, 3, 2, 3, 3, samples=4)
    rows = [of_each(n.op("Relu", n.op("Conv", apart, weights, bias, group=4, pads=[1, 1, 1, 1])))]
    same = n.constant(np.tile(n.random.randn(2), 4).astype(np.float32))
    rows.append(of_each(n.op("Conv", apart, weights, same, group=4, strides=[2, 2])))
    branch = n.op("Conv", "x", n.weight(4, 3, 3, 3), pads=[1, 1, 1, 1])
    template = n.op("Slice", branch, n.ints(1, 2), n.ints(5, 5), n.ints(2, 3))
    search = n.op("Reshape", branch, n.ints(1, 16, 7, 6))
    scores = n.op("Conv", search, template, group=4)  # [1, 4, 4, 4]
    rows.append(of_each(n.op("Transpose", scores, perm=[1, 0, 2, 3])))
    rows.append(of_each(n.op("Conv", search, n.op("Reshape", template, n.ints(16, 1, 4, 3)), group=16)))
    n.output(n.op("Concat", *rows, axis=1), "y")
    n.save()


def computed_whole():
    """Convolutions of all samples by weights that are made of all of them."""
    n = Net("computed_whole", 17, [2, 3, 6, 5], batch=2)
    template = n.op("Slice", "x", n.ints(1, 1), n.ints(4, 3), n.ints(2, 3))
    n.output(n.op("Conv", "x", template, n.op("ReduceMax", "x", axes=[1, 2, 3], keepdims=0)), "y")
    n.save()


def shared_kernel():
    """A kernel, and a bias, that are inputs which all samples share; the first tensor has all inputs
    of each sample."""
    value = helper.make_tensor_value_info
    n = Net("shared_kernel", 17, ["N", 2, 5, 6])
    kernel = n.op("Tanh", "k")
    wide = n.op("Reshape", "x", n.ints(-1, 1, 5, 6))
    parts = [n.op("Conv", "x", kernel, "b"), n.op("Conv", "x", n.op("Reshape", kernel, n.ints(6, 1, 2, 3)), group=2),
             n.op("Conv", wide, n.op("Reshape", kernel, n.ints(6, 1, 2, 3)))]
    parts = [n.op("Reshape", part, n.ints(-1, width)) for part, width in zip(parts, (48, 96, 192))]
    n.output(n.op("Concat", *parts, axis=1), "y")
    inputs = [value("x", TensorProto.FLOAT, ["N", 2, 5, 6]), value("k", TensorProto.FLOAT, [3, 2, 2, 3]),
              value("b", TensorProto.FLOAT, [3])]
    graph = helper.make_graph(n.nodes, "shared_kernel", inputs, [value("y", TensorProto.FLOAT, None)], n.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="make.py")
    model.ir_version = 8
    path = os.path.join(FOLDER, "shared_kernel")
    onnx.save_model(model, path + ".onnx")
    x, k, b = [n.random.randn(*shape).astype(np.float32) for shape in ((3, 2, 5, 6), (3, 2, 2, 3), (3,))]
    write(path + "_in.pb", np.stack([np.concatenate([sample.ravel(), k.ravel(), b]) for sample in x]))
    write(path + "_out0.pb", ReferenceEvaluator(model).run(None, {"x": x, "k": k, "b": b})[0])


def empty():
    """Parts without elements, which others are joined with, split from, and computed with."""
    n = Net("empty", 17, ["N", 4, 3, 5])
    nothing, rest = n.op("Split", "x", n.ints(0, 4), outputs=2, axis=1)
    none = n.op("Slice", n.op("Sigmoid", "x"), n.ints(2), n.ints(2), n.ints(3))
    y = n.op("Concat", nothing, n.op("Relu", rest), nothing, axis=1)
    y = n.op("Concat", none, y, n.op("Exp", none), n.op("Tanh", y), axis=-1)
    mixed = n.op("Concat", nothing, n.op("Slice", "x", n.ints(5), n.ints(9), n.ints(1)), axis=1)
    n.output(n.op("MatMul", n.op("Concat", y, none, axis=3), n.weight(10, 6)), "y")
    size = n.op("Slice", n.op("Shape", mixed), n.ints(1), n.ints(2))  # 0
    n.output(n.op("Add", "x", n.op("Cast", size, to=TensorProto.FLOAT)), "z")
    n.save()


def masks():
    """Infinite numbers in what is added: single ones, by channel, by row, and in a table of rows."""
    n = Net("masks", 17, ["N", 4, 3, 5])
    inf = np.float32(np.inf)
    y = n.op("Conv", "x", n.weight(4, 4, 1, 1), n.floats(0, -inf, 1, inf))
    y = n.op("Add", n.op("Conv", y, n.weight(4, 1, 1, 1), group=4),
             n.constant(np.float32([-inf, 0, inf, 0.5]).reshape(4, 1, 1)))
    parts = [n.op("Exp", n.op("Neg", n.op("Abs", y)))]
    logits = n.op("Add", n.op("MatMul", "x", n.weight(5, 5)), n.floats(0, -inf, 0, 1, -inf))
    parts.append(n.op("Softmax", logits))
    parts.append(n.op("Sigmoid", n.op("Sub", n.op("Relu", "x"), n.constant(np.float32([0, inf, -inf, 1]).reshape(4, 1, 1)))))
    parts.append(n.op("Sigmoid", n.op("Add", "x", n.scalar(-inf))))
    parts.append(n.op("Sigmoid", n.op("Mul", n.op("Exp", "x"), n.scalar(-inf))))
    parts.append(n.op("Sigmoid", n.op("Max", "x", n.op("Min", "x", n.scalar(inf)), n.scalar(inf))))
    parts.append(n.op("Div", "x", n.scalar(inf)))
    flags = n.op("Cast", n.op("Greater", "x", n.scalar(0)), to=TensorProto.INT64)
    rows = n.op("Gather", n.constant(np.float32([-inf, 0.25])), flags)
    parts.append(n.op("Sigmoid", n.op("Add", "x", rows)))
    n.output(n.op("Concat", *parts, axis=1), "y")
    n.save()


def infinite():
    """Infinite numbers in what operators with weights, normalisations and recurrent ones add."""
    n = Net("infinite", 21, ["N", 4, 6])
    inf = np.float32(np.inf)
    flat = n.op("Flatten", "x")
    bias = lambda: n.floats(0, -inf, 1, inf, -0.5)
    row = n.constant(np.float32([[0.5, -inf, 0, 1, -inf]]))
    rows = [n.op("Gemm", flat, n.weight(24, 5), bias()),
            n.op("Gemm", flat, n.weight(5, 24), bias(), transB=1),
            n.op("Gemm", flat, n.weight(24, 5), bias(), beta=-0.5),
            n.op("Gemm", flat, n.weight(24, 5), row, alpha=1.5),
            n.op("Gemm", flat, n.weight(24, 5), n.scalar(-inf))]
    parts = [n.op("Sigmoid", part) for part in rows]
    parts.append(n.op("Softmax", n.op("Gemm", flat, n.weight(24, 5), row)))
    normal = n.op("LayerNormalization", "x", n.weight(6, scale=1), n.floats(0, -inf, 1, 0, inf, 2))
    parts.append(n.op("Sigmoid", normal))
    for kind, groups in ("GroupNormalization", {"num_groups": 2}), ("InstanceNormalization", {}):
        normal = n.op(kind, "x", n.weight(4, scale=1), n.floats(0, -inf, 0.5, inf), **groups)
        parts.append(n.op("Sigmoid", normal))
    sequence = n.op("Transpose", "x", perm=[1, 0, 2])
    for kind, gates, how in (("LSTM", 4, {}), ("GRU", 3, {}), ("GRU", 3, {"linear_before_reset": 1}), ("RNN", 1, {})):
        added = n.random.randn(1, 2 * gates * 3)
        added[0, np.arange(0, gates * 3, 2)] = [inf if i % 3 else -inf for i in range(len(range(0, gates * 3, 2)))]
        added[0, gates * 3 + 1] = -inf  # of what reads the state; no unit adds two infinite numbers
        states = n.op(kind, sequence, n.weight(1, gates * 3, 6), n.weight(1, gates * 3, 3),
                      n.constant(added.astype(np.float32)), hidden_size=3, **how)
        parts.append(n.op("Transpose", n.op("Squeeze", states, n.ints(1)), perm=[1, 0, 2]))
    n.output(n.op("Concat", *[n.op("Flatten", part) for part in parts], axis=1), "y")
    n.save()


def sparse(twin=None):
    """Weights of which only the values other than 0 are stored, by numbers of elements and by
    positions, and a constant that is so; the twin has them as they are."""
    n = Net("sparse", 17, ["N", 4, 6, 6])

    def thin(*shape, positions):
        values = n.random.randn(*shape) * (n.random.rand(*shape) < 0.4)
        values = values.astype(np.float32)
        if not twin:
            return values, n.constant(values)
        at = np.argwhere(values) if positions else np.flatnonzero(values)
        name = n.fresh("s")
        n.sparse.append(helper.make_sparse_tensor(numpy_helper.from_array(values[values != 0], name),
                                                  numpy_helper.from_array(at.astype(np.int64), name + "_at"),
                                                  shape))
        return values, name
    y = n.op("Conv", "x", thin(8, 4, 3, 3, positions=False)[1], pads=[1] * 4)
    y = n.op("Add", y, thin(8, 1, 1, positions=True)[1])
    values, name = thin(6, 70, positions=True)
    if twin:
        n.sparse.pop()
        at = np.flatnonzero(values)
        name = n.op("Constant", sparse_value=helper.make_sparse_tensor(
            numpy_helper.from_array(values[values != 0], "v"), numpy_helper.from_array(at, "i"), values.shape))
    n.output(n.op("MatMul", y, name), "y")
    if twin:
        n.save(twin=twin)
    return n


def functions(twin=None):
    """Functions in the file: with attributes, given and left out, that call others, with a graph inside
    a node, outputs that nobody reads, an input that is left out, and one that is an output too. The
    twin has their nodes instead: onnx.reference wants all attributes of a function."""
    n = Net("functions", 17, ["N", 4, 5, 5])
    node, opsets = helper.make_node, [helper.make_opsetid("", 17), helper.make_opsetid(LOCAL, 1)]
    weights = n.weight(4, 4, 3, 3), n.weight(4, scale=0.3), n.weight(4, 4, 1, 1, scale=0.3)
    if not twin:
        def block(x, *weights, pads=(0, 0, 0, 0)):
            a = n.op("Conv", x, *weights, pads=list(pads))
            leaky = n.op("LeakyRelu", n.op("LeakyRelu", a, alpha=0.1), alpha=0.25)
            before = n.op("Neg", n.op("LeakyRelu", a, alpha=0.1))
            return n.op("Mul", n.op("Add", n.op("Elu", a), leaky), before), a
        y, a = block("x", weights[0], weights[1], pads=[1] * 4)
        z, b = block(y, weights[2])
        n.output(n.op("Concat", z, b, a, "x", axis=1), "y")
        return n

    def refer(made, name, of, kind):
        made.attribute.append(onnx.AttributeProto(name=name, ref_attr_name=of, type=kind))
        return made
    leaky = [refer(node("LeakyRelu", ["x"], ["y"]), "alpha", "slope", onnx.AttributeProto.FLOAT),
             node("Neg", ["x"], ["minus"])]
    n.functions.append(helper.make_function(LOCAL, "Leaky", ["x"], ["y", "minus"], leaky, opsets, [],
                                            [helper.make_attribute("slope", 0.25)]))
    value = helper.make_tensor_value_info
    then = helper.make_graph([node("Elu", ["a"], ["then"], name="elu")], "then", [],
                             [value("then", TensorProto.FLOAT, None)])
    other = helper.make_graph([node("Tanh", ["a"], ["other"])], "other", [],
                              [value("other", TensorProto.FLOAT, None)])
    body = [refer(node("Conv", ["x", "w", "b"], ["a"], name="conv"), "pads", "pads", onnx.AttributeProto.INTS),
            node("Leaky", ["a"], ["l", ""], domain=LOCAL, slope=0.1),
            node("Leaky", ["l"], ["m", "n"], domain=LOCAL),
            node("Constant", [], ["yes"], value=numpy_helper.from_array(np.array(True))),
            node("If", ["yes"], ["c"], then_branch=then, else_branch=other),
            node("Add", ["c", "m"], ["s"]), node("Mul", ["s", "n"], ["y"])]
    n.functions.append(helper.make_function(LOCAL, "Block", ["x", "w", "b"], ["y", "a", "x"], body, opsets,
                                            ["pads"]))
    y, a, same = n.op("Block", "x", *weights[:2], outputs=3, domain=LOCAL, pads=[1] * 4, name="first")
    z, b = n.op("Block", y, weights[2], outputs=2, domain=LOCAL, name="second")
    n.output(n.op("Concat", z, b, a, same, axis=1), "y")
    n.save(twin=twin)
    return n


def many():
    """Constants of more than 2^21 elements, of floats and of whole numbers, computed value by value."""
    n = Net("many", 17, ["N", 16, 7])
    floats = n.op("Mul", n.weight(16, 1, 1), n.op("Add", n.weight(1, 400, 1), n.weight(400)))
    y = n.op("Sum", floats, n.op("Sigmoid", floats), n.op("Neg", floats))
    whole = n.op("Add", n.constant(n.random.randint(-99, 99, (16, 1, 1)).astype(np.int8)),
                 n.constant(n.random.randint(-99, 99, (400, 1)).astype(np.int8)))  # wraps
    whole = n.op("Sub", n.op("Cast", n.op("Add", whole, n.constant(np.zeros((1, 1, 400), np.int8))),
                             to=TensorProto.INT32), n.constant(np.int32(3)))
    y = n.op("Mul", y, n.op("Mul", n.op("Cast", whole, to=TensorProto.FLOAT), n.scalar(0.01)))
    for row in 2, 399:
        part = n.op("Slice", y, n.ints(row, 0), n.ints(row + 1, 400), n.ints(1, 2), n.ints(1, 61))
        out = n.op("Add", "x", n.op("Squeeze", part, n.ints(1)))
        n.output(out, "row%d" % row)
    n.save()


def shrunk():
    """Resize with kernels that are wider where it makes images smaller, of data and of constants."""
    n = Net("shrunk", 18, ["N", 2, 11, 9])
    image = n.weight(1, 2, 11, 9, scale=1)
    ways = [("linear", "half_pixel", 0, (0.5, 0.4)), ("cubic", "half_pixel", 0, (0.37, 0.6)),
            ("linear", "align_corners", 1, (0.6, 1.5)), ("cubic", "asymmetric", 1, (2.0, 0.3)),
            ("linear", "pytorch_half_pixel", 0, (0.28, 0.34))]
    parts = []
    for mode, coordinates, outside, (tall, wide) in ways:
        y = (n.op("Resize", value, "", n.floats(1, 1, tall, wide), mode=mode, antialias=1,
                  coordinate_transformation_mode=coordinates, exclude_outside=outside)
             for value in ("x", image))
        parts.append(n.op("Flatten", n.op("Add", *y)))
    y = n.op("Resize", "x", "", "", n.ints(4, 3), axes=[2, 3], mode="cubic", antialias=1, cubic_coeff_a=-0.5)
    n.output(n.op("Concat", *parts, n.op("Flatten", y), axis=1), "y")
    n.save()


def cells():
    """Recurrent operators with peepholes and with other functions than the usual ones, some of which have
    numbers of their own; onnx.reference knows only the usual ones."""
    n = Net("cells", 17, ["N", 5, 4])
    of = {"HardSigmoid": lambda x, a, b: np.clip(a * x + b, 0, 1), "Tanh": lambda x, a, b: np.tanh(x),
          "Sigmoid": lambda x, a, b: 1 / (1 + np.exp(-x)), "Relu": lambda x, a, b: np.maximum(x, 0),
          "Elu": lambda x, a, b: np.where(x < 0, a * np.expm1(x), x), "Affine": lambda x, a, b: a * x + b,
          "Softsign": lambda x, a, b: x / (1 + np.abs(x)), "Softplus": lambda x, a, b: np.log1p(np.exp(x)),
          "ScaledTanh": lambda x, a, b: a * np.tanh(b * x), "LeakyRelu": lambda x, a, b: np.where(x < 0, a * x, x)}
    lists = [("LSTM", 1, True, ["HardSigmoid", "Tanh", "Tanh"], {}, [(0.2, 0.5), (), ()]),
             ("LSTM", 2, True, ["Sigmoid", "Softsign", "Elu"] * 2, dict(activation_alpha=[0.7, 0.7]),
              [(), (), (0.7, 0)]),
             ("LSTM", 1, False, ["ScaledTanh", "HardSigmoid", "LeakyRelu"],
              dict(activation_alpha=[0.8, 0.25, 0.125], activation_beta=[1.5, 0.4]),
              [(0.8, 1.5), (0.25, 0.4), (0.125, 0)]),
             ("GRU", 2, False, ["HardSigmoid", "relu"] * 2, {}, [(0.2, 0.5), ()]),
             ("GRU", 1, False, ["Sigmoid", "Affine"], dict(linear_before_reset=1, activation_alpha=[0.5],
                                                           activation_beta=[0.1]), [(), (0.5, 0.1)]),
             ("RNN", 1, False, ["Softplus"], {}, [()])]
    made, turned = [], n.op("Transpose", "x", perm=[1, 0, 2])
    for kind, directions, peepholes, names, more, _ in lists:
        rows = {"LSTM": 12, "GRU": 9, "RNN": 3}[kind]
        parts = [n.weight(directions, rows, 4, scale=0.6), n.weight(directions, rows, 3, scale=0.5),
                 n.weight(directions, 2 * rows, scale=0.3)]
        if peepholes:
            parts += ["", "", "", n.weight(directions, 9, scale=0.7)]
        y = n.op(kind, turned, *parts, hidden_size=3, activations=names,
                 direction="bidirectional" if directions == 2 else "forward", **more)
        made.append(n.op("Reshape", n.op("Transpose", y, perm=[2, 0, 1, 3]), n.ints(0, 5, -1)))
    n.output(n.op("Concat", *made, axis=2), "y")

    def run(kind, x, w, r, b, p, f, before_reset):
        h, c, out = np.zeros((len(x[0]), 3)), np.zeros((len(x[0]), 3)), []
        wb, rb = np.split(b, 2)
        for t in x:
            u, v = t @ w.T + wb, h @ r.T + rb
            if kind == "LSTM":
                (i, o, g, z), (pi, po, pf) = np.split(u + v, 4, -1), np.split(p, 3)
                i, g = f[0](i + pi * c), f[0](g + pf * c)
                c = g * c + i * f[1](z)
                h = f[0](o + po * c) * f[2](c)
            elif kind == "GRU":
                (uz, ur, un), (vz, vr, vn) = np.split(u, 3, -1), np.split(v, 3, -1)
                z, reset = f[0](uz + vz), f[0](ur + vr)
                new = f[1](un + (reset * vn if before_reset else (reset * h) @ r[6:].T + rb[6:]))
                h = (1 - z) * new + z * h
            else:
                h = f[0](u + v)
            out.append(h)
        return np.stack(out)

    def results(x):
        constants, all_of = iter([numpy_helper.to_array(w).astype(np.float64) for w in n.weights
                                  if w.data_type == TensorProto.FLOAT]), []
        for kind, directions, peepholes, names, more, numbers in lists:
            w, r, b = (next(constants) for _ in range(3))
            p = next(constants) if peepholes else np.zeros((directions, 9))
            f = [lambda v, g=of[name.title() if name == "relu" else name], k=(k + (0, 0))[:2]: g(v, *k)
                 for name, k in zip(names, numbers)]
            for d in range(directions):
                sequence = x.transpose(1, 0, 2)
                y = run(kind, sequence[::-1] if d else sequence, w[d], r[d], b[d], p[d], f, "linear_before_reset" in more)
                all_of.append((y[::-1] if d else y).transpose(1, 0, 2))
        return [np.concatenate(all_of, axis=2)]
    n.save(results=results)


def several():
    """Four inputs, of floats, bools, indices and one number, with names that a shell takes apart."""
    value = helper.make_tensor_value_info
    nodes = [helper.make_node("Add", ["a'b=c", "t"], ["s"]),
             helper.make_node("Cast", ["m"], ["f"], to=TensorProto.FLOAT),
             helper.make_node("Mul", ["s", "f"], ["y=1"]),
             helper.make_node("Gather", ["table", "$ids;"], ["z"])]
    table = numpy_helper.from_array(np.arange(15, dtype=np.float32).reshape(5, 3), "table")
    inputs = [value("a'b=c", TensorProto.FLOAT, ["N", 4]), value("m", TensorProto.BOOL, ["N", 4]),
              value("$ids;", TensorProto.INT64, ["N", 2]), value("t", TensorProto.FLOAT, [])]
    outputs = [value("y=1", TensorProto.FLOAT, ["N", 4]), value("z", TensorProto.FLOAT, ["N", 2, 3])]
    graph = helper.make_graph(nodes, "several", inputs, outputs, [table])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                              producer_name="make.py")
    model.ir_version = 8
    onnx.save_model(model, os.path.join(FOLDER, "several.onnx"))


def detector():
    """The end of a detector whose number of boxes depends on data, which vbslab does not read: what is
    before it can be run."""
    value = helper.make_tensor_value_info
    n = Net("detector", 17, ["N", 20, 6])
    node = lambda kind, inputs, output, **attributes: n.nodes.append(
        helper.make_node(kind, inputs, [output], name=kind.lower() + "/" + output, **attributes))
    node("MatMul", ["x", n.weight(6, 4, name="w")], "boxes")
    node("Sigmoid", ["x"], "scores")
    node("ReduceMax", ["scores"], "best", axes=[2], keepdims=0)
    node("Transpose", ["scores"], "by,class", perm=[0, 2, 1])
    node("NonMaxSuppression", ["boxes", "by,class", n.constant(np.array(9)), n.scalar(0.5), n.scalar(0.1)], "kept")
    node("Slice", ["kept", n.ints(2), n.ints(3), n.ints(1)], "at")
    node("GatherND", ["boxes", "at"], "chosen", batch_dims=0)
    node("Sqrt", ["best"], "root")
    outputs = [value(name, TensorProto.FLOAT, None) for name in ("chosen", "root")]
    graph = helper.make_graph(n.nodes, "detector", [value("x", TensorProto.FLOAT, ["N", 20, 6])], outputs,
                              n.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="make.py")
    model.ir_version = 8
    onnx.save_model(model, os.path.join(FOLDER, "detector.onnx"))


if __name__ == "__main__":
    several()
    detector()
    torch_flatten(11, torch_flatten(14))  # onnx.reference trains in version 11
    for make in (torch_gates, keras_nhwc, segment, outputs, one_channel, whole, normals,
                 folded, external, recurrent, sequence, windows, single, heads, copies,
                 quantised, integers, control, truth, bounds, index, picked, largest, products, folds,
                 images, dynamic, blocks, contrib,
                 contrib_weights, contrib_lstm, fused, nhwc, scaler, edges, scales, norms, whole_numbers,
                 wraps, counted, reversed_, whole_reversed, chosen, chosen_one,
                 chosen_four, whole_chosen, shared_choice, computed_one,
                 computed_four, computed_whole, shared_kernel, empty, masks, infinite, many, shrunk, cells):
        make()
    later(later())  # onnx.reference does not know GlobalLpPool
    sparse(sparse())
    functions(functions())
    lines(11, lines(13))
    sampled(16, sampled(20))  # onnx.reference knows only the words of version 20
    deformed(22, deformed(19))
    transformed(20, transformed(17))
    framed()
    noise()
    known = opset(9)
    opset(7, known)  # onnx.reference knows neither its Upsample
    opset(10, known)  # nor its Resize
    for version in (11, 13, 18, 21, 22, 23, 24):
        opset(version)
    known = old(9)
    for version in (1, 2, 4, 5, 6):  # onnx.reference knows few operators of these
        old(version, known)
