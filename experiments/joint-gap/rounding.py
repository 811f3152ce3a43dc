"""Schedules of one sample with the rows of a solution of milp.py, so that a bound can be told from a plan.

Weights stay or are copied in pieces of some MiB; a copied piece is loaded as early as memory allows, in the order in which
pieces are read, and evicted behind its step. Tried are several sizes of pieces, shares of memory for pieces that stay, and
layers that have them first.
"""
from dataclasses import dataclass
from itertools import product

MIB = 1 << 20
LARGE = 15 * MIB  # weights of which pieces have a size of their own


@dataclass
class Piece:
    layer: int
    format: int
    part: int
    parts: int
    bytes: int
    step: int  # that reads it
    stays: bool = False

    def json(self, op, **more):
        parts = {"part": self.part, "parts": self.parts} if self.parts > 1 else {}
        return {"op": op, "layer": self.layer, "form": self.format, "bytes": self.bytes, **parts, **more}


def pieces_and_steps(arcs, layers, small, large):
    """A step is (layer, row, part, parts, free bytes, us)."""
    pieces, steps = [], []
    for arc in arcs:
        k, row, channels = layers[arc.layer].number, arc.rows[0], layers[arc.layer].channels
        size = large if row.weights > LARGE else small
        n = max(1, min(channels, -(-row.weights // size)))
        first, sliced = len(steps), row.sliced and n > 1
        ends = [channels * (i + 1) // n for i in range(n)] if n > 1 else [1]
        for i, (begin, end) in enumerate(zip([0] + ends, ends)):
            of = ends[-1]
            if sliced or i == 0:
                share = (end - begin) / of if sliced else 1
                steps.append((k, row, i + 1, n if sliced else 1, arc.free, row.us * share))
            if row.weights > 0:
                pieces.append(Piece(k, row.format, i + 1, n, row.weights * end // of - row.weights * begin // of,
                                    first + (i if sliced else 0)))
    return pieces, steps


def let_stay(pieces, order, most):
    """Lets pieces stay, at most so many bytes, layer by layer, spread over a layer's pieces."""
    for k in order:
        mine, n = [p for p in pieces if p.layer == k], 0
        for piece in mine:
            if piece.bytes <= most:
                most -= piece.bytes
                n += 1
        for i in range(n):
            mine[int((i + 0.5) * len(mine) / n)].stays = True


def place(pieces, steps):
    """The loads, each with the step that it stands before; None where something does not fit."""
    stays, at, loads = sum(p.bytes for p in pieces if p.stays), 0, []
    free = [step[4] - stays for step in steps]
    if min(free) < 0:
        return None
    for piece in (p for p in pieces if not p.stays):
        begin = piece.step
        if free[begin] < piece.bytes:
            return None
        while begin > at and free[begin - 1] >= piece.bytes:
            begin -= 1
        at = max(at, begin)
        for i in range(at, piece.step + 1):
            free[i] -= piece.bytes
        loads.append((at, piece))
    return loads


def time(loads, steps, latency_us, bytes_per_us):
    computed = copied = 0
    rest = iter(loads + [(len(steps), None)])
    at, piece = next(rest)
    ready = [0] * len(steps)
    for i, step in enumerate(steps):
        while at == i:
            copied = max(copied, computed) + latency_us + piece.bytes / bytes_per_us
            ready[piece.step] = copied
            at, piece = next(rest)
        computed = max(computed, ready[i]) + step[5]
    return max(computed, copied)


def sizes(memory, latency_us):
    """Of pieces, and of pieces of large weights."""
    if latency_us == 0:
        return [(MIB // 4, MIB // 4)]
    larges = [n * MIB for n in (2, 3, 4, 5, 6)] + [int(memory / d) for d in (2.02, 3.03, 4.04, 6.1, 8.1)]
    return [(n * MIB, large) for n in (2, 3, 4, 6, 8) for large in larges if large <= 17 * MIB]


def best(arcs, layers, memory, latency_us, bytes_per_us):
    """The steps of the fastest schedule that is found, as JSON; None where none fits."""
    weights = {layers[a.layer].number: a.rows[0].weights for a in arcs if a.rows[0].weights > 0}
    orders = [sorted(weights), sorted(weights, reverse=True), sorted(weights, key=lambda k: -weights[k])]
    least, chosen, found = min(a.free for a in arcs), float("inf"), None
    for (small, large), order, share in product(sizes(memory, latency_us), orders,
                                                (0, 0.5, 0.75, 0.875, 0.9, 0.925, 0.95, 0.975, 0.985, 0.99, 1)):
        pieces, steps = pieces_and_steps(arcs, layers, small, large)
        let_stay(pieces, order, share * least)
        loads = place(pieces, steps)
        if loads is not None and (us := time(loads, steps, latency_us, bytes_per_us)) < chosen:
            chosen, found = us, (pieces, steps, loads)
    return found and listed(*found)


def listed(pieces, steps, loads):
    made = [p.json("load", resident=True) for p in pieces if p.stays]
    for i, (k, row, part, parts, _, _) in enumerate(steps):
        made += [p.json("load") for at, p in loads if at == i]
        made.append({"layer": k, "batch": 1, "algorithm": row.name, **({"part": part, "parts": parts} if parts > 1 else {})})
        made += [p.json("drop") for _, p in loads if p.step == i]
    return made
