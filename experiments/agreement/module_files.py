"""Networks of torch.nn as ONNX files: recurrent layers, attention, embeddings, several inputs.

Each is small, its weights are seeded, and it is exported by both exporters of PyTorch.
"""
import warnings

import torch
from torch import nn


class Tagger(nn.Module):
    """A label for each word of a sentence: embedding, LSTM both ways."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(200, 32)
        self.lstm = nn.LSTM(32, 24, num_layers=2, bidirectional=True, batch_first=True)
        self.labels = nn.Linear(48, 9)

    def forward(self, words):
        return self.labels(self.lstm(self.words(words))[0])


class Speech(nn.Module):
    """Convolutions over time, then a GRU; the last state decides."""

    def __init__(self):
        super().__init__()
        self.front = nn.Sequential(nn.Conv1d(40, 32, 5, stride=2, padding=2), nn.BatchNorm1d(32),
                                   nn.ReLU(), nn.Conv1d(32, 48, 3, padding=1), nn.ReLU())
        self.gru = nn.GRU(48, 40, batch_first=True)
        self.last = nn.Linear(40, 12)

    def forward(self, features):
        sequence, _ = self.gru(self.front(features).transpose(1, 2))
        return self.last(sequence[:, -1])


class Crnn(nn.Module):
    """Text in an image: convolutions, columns as a sequence, LSTM both ways, [T, N, letters]."""

    def __init__(self):
        super().__init__()
        layers = []
        for channels, (narrow, wide) in ((1, (2, 2)), (16, (2, 2)), (32, (2, 1)), (48, (2, 1))):
            layers += [nn.Conv2d(channels, channels + 16 if channels > 1 else 16, 3, padding=1),
                       nn.ReLU(), nn.MaxPool2d((narrow, wide))]
        self.image = nn.Sequential(*layers)
        self.lstm = nn.LSTM(128, 32, bidirectional=True)
        self.letters = nn.Linear(64, 37)

    def forward(self, image):
        columns = self.image(image).flatten(1, 2).permute(2, 0, 1)
        return self.letters(self.lstm(columns)[0]).log_softmax(2)


class Rnn(nn.Module):
    """A plain recurrent network."""

    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(16, 32, num_layers=2, batch_first=True)
        self.last = nn.Linear(32, 5)

    def forward(self, sequence):
        return self.last(self.rnn(sequence)[0]).tanh()


class Step(nn.Module):
    """One step of a stream: the state of the LSTM goes in and comes out."""

    def __init__(self):
        super().__init__()
        self.front = nn.Linear(64, 48)
        self.lstm = nn.LSTM(48, 48, batch_first=True)
        self.voice = nn.Linear(48, 1)

    def forward(self, frames, h, c):
        found, (h, c) = self.lstm(self.front(frames).relu(), (h, c))
        return self.voice(found).sigmoid(), h, c


class Encoder(nn.Module):
    """The encoder of a transformer, as torch.nn has it."""

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(48, 4, 96, dropout=0, batch_first=True,
                                           activation="gelu", norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
        self.last = nn.Linear(48, 10)

    def forward(self, sequence):
        return self.last(self.encoder(sequence).mean(1))


class Bert(nn.Module):
    """Words and a mask of those that count: embeddings, attention that leaves the others out."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(300, 32), nn.Embedding(24, 32)
        self.norm = nn.LayerNorm(32)
        self.query, self.key, self.value = (nn.Linear(32, 32) for _ in range(3))
        self.out, self.last = nn.Linear(32, 32), nn.Linear(32, 2)
        self.wide, self.narrow = nn.Linear(32, 64), nn.Linear(64, 32)

    def forward(self, words, mask):
        x = self.norm(self.words(words) + self.places(torch.arange(words.shape[1])))
        heads = [part(x).unflatten(2, (4, 8)).transpose(1, 2)
                 for part in (self.query, self.key, self.value)]
        scores = heads[0] @ heads[1].transpose(2, 3) / 8**0.5
        scores = scores.masked_fill(mask[:, None, None] == 0, -1e4)
        x = x + self.out((scores.softmax(3) @ heads[2]).transpose(1, 2).flatten(2))
        return self.last((x + self.narrow(nn.functional.gelu(self.wide(x))))[:, 0])


class Cross(nn.Module):
    """A decoder's layer: one sequence attends to another."""

    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerDecoderLayer(32, 4, 64, dropout=0, batch_first=True)

    def forward(self, target, memory):
        return self.layer(target, memory)


