#!/usr/bin/env python3
"""Trains a network on Fashion-MNIST, dense or compressed, and keeps it as a checkpoint.

    train.py lenet5 --seed 3 dense              # DIR/lenet5-3-dense.pt
    train.py lenet5 --seed 3 longer             # the dense one, trained for as long as a compressed one
    train.py lenet5 --seed 3 compress --ratio 40

A stage goes on where it was interrupted. Decisions rest on validation images; test images are read
by evaluate.py alone.
"""

import argparse
import math
import os
import time

import torch
from torch.nn import functional

import data
import networks
import sharing
import sizes

# teachers: the dense networks whose outputs are learnt, or none: the dense network of the same seed.
# epochs: of the dense network; of pruning with retraining; of the whole network when the body has
# codebooks; of the pruned tail; of the tail when it has codebooks. values: of the codebook of each
# matrix, beside 0. rate: of the stages behind the dense network.
RECIPES = {
    "lenet300": dict(make=networks.LeNet300, epochs=(40, 30, 0, 0, 10), values=(4, 4, 15), decay=1e-4, rate=0.05,
                     teachers=("lenet5-0", "lenet5-1", "lenet5-2", "lenet5-3")),
    "lenet5": dict(make=networks.LeNet5, epochs=(8, 4, 1, 12, 6), values=(31, 15, 7, 15), decay=5e-4, rate=0.02,
                   teachers=None),
    "resnet8": dict(make=networks.ResNet8, epochs=(10, 8, 0, 0, 3), values=(15,) * 10, decay=5e-4, rate=0.02,
                    teachers=None),
}
DENSE_RATE = 0.05
BATCH = 128
MASK_STEPS = 100  # between two choices of the weights that are pruned
PRUNING = 0.6  # the part of pruning with retraining behind which no more weights are pruned
HELD = 0.25  # the last part of training with a codebook, when weights keep the values they share


class Images:
    def __init__(self, seed):
        self.train, self.labels, self.validation, self.validation_labels = data.training()
        self.soft = None  # outputs of a teacher, for the images as they are and mirrored
        self.kept = None  # what the part that is trained takes, likewise
        self.generator = torch.Generator().manual_seed(seed)

    def batches(self):
        order = torch.randperm(len(self.train), generator=self.generator)
        for i in range(0, len(order) - BATCH + 1, BATCH):
            pick = order[i:i + BATCH]
            if self.kept is None:
                images, mirrored = data.varied(self.train[pick], self.generator)
                batch = data.scaled(images)
            else:
                mirrored = data.mirrors(len(pick), self.generator)
                batch = self.kept.index_select(0, pick + len(self.train) * mirrored)
            soft = None if self.soft is None else self.soft[mirrored.long(), pick]
            yield batch, self.labels[pick], soft

    def outputs(self, network):
        """Of a network, for all images as they are and mirrored."""
        with torch.no_grad():
            return torch.stack([torch.cat([network(data.scaled(part)) for part in images.split(500)])
                                for images in (self.train, self.train.flip(3))])

    def teach(self, names, folder):
        """Lets dense networks teach by the mean of their outputs, which are kept: they are the same in each epoch."""
        self.soft = sum(self.outputs_of(name, os.path.join(folder, name)) for name in names) / len(names)

    def outputs_of(self, name, stem):
        """Of a dense network, from a file where another run has left them."""
        path = stem + "-dense-outputs.pt"
        if not os.path.exists(path):
            teacher = load(RECIPES[name.split("-")[0]]["make"](), stem + "-dense.pt").eval()
            torch.save(self.outputs(teacher.to(memory_format=torch.channels_last)), path + f".{os.getpid()}")
            os.replace(path + f".{os.getpid()}", path)
        return torch.load(path)

    def keep(self):
        """Keeps the images as a network takes them, where the whole network is trained."""
        self.kept = torch.cat([data.scaled(self.train), data.scaled(self.train.flip(3))])

    def finish(self, network):
        """Ends the training of the body: from here on the tail is trained."""
        if network.tail_from > 0:
            self.kept = self.outputs(network.eval().body).flatten(0, 1)
            for layer in network.layers()[:network.tail_from]:
                for parameter in layer.parameters():
                    parameter.requires_grad_(False)

    def n_batches(self):
        return len(self.train) // BATCH

    def validate(self, network):
        """Percent that are right, and mean loss."""
        network.eval()
        with torch.no_grad():
            out = torch.cat([network(part) for part in self.validation.split(500)])
        right = (out.argmax(1) == self.validation_labels).float().mean().item()
        return 100 * right, functional.cross_entropy(out, self.validation_labels).item()


