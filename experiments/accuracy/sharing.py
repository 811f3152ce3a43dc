"""Weights that are pruned and share the values of a codebook while they are trained."""

import torch
from torch.nn.utils import parametrize


class Share(torch.autograd.Function):
    """The value of the codebook that is nearest to each weight that is not pruned.

    The gradient of a shared value is the sum of the gradients of the weights that share it. Each
    weight gets its own gradient as if it were not rounded, which moves it to another value in time.
    """

    @staticmethod
    def forward(context, weight, codebook, positions, index):
        context.shape, context.size = weight.shape, len(codebook)
        context.save_for_backward(positions, index)
        dense = torch.zeros(weight.numel())
        dense.scatter_(0, positions, codebook.index_select(0, index))
        return dense.view(weight.shape)

    @staticmethod
    def backward(context, gradient):
        positions, index = context.saved_tensors
        kept = gradient.reshape(-1).index_select(0, positions)
        moved = torch.zeros(gradient.numel()).scatter_(0, positions, kept)
        shared = torch.bincount(index, kept.double(), context.size)
        return moved.view(context.shape), shared.float(), None, None


class Shared(torch.nn.Module):
    """The form of one matrix: dense at first, then pruned, then with a codebook."""

    def __init__(self, weight):
        super().__init__()
        self.register_buffer("mask", torch.ones_like(weight))
        self.codebook = torch.nn.Parameter(torch.empty(0))
        self.register_buffer("positions", torch.empty(0, dtype=torch.long))
        self.register_buffer("index", torch.empty(0, dtype=torch.long))
        self.fixed = False  # whether weights keep the values that they share now

    def forward(self, weight):
        if len(self.codebook) == 0:
            return weight * self.mask
        if not self.fixed:
            order = torch.argsort(self.codebook.detach())
            values = self.codebook.detach()[order]
            between = (values[1:] + values[:-1]) / 2
            kept = weight.detach().reshape(-1).index_select(0, self.positions)
            self.index = order.index_select(0, torch.bucketize(kept, between))
        return Share.apply(weight, self.codebook, self.positions, self.index)

    def prune(self, weight, density):
        """Keeps the weights of the largest magnitude."""
        kept = max(1, round(density * weight.numel()))
        size = weight.detach().abs().reshape(-1)
        self.mask = torch.zeros_like(size).index_fill_(0, size.topk(kept).indices, 1.0).view(weight.shape)

    def quantise(self, weight, n_values):
        """Begins a codebook, by k-means of the weights that are left from a linear start (Han)."""
        self.positions = self.mask.reshape(-1).nonzero()[:, 0]
        kept = weight.detach().reshape(-1)[self.positions]
        self.codebook.data = means(kept, n_values)


def means(values, n):
    """k-means in one dimension from values spread evenly between the least and the largest."""
    centres = torch.linspace(values.min().item(), values.max().item(), n)
    for _ in range(100):
        index = torch.bucketize(values, (centres[1:] + centres[:-1]) / 2)
        count = torch.bincount(index, minlength=n)
        total = torch.bincount(index, values.double(), n)
        moved = torch.where(count > 0, total / count.clamp(min=1), centres.double()).float().sort().values
        if torch.equal(moved, centres):
            break
        centres = moved
    return centres


def share(network):
    """Makes the network's matrices ones that can be pruned and share values."""
    for layer in network.layers():
        parametrize.register_parametrization(layer, "weight", Shared(layer.weight))


def forms(network):
    """Name, weights as they are trained, and form of each matrix."""
    for name, layer in zip(network.matrices, network.layers()):
        weights = layer.parametrizations.weight
        yield name, weights.original, weights[0]


def plain(network):
    """The weights that the network computes with, without forms."""
    for layer in network.layers():
        if parametrize.is_parametrized(layer):
            parametrize.remove_parametrizations(layer, "weight")
    return network
