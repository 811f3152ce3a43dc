"""Writes the networks as ONNX files, operator by operator, so that nothing changes weights."""

import onnx
from onnx import TensorProto, helper, numpy_helper

import networks

OPSET = 13


class Graph:
    def __init__(self):
        self.nodes, self.weights, self.n = [], [], 0

    def node(self, operator, *inputs, name=None, **attributes):
        self.n += 1
        output = name or f"{operator.lower()}-{self.n}"
        self.nodes.append(helper.make_node(operator, list(inputs), [output], name=output, **attributes))
        return output

    def parameter(self, name, values):
        self.weights.append(numpy_helper.from_array(values.detach().contiguous().numpy(), name))
        return name

    def layer(self, name, layer, x):
        weight = self.parameter(name + ".weight", layer.weight)
        bias = self.parameter(name + ".bias", layer.bias)
        if layer.weight.dim() == 2:
            return self.node("Gemm", x, weight, bias, name=name, transB=1)
        return self.node("Conv", x, weight, bias, name=name, kernel_shape=list(layer.kernel_size),
                         strides=list(layer.stride), pads=list(layer.padding) * 2)

    def save(self, output, path):
        self.nodes[-1].output[0] = "output"
        graph = helper.make_graph(
            self.nodes, "network",
            [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["batch", 1, 28, 28])],
            [helper.make_tensor_value_info("output", TensorProto.FLOAT, ["batch", 10])], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8,
                                  producer_name="experiments/accuracy")
        onnx.checker.check_model(model)
        onnx.save(model, path)


def lenet300(graph, network):
    x = graph.node("Flatten", "input", axis=1)
    x = graph.node("Relu", graph.layer("fc1", network.fc1, x))
    x = graph.node("Relu", graph.layer("fc2", network.fc2, x))
    return graph.layer("fc3", network.fc3, x)


def lenet5(graph, network):
    pool = dict(kernel_shape=[2, 2], strides=[2, 2])
    x = graph.node("MaxPool", graph.layer("conv1", network.conv1, "input"), **pool)
    x = graph.node("MaxPool", graph.layer("conv2", network.conv2, x), **pool)
    x = graph.node("Flatten", x, axis=1)
    x = graph.node("Relu", graph.layer("fc1", network.fc1, x))
    return graph.layer("fc2", network.fc2, x)


def resnet8(graph, network):
    x = graph.node("Relu", graph.layer("stem", network.stem, "input"))
    for name in ("block1", "block2", "block3"):
        block = network.get_submodule(name)
        y = graph.node("Relu", graph.layer(name + ".conv1", block.conv1, x))
        y = graph.layer(name + ".conv2", block.conv2, y)
        if block.short is not None:
            x = graph.layer(name + ".short", block.short, x)
        x = graph.node("Relu", graph.node("Add", y, x))
    x = graph.node("Flatten", graph.node("GlobalAveragePool", x), axis=1)
    return graph.layer("head", network.head, x)


GRAPHS = {networks.LeNet300: lenet300, networks.LeNet5: lenet5, networks.ResNet8: resnet8}


def save(network, path):
    """A network without forms; its normalisations are folded."""
    network = networks.folded(network)
    graph = Graph()
    graph.save(GRAPHS[type(network)](graph, network), path)
