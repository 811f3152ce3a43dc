"""ONNX Runtime's side: the inputs of a file, its outputs for them, and how far others are off."""
import csv
import pathlib

import numpy as np
import onnx
import onnxruntime

QUANTISED = {"DequantizeLinear", "QuantizeLinear", "DynamicQuantizeLinear", "QLinearConv",
             "QLinearMatMul", "ConvInteger", "MatMulInteger", "MatMulNBits", "DynamicQuantizeLSTM",
             "DynamicQuantizeMatMul", "MatMulIntegerToFloat", "QGemm", "QLinearAdd"}
SCALES = {"EfficientNetB0": 255}  # networks that scale their images down themselves
TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16,
         "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": np.bool_,
         "tensor(uint8)": np.uint8, "tensor(int8)": np.int8}


class Unusable(Exception):
    """ONNX Runtime gives no reference; why."""


def normal(rng, shape):
    return rng.standard_normal(shape)


def uniform(rng, shape):
    return rng.random(shape)


def strokes(rng, shape):
    """Lines of short strokes on white paper, which networks that look for text find."""
    image = np.ones(shape)
    height, width = shape[-2:]
    for _ in range(height * width // 300):
        y, x = rng.integers(height // 28) * 28 + 2, rng.integers(width - 8)
        if rng.random() < 0.5:
            image[..., y:y + 9, x:x + 2] = -1
        else:
            y += rng.integers(8)
            image[..., y:y + 2, x:x + 7] = -1
    return image


class Given:
    """One input: its name, the shape of one request, its type, and which values it gets."""

    def __init__(self, value, shape, how, vocabulary):
        self.name, self.type = value.name, TYPES[value.type]
        free = [not isinstance(size, int) or size < 1 for size in value.shape]
        # The samples: dimension 0 where it is open or 1, else the first open one.
        self.batch = 0 if not free or free[0] or value.shape[0] == 1 or True not in free \
            else free.index(True)
        self.open = any(is_free and (i != self.batch or shape[i] > 1)
                        for i, is_free in enumerate(free))
        self.shape = tuple(shape)
        self.constant = float(how[1:]) if how.startswith("=") else None
        self.factor = float(how[1:]) if how.startswith("*") else 1
        self.draw = {"uniform": uniform, "strokes": strokes}.get(how, normal)
        self.range = tuple(int(n) for n in how.split("..")) if ".." in how else (0, vocabulary)

    def request(self, rng):
        if self.constant is not None:
            return np.full(self.shape, self.constant, self.type)
        if np.issubdtype(self.type, np.floating):
            return (self.draw(rng, self.shape) * self.factor).astype(self.type)
        return rng.integers(*self.range, self.shape).astype(self.type)


def listed():
    """What inputs.csv says: (file, input) -> (shape or None, values)."""
    path = pathlib.Path(__file__).parent / "inputs.csv"
    with open(path, newline="") as file:
        rows = csv.DictReader(line for line in file if line[0] != "#")
        return {(row["file"], row["input"]):
                ([int(size) for size in row["shape"].split("x")] if row["shape"] else None,
                 row["values"]) for row in rows}


def vocabularies(model):
    """The rows of the smallest table that each input is an index of, itself or after casts."""
    sizes = {tensor.name: tensor.dims for tensor in model.graph.initializer}
    found, alias = {}, {value.name: value.name for value in model.graph.input}
    for node in model.graph.node:
        if node.op_type in ("Cast", "Identity") and node.input[0] in alias:
            alias[node.output[0]] = alias[node.input[0]]
        if node.op_type == "Gather" and node.input[1] in alias and node.input[0] in sizes:
            name, rows = alias[node.input[1]], sizes[node.input[0]][0]
            found[name] = min(found.get(name, rows), rows)
    return found


class Reference:
    """A file, as ONNX Runtime has it."""

    def __init__(self, path, key, network):
        self.model = onnx.load(path, load_external_data=False)
        self.opset = next(o.version for o in self.model.opset_import
                          if o.domain in ("", "ai.onnx"))
        self.producer = self.model.producer_name
        self.quantised = any(node.op_type in QUANTISED for node in self.model.graph.node)
        self.half = any(t.data_type == onnx.TensorProto.FLOAT16
                        for t in self.model.graph.initializer)
        try:
            self.session = session_of(str(path), True)
            self.plain = session_of(unrounded(self.model) or str(path), False)
        except Exception as why:  # onnxruntime's exceptions have no common class of their own
            raise Unusable(one_line(why)) from why
        read = {name for node in self.model.graph.node for name in node.input}
        read |= {value.name for value in self.model.graph.output}
        subgraphs = any(attribute.HasField("g") or attribute.graphs
                        for node in self.model.graph.node for attribute in node.attribute)
        says, words = listed(), vocabularies(self.model)
        batch = self.session.get_inputs()[0].shape[:1]
        self.given, self.unread = [], {}
        for value in self.session.get_inputs():
            shape, how = says.get((key, value.name), (None, ""))
            if shape is None:
                shape = self.sizes(value, batch)
            if value.name not in read and not subgraphs:  # tf2onnx leaves inputs behind
                self.unread[value.name] = np.zeros(shape, TYPES[value.type])
                continue
            one = Given(value, shape, how, words.get(value.name, 2))
            one.factor *= SCALES.get(network, 1)
            self.given.append(one)
        self.outputs = [value.name for value in self.session.get_outputs()]

    @staticmethod
    def sizes(value, batch):
        sizes = []
        for i, size in enumerate(value.shape):
            if isinstance(size, int) and size > 0:
                sizes.append(size)
            elif i == 0 or size in batch:
                sizes.append(1)
            else:
                raise Unusable(f"inputs.csv has no size for dimension {i} of '{value.name}'")
        return sizes

    @property
    def batch(self):
        """1, another number, or open."""
        shape = self.session.get_inputs()[0].shape
        return shape[0] if shape and isinstance(shape[0], int) and shape[0] > 0 else "open"

    def run(self, requests, optimised=True):
        """The outputs of all requests: a list of arrays [requests, ...]."""
        session = self.session if optimised else self.plain
        try:
            found = [session.run(None, {**request, **self.unread}) for request in requests]
        except Exception as why:
            raise Unusable(one_line(why)) from why
        return [np.stack(outputs).astype(np.float64) for outputs in zip(*found)]

    def steps(self):
        """For each output the scale of the grid that it lies on, or None."""
        constants = {t.name: t for t in self.model.graph.initializer}
        makers = {name: node for node in self.model.graph.node for name in node.output}
        found = []
        for name in self.outputs:
            node = makers.get(name)
            while node is not None and node.op_type in ("Reshape", "Flatten", "Transpose",
                                                        "Squeeze", "Unsqueeze", "Identity"):
                node = makers.get(node.input[0])
            scale = None
            if node is not None and node.op_type == "DequantizeLinear":
                scale = constants.get(node.input[1])
            found.append(None if scale is None
                         else float(np.max(onnx.numpy_helper.to_array(scale))))
        return found


def unrounded(model):
    """The file with LSTM of the same weights in the place of DynamicQuantizeLSTM, whose states ONNX
    Runtime rounds to 8 bits; None where it has none."""
    if not any(node.op_type == "DynamicQuantizeLSTM" for node in model.graph.node):
        return None
    twin = onnx.ModelProto()
    twin.CopyFrom(model)
    values = {t.name: onnx.numpy_helper.to_array(t) for t in twin.graph.initializer}
    for node in twin.graph.node:
        if node.op_type != "DynamicQuantizeLSTM":
            continue
        names = list(node.input)
        for i, scale in ((1, 8), (2, 10)):
            whole, zero = values[names[i]].astype(np.float64), values[names[scale + 1]]
            columns = (len(whole), 1, -1)
            floats = ((whole - zero.astype(np.float64).reshape(columns)) *
                      values[names[scale]].astype(np.float64).reshape(columns))
            names[i] = f"{node.output[0]}_weights_{i}"
            twin.graph.initializer.append(onnx.numpy_helper.from_array(
                np.ascontiguousarray(floats.transpose(0, 2, 1)).astype(np.float32), names[i]))
        node.op_type, node.domain = "LSTM", ""
        del node.input[:]
        node.input.extend(names[:8])
    return twin.SerializeToString()


def session_of(path, optimised):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 2
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def shaken(requests, seed):
    """The same requests, but each float by up to a hundred-thousandth more or less."""
    rng = np.random.default_rng(seed)
    return [{name: value if value.dtype.kind != "f" else
             (value * (1 + 1e-5 * rng.uniform(-1, 1, value.shape))).astype(value.dtype)
             for name, value in request.items()} for request in requests]


def one_line(why):
    return " ".join(str(why).split())[:200]


class Difference:
    """How far some outputs are off others: the worst output counts."""

    def __init__(self):
        self.absolute, self.of_largest, self.apart, self.beyond = 0.0, 0.0, np.inf, 0.0


def compare(mine, theirs, steps):
    """beyond is the share of values that are off by more than a step: the grid of the output, or,
    where it is on none, the finest grid of 8 bits that holds its values. apart: how far requests
    are from each other, over the largest value."""
    found = Difference()
    for a, b, step in zip(mine, theirs, steps, strict=True):
        if not (np.isfinite(a).all() and np.isfinite(b).all()):
            raise ValueError("values that are not finite")
        largest = float(np.abs(b).max(initial=0))
        off = np.abs(a - b)
        worst = float(off.max(initial=0))
        found.absolute = max(found.absolute, worst)
        if largest > 0:
            found.of_largest = max(found.of_largest, worst / largest)
            found.apart = min(found.apart, float(np.abs(b - b[:1]).max()) / largest)
        elif worst > 0:
            found.of_largest = np.inf
        limit = (step or float(np.ptp(b)) / 255 if b.size else 0) * (1 + 1e-4)
        if off.size:
            found.beyond = max(found.beyond, float((off > limit).mean()))
    if found.apart == np.inf:
        found.apart = 0.0
    return found
