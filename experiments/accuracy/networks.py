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
        """Of the network as it is run, where normalisations are folded into convolutions."""
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


def convolution(inputs, outputs, kernel, stride, normalised):
    """A convolution that keeps the size but for its stride, and what is behind it: normalised, or with a bias."""
    layer = torch.nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=not normalised)
    return layer, torch.nn.BatchNorm2d(outputs) if normalised else torch.nn.Identity()


class Block(torch.nn.Module):
    """Two convolutions of 3 x 3 and a shortcut, which is a convolution of 1 x 1 where the shape changes."""

    def __init__(self, inputs, outputs, stride, normalised):
        super().__init__()
        self.conv1, self.norm1 = convolution(inputs, outputs, 3, stride, normalised)
        self.conv2, self.norm2 = convolution(outputs, outputs, 3, 1, normalised)
        self.short = None
        if stride != 1:
            self.short, self.norm3 = convolution(inputs, outputs, 1, stride, normalised)

    def forward(self, x):
        y = self.norm2(self.conv2(functional.relu(self.norm1(self.conv1(x)))))
        return functional.relu(y + (x if self.short is None else self.norm3(self.short(x))))


class ResNet8(Network):
    """A residual network of eight layers: 5 x 5 with stride 2, blocks of 16, 32 and 64 channels; 77,674 parameters."""

    matrices = ("stem", "block1.conv1", "block1.conv2", "block2.conv1", "block2.conv2", "block2.short",
                "block3.conv1", "block3.conv2", "block3.short", "head")

    def __init__(self, normalised=True):
        super().__init__()
        self.stem, self.norm = convolution(1, 16, 5, 2, normalised)
        self.block1 = Block(16, 16, 1, normalised)
        self.block2 = Block(16, 32, 2, normalised)
        self.block3 = Block(32, 64, 2, normalised)
        self.head = torch.nn.Linear(64, 10)

    def tail(self, x):
        x = functional.relu(self.norm(self.stem(x)))
        return self.head(self.block3(self.block2(self.block1(x))).mean((2, 3)))

    def norms(self):
        """The normalisation behind each convolution, in the order of the matrices."""
        yield self.norm
        for block in (self.block1, self.block2, self.block3):
            yield from (block.norm1, block.norm2)
            if block.short is not None:
                yield block.norm3


def folded(network):
    """The network that computes the same with normalisations folded into the convolutions before them."""
    if not isinstance(network, ResNet8) or isinstance(network.norm, torch.nn.Identity):
        return network
    plain = ResNet8(normalised=False).to(memory_format=torch.channels_last)
    for layer, norm, bare in zip(network.layers(), network.norms(), plain.layers()):
        factor = norm.weight / torch.sqrt(norm.running_var + norm.eps)
        bare.weight.data = (layer.weight * factor[:, None, None, None]).detach()
        bare.bias.data = (norm.bias - norm.running_mean * factor).detach()
    plain.head.load_state_dict(network.head.state_dict())
    return plain.eval()
