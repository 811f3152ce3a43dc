"""What coded weights take, counted from the format of docs/formats.md (coding joint and comp).

The program's own files say what counts; this estimate steers the densities while networks are trained.
"""

import heapq
import math

import numpy

MAX_PAIR_BITS = 13


def filled_up(n):
    return (n + 7) // 8 * 8


def code_bits(counts):
    """Lengths of a Huffman code, and the bits of all symbols together."""
    used = numpy.flatnonzero(counts)
    lengths = numpy.zeros(len(counts), int)
    if len(used) == 1:
        lengths[used] = 1
        return lengths, int(counts.sum())
    heap = [(int(counts[s]), i, (s,)) for i, s in enumerate(used)]
    heapq.heapify(heap)
    number = len(heap)
    while len(heap) > 1:
        a, b = heapq.heappop(heap), heapq.heappop(heap)
        for s in a[2] + b[2]:
            lengths[s] += 1
        heapq.heappush(heap, (a[0] + b[0], number, a[2] + b[2]))
        number += 1
    return lengths, int((lengths * counts).sum())


def table_bytes(lengths):
    listed = 4 + 3 * int((lengths > 0).sum())
    return min(listed, 4 + (len(lengths) + 1) // 2) if lengths.max() < 16 else listed


def entries(index, longest):
    """Distances and values of a run of indices, with the zeros that fill up longer distances."""
    at = numpy.flatnonzero(index)
    distance = numpy.diff(at, prepend=-1)
    fill = (distance - 1) // longest
    last = distance - fill * longest
    distances = numpy.concatenate([last, numpy.full(fill.sum(), longest)])
    values = numpy.concatenate([index[at], numpy.zeros(fill.sum(), int)])
    return distances, values


def layer_bytes(matrix):
    """The least bytes of a matrix as one block, the coding and the bits of a distance."""
    values, index = numpy.unique(numpy.append(matrix.reshape(-1), 0), return_inverse=True)
    zero = int(numpy.flatnonzero(values == 0)[0])
    index = index.reshape(-1)[:-1]
    index = numpy.where(index == zero, 0, numpy.where(index < zero, index + 1, index))
    bits = max(1, math.ceil(math.log2(len(values))))
    best = None
    for k in range(1, 9):
        head = filled_up(64) + filled_up(4 * len(values))
        distances, symbols = entries(index, 1 << k)
        length_v, bits_v = code_bits(numpy.bincount(symbols, minlength=1 << bits))
        length_d, bits_d = code_bits(numpy.bincount(distances - 1, minlength=1 << k))
        size = head + filled_up(table_bytes(length_v) + table_bytes(length_d)) + 16 \
            + filled_up(bits_v // 8 + 9) + filled_up(bits_d // 8 + 9)
        best = min(best or (size,), (size, "comp", k))
        if bits + k <= MAX_PAIR_BITS:
            quarter = (len(index) + 3) // 4
            runs = [entries(index[i * quarter:(i + 1) * quarter], 1 << k) for i in range(4)]
            pairs = numpy.concatenate([(v << k) + d - 1 for d, v in runs])
            length, total = code_bits(numpy.bincount(pairs, minlength=1 << (bits + k)))
            size = head + filled_up(table_bytes(length)) + 8 + filled_up(total // 8 + 28 + 2 + 8)
            best = min(best, (size, "joint", k))
    return best


def expected_bytes(n, density, n_values):
    """What a matrix of n weights would take, before there is one."""
    if density >= 1:
        bits = n * math.log2(n_values)
    else:
        bits = n * (-density * math.log2(density) - (1 - density) * math.log2(1 - density)
                    + density * math.log2(n_values))
    return bits / 8 + 4 * n_values + 64 + 250
