#!/usr/bin/env python3
"""PyTorch trains on the CPU what `steps` has trained.

    peer.py FOLDER/MODEL.onnx --rate R    # a line for each batch of FOLDER/images, as steps prints it

The network is built by its name; its parameters are those of the file. Options are those of vbslab: SGD with
momentum 0.9, weight decay 0.0005 of weights alone, batches of 128. Images are normalised already, and a
batch is gathered from them within its step.
"""

import argparse
import os
import time

import numpy
import onnx
import torch
from onnx import numpy_helper
from torch import nn
from torch.nn import functional

BATCH = 128


class LeNet300(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(784, 300), nn.Linear(300, 100), nn.Linear(100, 10)
        self.named = {"fc1": self.fc1, "fc2": self.fc2, "fc3": self.fc3}

    def forward(self, x):
        return self.fc3(functional.relu(self.fc2(functional.relu(self.fc1(x.flatten(1))))))


class LeNet5(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 20, 5), nn.Conv2d(20, 50, 5)
        self.ip1, self.ip2 = nn.Linear(800, 500), nn.Linear(500, 10)
        self.named = {"conv1": self.conv1, "conv2": self.conv2, "ip1": self.ip1, "ip2": self.ip2}

    def forward(self, x):
        x = functional.max_pool2d(self.conv1(x), 2)
        x = functional.max_pool2d(self.conv2(x), 2)
        return self.ip2(functional.relu(self.ip1(x.flatten(1))))


class Block(nn.Module):
    """Two convolutions beside a shortcut, which is a convolution where the width changes."""

    def __init__(self, stage, block, inputs, outputs):
        super().__init__()
        name = f"stage{stage}/block{block}/"
        stride = 1 if inputs == outputs else 2
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)
        self.named = {name + part: getattr(self, part) for part in ("conv1", "bn1", "conv2", "bn2")}
        self.shortcut = None
        if inputs != outputs:
            self.shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.shortcut_bn = nn.BatchNorm2d(outputs)
            self.named.update({name + part: getattr(self, part) for part in ("shortcut", "shortcut_bn")})

    def forward(self, x):
        y = functional.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return functional.relu(y + (self.shortcut_bn(self.shortcut(x)) if self.shortcut else x))


class ResNet(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.conv1, self.bn = nn.Conv2d(1, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16)
        blocks, inputs = [], 16
        for stage, outputs in enumerate((16, 32, 64), 1):
            for block in range(1, n + 1):
                blocks.append(Block(stage, block, inputs, outputs))
                inputs = outputs
        self.blocks, self.fc = nn.Sequential(*blocks), nn.Linear(64, 10)
        self.named = {"conv1": self.conv1, "conv1/bn": self.bn, "fc": self.fc}
        for block in blocks:
            self.named.update(block.named)

    def forward(self, x):
        x = self.blocks(functional.relu(self.bn(self.conv1(x))))
        return self.fc(x.mean((2, 3)))


NETWORKS = {
    "lenet-300-100": LeNet300,
    "lenet-5": LeNet5,
    "resnet-8": lambda: ResNet(1),
    "resnet-20": lambda: ResNet(3),
}
PARAMETERS = {
    "weights": "weight",
    "bias": "bias",
    "gamma": "weight",
    "beta": "bias",
    "mean": "running_mean",
    "variance": "running_var",
}


def load(path):
    """The network of a file NAME.onnx with the parameters that the file has."""
    network = NETWORKS[os.path.basename(path).removesuffix(".onnx")]()
    wanted = {f"{name}.{what}" for name, module in network.named.items() for what, own in PARAMETERS.items()
              if getattr(module, own, None) is not None and (what in ("weights", "bias")) == (not hasattr(module, "running_mean"))}
    seen = set()
    for tensor in onnx.load(path).graph.initializer:
        name, _, what = tensor.name.rpartition(".")
        if tensor.name in wanted:
            target = getattr(network.named[name], PARAMETERS[what])
            values = torch.from_numpy(numpy_helper.to_array(tensor).copy())
            with torch.no_grad():
                target.copy_(values.reshape(target.shape))
            seen.add(tensor.name)
    if seen != wanted:
        raise SystemExit(f"{path} lacks {sorted(wanted - seen)}")
    return network


def optimiser_of(network, rate):
    """Weight decay concerns the weights of convolutions and inner products alone."""
    weights = [m.weight for m in network.modules() if isinstance(m, (nn.Conv2d, nn.Linear))]
    others = [p for p in network.parameters() if all(p is not w for w in weights)]
    groups = [dict(params=weights, weight_decay=0.0005), dict(params=others, weight_decay=0.0)]
    return torch.optim.SGD(groups, rate, momentum=0.9, fused=True)


def step(network, optimiser, images, labels):
    loss = functional.cross_entropy(network(images), labels)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    return loss.detach()


def steps(options):
    folder = os.path.dirname(options.network)
    network = load(options.network).train().to(torch.float64 if options.double else torch.float32)
    if options.channels_last:
        network = network.to(memory_format=torch.channels_last)
    optimiser = optimiser_of(network, options.rate)
    images = torch.from_numpy(numpy.fromfile(os.path.join(folder, "images"), numpy.float32)).reshape(-1, 1, 28, 28)
    labels = torch.from_numpy(numpy.fromfile(os.path.join(folder, "labels"), numpy.int32)).long()
    images = images.double() if options.double else images
    order = torch.arange(len(images))
    for i in range(len(images) // BATCH):
        clock, cpu = time.perf_counter(), time.process_time()
        pick = order[i * BATCH:(i + 1) * BATCH]
        loss = step(network, optimiser, images[pick], labels[pick]).item()
        clock, cpu = time.perf_counter() - clock, time.process_time() - cpu
        print(f"{i + 1},{loss:.9g}," + (f"{1e3 * clock:.3f},{1e3 * cpu:.3f}" if i > 0 else ","), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", nargs="?")
    parser.add_argument("--version", action="store_true")
    parser.add_argument("--rate", type=float, default=0.02)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--double", action="store_true", help="in 64-bit floats")
    parser.add_argument("--channels-last", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.version:
        print(torch.__version__)
    else:
        steps(options)


if __name__ == "__main__":
    main()