def loss_of(out, labels, soft, options):
    """Cross entropy; with a teacher, most of the loss is the distance from its softened outputs."""
    hard = functional.cross_entropy(out, labels)
    if soft is None:
        return hard
    soft = functional.log_softmax(soft / options.temperature, 1)
    mine = functional.log_softmax(out / options.temperature, 1)
    distance = functional.kl_div(mine, soft, reduction="batchmean", log_target=True)
    return (1 - options.distil) * hard + options.distil * options.temperature ** 2 * distance


def run(network, images, path, epochs, options, rate, before=None):
    """Trains for some epochs with a rate that falls as a cosine, and keeps a checkpoint of each.

    `before` is called before each step with its number and the number of all steps.
    """
    shared = [p for name, p in network.named_parameters() if name.endswith("codebook")]
    matrices = [p for name, p in network.named_parameters()
                if p.dim() > 1 and not name.endswith("codebook")]
    rest = [p for name, p in network.named_parameters()
            if p.dim() == 1 and not name.endswith("codebook")]
    if epochs == 0:
        return
    forward = network if images.kept is None else network.tail
    decay = options.pruned_decay if options.stage == "compress" else options.decay
    groups = [dict(params=matrices, weight_decay=decay), dict(params=rest)]
    if any(len(p) for p in shared):
        groups.append(dict(params=shared, lr=rate * options.shared_rate))
    optimiser = torch.optim.SGD(groups, rate, momentum=0.9, nesterov=True, fused=True)
    steps = epochs * images.n_batches()
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda k: min(1, (k + 1) / 100) * 0.5 * (1 + math.cos(math.pi * k / steps)))
    first = 0
    if os.path.exists(path):
        kept = torch.load(path, weights_only=False)
        first = kept["epoch"]
        if kept["forms"]:
            restore(network, kept["forms"])
        network.load_state_dict(kept["network"])
        optimiser.load_state_dict(kept["optimiser"])
        schedule.load_state_dict(kept["schedule"])
        images.generator.set_state(kept["generator"])
    for epoch in range(first, epochs):
        began, total = time.time(), 0.0
        for i, (batch, labels, soft) in enumerate(images.batches()):
            if before is not None:
                before(epoch * images.n_batches() + i, steps)
            network.train()
            optimiser.zero_grad()
            loss = loss_of(forward(batch), labels, soft, options)
            loss.backward()
            optimiser.step()
            schedule.step()
            total += loss.item()
        right, validation = images.validate(network)
        print(f"{os.path.basename(path)} {epoch + 1}/{epochs}: loss {total / images.n_batches():.4f}, "
              f"validation {right:.2f} % {validation:.4f}, {time.time() - began:.0f} s", flush=True)
        torch.save(dict(epoch=epoch + 1, epochs=epochs, network=network.state_dict(), forms=form_sizes(network),
                        optimiser=optimiser.state_dict(), schedule=schedule.state_dict(),
                        generator=images.generator.get_state(), validation=right), path + ".new")
        os.replace(path + ".new", path)


def form_sizes(network):
    if not hasattr(network.layers()[0], "parametrizations"):
        return None
    return [(len(form.codebook), len(form.positions), form.fixed)
            for _, _, form in sharing.forms(network)]


