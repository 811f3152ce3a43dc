"""An ONNX network as a PyTorch module, for the operators that image networks have.

Normalisation is folded into the convolution before it, as every peer does. What PyTorch has no
argument for (unequal paddings) is padded by hand, at its price.
"""
import onnx
import torch
import torch.nn.functional as F
from onnx import helper, numpy_helper


def attributes(node):
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def window(given, default_pads):
    """Kernel, strides and (low, high) paddings per dimension."""
    kernel = list(given["kernel_shape"])
    pads = list(given.get("pads", default_pads))
    return kernel, list(given.get("strides", [1, 1])), pads[:2], pads[2:]


class Padded(torch.nn.Module):
    """Pads by hand, then applies."""

    def __init__(self, low, high, value, then):
        super().__init__()
        self.pads = [low[1], high[1], low[0], high[0]]
        self.value = value
        self.then = then

    def forward(self, x):
        return self.then(F.pad(x, self.pads, value=self.value))


class MeanOfInside(torch.nn.Module):
    """A mean over windows that reach beyond the input, divided by what is inside."""

    def __init__(self, kernel, stride, low, high):
        super().__init__()
        self.kernel, self.stride = kernel, stride
        self.pads = [low[1], high[1], low[0], high[0]]

    def forward(self, x):
        ones = F.pad(torch.ones_like(x[:1, :1]), self.pads)
        shares = F.avg_pool2d(ones, self.kernel, self.stride)
        return F.avg_pool2d(F.pad(x, self.pads), self.kernel, self.stride) / shares


class Flatten(torch.nn.Module):
    def forward(self, x):
        return x.reshape(x.shape[0], -1)


class Concat(torch.nn.Module):
    def forward(self, *xs):
        return torch.cat(xs, 1)


class Add(torch.nn.Module):
    def forward(self, a, b):
        return a + b


class SoftmaxFlat(torch.nn.Module):
    """Before opset 13: over all dimensions from the first on."""

    def forward(self, x):
        return torch.softmax(x.reshape(x.shape[0], -1), 1).reshape(x.shape)


def convolution(given, constants, inputs):
    weight = constants[inputs[1]]
    kernel, stride, low, high = window({"kernel_shape": weight.shape[2:], **given}, [0] * 4)
    group = given.get("group", 1)
    made = torch.nn.Conv2d(weight.shape[1] * group, weight.shape[0], kernel, stride,
                           low if low == high else 0, groups=group, bias=True)
    made.weight.data = torch.from_numpy(weight.copy())
    made.bias.data = torch.zeros(weight.shape[0])
    if len(inputs) > 2:
        made.bias.data = torch.from_numpy(constants[inputs[2]].copy())
    return made if low == high else Padded(low, high, 0.0, made)


def dense(given, constants, inputs):
    if given.get("transB", 0) != 1 or given.get("transA", 0) != 0:
        raise ValueError("a Gemm other than x * w^T + b")
    weight = constants[inputs[1]]
    made = torch.nn.Linear(weight.shape[1], weight.shape[0])
    made.weight.data = torch.from_numpy(weight.copy())
    made.bias.data = torch.from_numpy(constants[inputs[2]].copy())
    return made


def largest(given, _constants, _inputs):
    kernel, stride, low, high = window(given, [0] * 4)
    if low == high:
        return torch.nn.MaxPool2d(kernel, stride, low)
    return Padded(low, high, float("-inf"), torch.nn.MaxPool2d(kernel, stride))


def mean(given, _constants, _inputs):
    kernel, stride, low, high = window(given, [0] * 4)
    if low == high:
        include = bool(given.get("count_include_pad", 0))
        return torch.nn.AvgPool2d(kernel, stride, low, count_include_pad=include)
    return MeanOfInside(kernel, stride, low, high)


def normalisation_across(given, _constants, _inputs):
    return torch.nn.LocalResponseNorm(given["size"], given.get("alpha", 1e-4),
                                      given.get("beta", 0.75), given.get("bias", 1.0))


MAKERS = {
    "Conv": convolution,
    "Gemm": dense,
    "MaxPool": largest,
    "AveragePool": mean,
    "LRN": normalisation_across,
    "GlobalAveragePool": lambda *_: torch.nn.AdaptiveAvgPool2d(1),
    "Relu": lambda *_: torch.nn.ReLU(inplace=True),
    "Reshape": lambda *_: Flatten(),
    "Concat": lambda *_: Concat(),
    "Sum": lambda *_: Add(),
    "Add": lambda *_: Add(),
    "Softmax": lambda *_: SoftmaxFlat(),
}


class Network(torch.nn.Module):
    """Steps in the order of the file; a tensor is let go when its last reader has run."""

    def __init__(self, path):
        super().__init__()
        graph = onnx.load(path).graph
        constants = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
        self.input = next(v.name for v in graph.input if v.name not in constants)
        self.output = graph.output[0].name
        self.made = torch.nn.ModuleList()
        self.steps = []
        self.producer = {}
        same = {}
        for node in graph.node:
            inputs = [same.get(name, name) for name in node.input]
            if node.op_type == "Dropout":
                same[node.output[0]] = inputs[0]
            elif node.op_type == "BatchNormalization":
                self._fold(node, constants, inputs)
                same[node.output[0]] = inputs[0]
            else:
                self._append(node, constants, inputs)
        last = {name: i for i, (_, names, _) in enumerate(self.steps) for name in names}
        self.done = [[n for n in names if last[n] == i]
                     for i, (_, names, _) in enumerate(self.steps)]

    def _append(self, node, constants, inputs):
        if node.op_type not in MAKERS:
            raise ValueError(f"no operator {node.op_type}")
        made = MAKERS[node.op_type](attributes(node), constants, inputs)
        self.producer[node.output[0]] = made
        self.made.append(made)
        read = [name for name in inputs if name not in constants]
        self.steps.append((len(self.made) - 1, read, node.output[0]))

    def _fold(self, node, constants, inputs):
        conv = self.producer[inputs[0]]
        conv = conv.then if isinstance(conv, Padded) else conv
        if not isinstance(conv, torch.nn.Conv2d):
            raise ValueError("a BatchNormalization that follows no Conv")
        scale, bias, average, variance = (torch.from_numpy(constants[n].copy())
                                          for n in inputs[1:5])
        factor = scale / torch.sqrt(variance + attributes(node).get("epsilon", 1e-5))
        conv.weight.data *= factor.reshape(-1, 1, 1, 1)
        conv.bias.data = (conv.bias.data - average) * factor + bias

    def forward(self, x):
        held = {self.input: x}
        for (index, names, output), done in zip(self.steps, self.done):
            result = self.made[index](*[held[name] for name in names])
            for name in done:
                del held[name]
            held[output] = result
        return held[self.output]