class Twins(nn.Module):
    """How far two images are apart: one network for both."""

    def __init__(self):
        super().__init__()
        self.network = nn.Sequential(nn.Conv2d(3, 16, 3, 2), nn.ReLU(), nn.Conv2d(16, 32, 3, 2),
                                     nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                                     nn.Linear(32, 24))

    def forward(self, left, right):
        a, b = self.network(left), self.network(right)
        return (a - b).square().sum(1, keepdim=True)


class Mixed(nn.Module):
    """An image, numbers and a category, of one thing."""

    def __init__(self):
        super().__init__()
        self.image = nn.Sequential(nn.Conv2d(1, 8, 3, 2), nn.ReLU(), nn.Flatten())
        self.kinds = nn.Embedding(7, 5)
        self.last = nn.Sequential(nn.Linear(8 * 49 + 6 + 5, 32), nn.ReLU(), nn.Linear(32, 3))

    def forward(self, image, numbers, kind):
        return self.last(torch.cat([self.image(image), numbers, self.kinds(kind).flatten(1)], 1))


class Words(nn.Module):
    """A sentence's class: embedding, convolutions of three lengths, the largest of each."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(500, 24)
        self.windows = nn.ModuleList(nn.Conv1d(24, 16, length) for length in (3, 4, 5))
        self.last = nn.Linear(48, 4)

    def forward(self, words):
        x = self.words(words).transpose(1, 2)
        return self.last(torch.cat([c(x).relu().amax(2) for c in self.windows], 1))


class Unet(nn.Module):
    """Down and up again, by transposed convolutions and by nearest neighbours."""

    def __init__(self):
        super().__init__()
        def pair(a, b):
            return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU())
        self.first, self.second, self.third = pair(3, 16), pair(16, 32), pair(32, 64)
        self.up, self.after = nn.ConvTranspose2d(64, 32, 2, 2), pair(64, 32)
        self.last = nn.Conv2d(48, 2, 1)

    def forward(self, image):
        a = self.first(image)
        b = self.second(nn.functional.max_pool2d(a, 2))
        c = self.third(nn.functional.max_pool2d(b, 2))
        d = self.after(torch.cat([self.up(c), b], 1))
        return self.last(torch.cat([nn.functional.interpolate(d, scale_factor=2), a], 1))


class Wave(nn.Module):
    """Dilated convolutions with gates, over samples of sound."""

    def __init__(self):
        super().__init__()
        self.front = nn.Conv1d(1, 16, 1)
        self.filters = nn.ModuleList(nn.Conv1d(16, 32, 3, dilation=2**i) for i in range(5))
        self.skips = nn.ModuleList(nn.Conv1d(16, 16, 1) for _ in range(5))
        self.last = nn.Conv1d(16, 4, 1)

    def forward(self, sound):
        x, total = self.front(sound), 0
        for i, (filters, skip) in enumerate(zip(self.filters, self.skips)):
            y = nn.functional.glu(filters(nn.functional.pad(x, (2 * 2**i, 0))), 1)
            x, total = x + y, total + skip(y)
        return self.last(total.relu())


class Larger(nn.Module):
    """An image with three times the rows and columns."""

    def __init__(self):
        super().__init__()
        self.network = nn.Sequential(nn.Conv2d(3, 24, 3, padding=1), nn.PReLU(24),
                                     nn.Conv2d(24, 24, 3, padding=1), nn.PReLU(24),
                                     nn.Conv2d(24, 27, 3, padding=1), nn.PixelShuffle(3))

    def forward(self, image):
        return self.network(image) + nn.functional.interpolate(image, scale_factor=3,
                                                               mode="bilinear")


class Generator(nn.Module):
    """An image out of noise."""

    def __init__(self):
        super().__init__()
        self.network = nn.Sequential(
            nn.ConvTranspose2d(32, 64, 4), nn.BatchNorm2d(64), nn.ReLU(),
            nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.InstanceNorm2d(32, affine=True),
            nn.LeakyReLU(0.2), nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Tanh())

    def forward(self, noise):
        return self.network(noise)


class Experts(nn.Module):
    """A gate weighs three networks; values are clipped, compared and chosen."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(20, 3)
        self.experts = nn.ModuleList(nn.Linear(20, 8) for _ in range(3))

    def forward(self, x):
        weights = self.gate(x).softmax(1)
        y = sum(weights[:, i:i + 1] * expert(x) for i, expert in enumerate(self.experts))
        return torch.where(y > 0.1, y, y.clamp(-0.5, 0.5) * 0.25)