def restore(network, kept):
    for (_, _, form), (values, positions, fixed) in zip(sharing.forms(network), kept):
        if len(form.codebook) != values:
            form.codebook.data = torch.empty(values)
        form.positions = torch.empty(positions, dtype=torch.long)
        form.index = torch.empty(positions if values else 0, dtype=torch.long)
        form.fixed = fixed


def load(network, path):
    network.load_state_dict(torch.load(path, weights_only=False)["network"])
    return network


def matrix_bytes(network):
    """Bytes of each matrix as it stands, by the estimate."""
    return [sizes.layer_bytes(layer.weight.detach().reshape(len(layer.weight), -1).numpy())
            for layer in network.layers()]


def bias_bytes(network):
    return 4 * sum(len(layer.weight) for layer in network.layers())


def distance(network, images, keep):
    """How far outputs on validation images move when each matrix keeps its share, without retraining.

    It is the divergence of softened outputs. The loss would not do: that of a network which has learnt
    its images by heart falls when weights are taken from its last layer.
    """
    part = images.validation[:2000]
    network.eval()
    with torch.no_grad():
        soft = functional.log_softmax(network(part) / 4, 1)
        dense = [layer.weight.detach().clone() for layer in network.layers()]
        for layer, share in zip(network.layers(), keep):
            size = layer.weight.abs().reshape(-1)
            mask = torch.zeros_like(size)
            mask[size.topk(max(1, round(share * len(size)))).indices] = 1
            layer.weight.data = layer.weight * mask.view_as(layer.weight)
        mine = functional.log_softmax(network(part) / 4, 1)
        for layer, weight in zip(network.layers(), dense):
            layer.weight.data = weight
    return functional.kl_div(mine, soft, reduction="batchmean", log_target=True).item()


def densities(network, images, ratio, n_values):
    """The shares of the matrices to keep, for coded weights of the size that the ratio allows.

    A matrix of n weights keeps c / n^e of them. c follows from the size; e, how much more small
    matrices keep, is the one that moves outputs least.
    """
    weights = [layer.weight.numel() for layer in network.layers()]
    target = 4 * network.n_parameters() / ratio - bias_bytes(network)
    found = []
    for power in (0.0, 0.25, 0.4, 0.5, 0.6, 0.75):
        low, high = 1e-4, 1e6
        for _ in range(80):
            factor = math.sqrt(low * high)
            keep = [min(1.0, factor * n ** -power) for n in weights]
            size = sum(sizes.expected_bytes(n, share, values)
                       for n, share, values in zip(weights, keep, n_values))
            low, high = (factor, high) if size <= target else (low, factor)
        found.append((distance(network, images, keep), power, keep))
        print(f"power {power}: distance {found[-1][0]:.4f}, keep {' '.join('%.4f' % k for k in keep)}", flush=True)
    return min(found)[2]


def compress(network, images, options, stem):
    network = networks.folded(network)
    n_values = options.values
    keep = options.keep
    if keep is None:
        keep = densities(network, images, options.ratio, n_values)
    sharing.share(network)
    forms = list(sharing.forms(network))
    _, pruning, body, tail, codebooks = options.epochs

    def prune(step, steps):
        end = PRUNING * steps
        if step % MASK_STEPS == 0 and step <= end + MASK_STEPS:
            left = max(0.0, 1 - step / end) ** 3
            for (_, weight, form), share in zip(forms, keep):
                form.prune(weight, share + (1 - share) * left)

    def quantise(first, end):
        for (_, weight, form), n in zip(forms[first:end], n_values[first:end]):
            if len(form.codebook) == 0:
                form.quantise(weight, n)

    def hold(step, steps):
        if step >= (1 - HELD) * steps:
            for _, _, form in forms:
                form.fixed = True

    run(network, images, stem + "-pruned.pt", pruning, options, options.rate, prune)
    if body:
        quantise(0, network.tail_from)
        run(network, images, stem + "-body.pt", body, options, options.rate / 2)
    if tail:
        images.finish(network)
        run(network, images, stem + "-tail.pt", tail, options, options.rate)
    quantise(0, len(forms))
    print(f"{os.path.basename(stem)}: with codebooks, validation %.2f %% %.4f" % images.validate(network))
    run(network, images, stem + ".pt", codebooks, options, options.shared_base, hold)
    report(network, images, options, stem)


