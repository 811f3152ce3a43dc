"""Fashion-MNIST as tensors: 55,000 images to train, 5,000 to decide, 10,000 that are read once."""

import gzip
import os

import numpy
import torch

FOLDER = os.environ.get("FASHION_MNIST", "/usr/share/datasets/fashion-mnist")
MEAN, DEVIATION = 0.2860, 0.3530  # of the pixels of the training images, from 0 to 1
N_VALIDATION = 5000
SPLIT_SEED = 20261122  # the validation images are the same for every network and seed


def read(name, header):
    with gzip.open(os.path.join(FOLDER, name)) as file:
        return numpy.frombuffer(file.read(), numpy.uint8, offset=header)


def tensors(kind):
    images = read(kind + "-images-idx3-ubyte.gz", 16).reshape(-1, 1, 28, 28).copy()
    labels = read(kind + "-labels-idx1-ubyte.gz", 8).astype(numpy.int64)
    return torch.from_numpy(images), torch.from_numpy(labels)


def scaled(images):
    """Pixels as the networks take them."""
    return (images.float() / 255 - MEAN) / DEVIATION


def training():
    """Images and labels to train with, then those to decide with."""
    images, labels = tensors("train")
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(SPLIT_SEED))
    train, validation = order[N_VALIDATION:], order[:N_VALIDATION]
    return images[train], labels[train], scaled(images[validation]), labels[validation]


def test():
    images, labels = tensors("t10k")
    return scaled(images), labels


def mirrors(n, generator):
    """Which of n images are mirrored: half of them."""
    return torch.rand(n, generator=generator) < 0.5


def varied(images, generator):
    """Mirrors half of the images; says which."""
    mirrored = mirrors(len(images), generator)
    return torch.where(mirrored[:, None, None, None], images.flip(3), images), mirrored