class Lookback(nn.Module):
    """A convolution over images, its features as a sequence of an LSTM: a class for a film."""

    def __init__(self):
        super().__init__()
        self.image = nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.MaxPool2d(5),
                                   nn.Flatten())
        self.lstm = nn.LSTM(32, 24, batch_first=True)
        self.last = nn.Linear(24, 6)

    def forward(self, film):
        frames = self.image(film.flatten(0, 1)).reshape(film.shape[0], film.shape[1], 32)
        return self.last(self.lstm(frames)[1][0][-1])


def numbers(high):
    return lambda n, *shape: torch.randint(high, (n, *shape))


BOTH = ["torchscript-13", "dynamo-18"]
# name: (files, network, inputs: name, shape of one sample, what it holds, dimension of the batch)
NETWORKS = {
    "tagger": (BOTH + ["torchscript-17,1"], Tagger, [("words", (20,), numbers(200), 0)]),
    "speech": (BOTH, Speech, [("features", (40, 60), torch.randn, 0)]),
    "crnn": (BOTH + ["torchscript-9,1"], Crnn, [("image", (1, 32, 96), torch.randn, 0)]),
    "rnn": (BOTH, Rnn, [("sequence", (12, 16), torch.randn, 0)]),
    "step": (BOTH, Step, [("frames", (1, 64), torch.randn, 0), ("h", (48,), torch.randn, 1),
                          ("c", (48,), torch.randn, 1)]),
    "encoder": (["torchscript-14", "dynamo-18", "torchscript-17,1"], Encoder, [("sequence", (16, 48), torch.randn, 0)]),
    "bert": (BOTH, Bert, [("words", (24,), numbers(300), 0), ("mask", (24,), numbers(2), 0)]),
    "cross": (["torchscript-14", "dynamo-18"], Cross, [("target", (6, 32), torch.randn, 0),
                            ("memory", (9, 32), torch.randn, 0)]),
    "twins": (BOTH, Twins, [("left", (3, 40, 40), torch.randn, 0),
                            ("right", (3, 40, 40), torch.randn, 0)]),
    "mixed": (BOTH, Mixed, [("image", (1, 16, 16), torch.randn, 0), ("numbers", (6,), torch.randn, 0),
                            ("kind", (1,), numbers(7), 0)]),
    "words": (BOTH, Words, [("words", (30,), numbers(500), 0)]),
    "unet": (BOTH, Unet, [("image", (3, 64, 64), torch.randn, 0)]),
    "wave": (BOTH, Wave, [("sound", (1, 400), torch.randn, 0)]),
    "larger": (BOTH, Larger, [("image", (3, 24, 24), torch.randn, 0)]),
    "generator": (BOTH, Generator, [("noise", (32, 1, 1), torch.randn, 0)]),
    "experts": (BOTH, Experts, [("x", (20,), torch.randn, 0)]),
    "lookback": (BOTH, Lookback, [("film", (5, 3, 24, 24), torch.randn, 0)]),
}


def tensors(inputs, n):
    """A state is [1, N, size]: the layers of the recurrent network come first."""
    found = []
    for _, shape, values, dimension in inputs:
        tensor = values(n, *shape) if dimension == 0 else values(n, 1, *shape).transpose(0, 1)
        found.append(tensor.contiguous())
    return tuple(found)


def export(name, exporter, opset, flags, path):
    _, make, inputs = NETWORKS[name]
    torch.manual_seed(1)
    model = make()
    for module in model.modules():
        if isinstance(module, (nn.Conv1d, nn.Conv2d, nn.ConvTranspose2d, nn.Linear)):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
    model.train()
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d)):
                module.momentum = 1.0
        model(*tensors(inputs, 4))
    model.eval()
    fixed = "1" in flags
    given, names = tensors(inputs, 1 if fixed else 2), [i[0] for i in inputs]
    warnings.simplefilter("ignore")
    if exporter == "torchscript":
        torch.onnx.export(model, given, path, dynamo=False, opset_version=opset, input_names=names,
                          dynamic_axes=None if fixed else {i[0]: {i[3]: "N"} for i in inputs})
    else:
        batch = torch.export.Dim("N")
        torch.onnx.export(model, given, path, dynamo=True, opset_version=opset, verbose=False,
                          external_data=False, input_names=names,
                          dynamic_shapes=None if fixed else tuple({i[3]: batch} for i in inputs))
