"""The networks. Their matrices are named, so that each can be pruned and coded by itself."""

import torch
from torch.nn import functional


class Network(torch.nn.Module):
    """`matrices` names the weights that are pruned and coded, in the order of the layers.

    A network is a body and a tail. The tail has most weights and little work: where the body is
    finished, the tail is trained from outputs of the body that are kept.
    """

    matrices = ()
    tail_from = 0  # the matrices from here on are those of the tail

    def forward(self, x):
        return self.tail(self.body(x))

    def body(self, x):
        return x

    def n_parameters(self):
        return sum(layer.weight.shape[0] + layer.weight.numel() for layer in self.layers())

    def layers(self):
        return [self.get_submodule(name) for name in self.matrices]


class LeNet300(Network):
    """LeNet-300-100: three fully connected layers, 266,610 parameters."""

    matrices = ("fc1", "fc2", "fc3")

    def __init__(self):
        super().__init__()
        self.fc1 = torch.nn.Linear(784, 300)
        self.fc2 = torch.nn.Linear(300, 100)
        self.fc3 = torch.nn.Linear(100, 10)

    def tail(self, x):
        x = functional.relu(self.fc1(x.flatten(1)))
        return self.fc3(functional.relu(self.fc2(x)))


class LeNet5(Network):
    """Caffe's LeNet-5: the one nonlinearity beside the pools is behind fc1; 431,080 parameters."""

    matrices = ("conv1", "conv2", "fc1", "fc2")
    tail_from = 2

    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(1, 20, 5)
        self.conv2 = torch.nn.Conv2d(20, 50, 5)
        self.fc1 = torch.nn.Linear(800, 500)
        self.fc2 = torch.nn.Linear(500, 10)

    def body(self, x):
        x = functional.max_pool2d(self.conv1(x), 2)
        return functional.max_pool2d(self.conv2(x), 2).flatten(1)

    def tail(self, x):
        return self.fc2(functional.relu(self.fc1(x)))