def longer(network, images, options, stem):
    """The dense network, trained for as long as a compressed one, in the same steps."""
    _, pruning, body, tail, codebooks = options.epochs
    if tail:
        run(network, images, stem + "-longer-body.pt", pruning + body, options, options.rate)
        images.finish(network)
        run(network, images, stem + "-longer-tail.pt", tail, options, options.rate)
        run(network, images, stem + "-longer.pt", codebooks, options, options.shared_base)
    else:
        run(network, images, stem + "-longer.pt", pruning + codebooks, options, options.rate)


def report(network, images, options, stem):
    right, loss = images.validate(network)
    parts = matrix_bytes(network)
    total = sum(part[0] for part in parts) + bias_bytes(network)
    nonzero = [int((layer.weight != 0).sum()) / layer.weight.numel() for layer in network.layers()]
    print(f"{os.path.basename(stem)}: validation {right:.2f} % {loss:.4f}, about {total} bytes, "
          f"{4 * network.n_parameters() / total:.2f} times smaller; "
          + "; ".join(f"{name} {share:.4f} {part[1]} {part[2]} {part[0]}"
                      for name, share, part in zip(network.matrices, nonzero, parts)), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("network", choices=RECIPES)
    parser.add_argument("stage", choices=("dense", "longer", "compress"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ratio", type=float, default=40, help="how many times smaller, by the estimate")
    parser.add_argument("--keep", type=float, nargs="+", help="share kept of each matrix (by sensitivity)")
    parser.add_argument("--values", type=int, nargs="+", help="values of each codebook beside 0")
    parser.add_argument("--epochs", type=int, nargs=5, help="dense, pruning, body, tail, codebooks")
    parser.add_argument("--rate", type=float)
    parser.add_argument("--decay", type=float)
    parser.add_argument("--pruned-decay", type=float, default=0.0)
    parser.add_argument("--shared-base", type=float, default=0.002, help="rate of training with codebooks")
    parser.add_argument("--shared-rate", type=float, default=0.002, help="of it, the part for shared values")
    parser.add_argument("--distil", type=float, default=0.7)
    parser.add_argument("--temperature", type=float, default=2.0)
    parser.add_argument("--teachers", nargs="+", help="dense networks that teach, as lenet5-0")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--name", help="of a compressed network, in place of its ratio")
    parser.add_argument("--out", default="build/accuracy")
    options = parser.parse_args()
    recipe = RECIPES[options.network]
    for name in ("epochs", "values", "decay", "teachers"):
        if getattr(options, name) is None:
            setattr(options, name, recipe[name])
    options.rate = options.rate or (DENSE_RATE if options.stage == "dense" else recipe["rate"])
    torch.set_num_threads(options.threads)
    os.makedirs(options.out, exist_ok=True)
    torch.manual_seed(options.seed)
    network = recipe["make"]().to(memory_format=torch.channels_last)
    stem = os.path.join(options.out, f"{options.network}-{options.seed}")
    stages = ("dense", "longer", "compress")
    images = Images(3 * options.seed + stages.index(options.stage))
    if network.tail_from == 0:
        images.keep()
    if options.stage == "dense":
        run(network, images, stem + "-dense.pt", options.epochs[0], options, options.rate)
        return
    load(network, stem + "-dense.pt")
    images.teach(options.teachers or [f"{options.network}-{options.seed}"], options.out)
    if options.stage == "longer":
        longer(network, images, options, stem)
        return
    compress(network, images, options, stem + "-" + (options.name or f"{options.ratio:g}"))


if __name__ == "__main__":
    main()
