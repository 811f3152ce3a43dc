#!/usr/bin/env python3
"""A lower bound of the time of a request with weights inside the budget, by HiGHS.

    milp.py PROFILE.csv PLAN.json [SECONDS [SCHEDULE.json]]

Reads the request, the budget, the link and the plan's time and bound from a plan of `vbslab plan --json`, and
prints numbers for a row of gap.csv; for one sample it writes a schedule with the solution's rows (rounding.py).
The network is a chain whose inputs and outputs are outside the budget.

README.md has the model in words. States say how many samples each layer has finished; an arc is a step of a
layer from one state to another, and a schedule is a path. Each arc has the weights that are in memory while
it runs, and the weights that are copied since the step before it ended: continuous numbers, which are 0 where
the path does not take the arc.
"""
import csv
import itertools
import json
import sys
import time
from dataclasses import dataclass, field

import highspy
import numpy

import rounding

NEAR = 1e-4  # the search ends where solution and bound differ by less
FEW = 2  # samples for which layers without weights have states of their own


@dataclass
class Row:
    batch: int
    us: float
    ws: int
    weights: int  # bytes of the packed weights
    format: int
    least: int  # bytes of the smallest slice; all weights where the row has none
    name: str

    @property
    def sliced(self):
        return self.least < self.weights

    def beats(self, other):
        return self.batch == other.batch and self.us <= other.us and self.ws <= other.ws and \
            self.weights <= other.weights and self.least <= other.least


@dataclass
class Layer:
    """A layer that steps run, in the model."""
    number: int
    bytes: int  # of a sample of the output
    reads: int  # of a sample of the input
    waits: int  # at least, of a sample that has passed it and not yet the next one
    in_place: bool = False
    channels: int = 0
    name: str = ""
    all: list = field(default_factory=list)  # its rows
    rows: list = ()  # those that can be of use


def read_profile(path):
    """Returns the layers of a chain; layer 0 is the network's input, which waits outside the budget."""
    with open(path, encoding="utf-8", newline="") as file:
        records = list(csv.DictReader(line for line in file if line[0] != "#"))
    size = next(int(r["in_bytes"]) for r in records if (r["layer"], r["batch"]) == ("1", "1"))
    layers = [Layer(0, size, 0, 0)]
    for r in records:
        k, batch, plain = int(r["layer"]), int(r["batch"]), int(r["weight_bytes"])
        channels, parts = int(r.get("channels") or 0), int(r.get("parts") or 0)
        weights = int(r.get("packed_bytes") or 0) or plain
        if int(r.get("rows") or 0) > 0:
            continue
        if r["inputs"] != str(k - 1):
            sys.exit(f"layer {k} reads {r['inputs']}: the network is no chain")
        if k == len(layers):
            size = int(r["out_bytes"]) // batch
            layers.append(Layer(k, size, layers[k - 1].bytes, size, r["in_place"] == "1", channels, r["name"]))
        if parts > 0:
            least = weights // parts
        elif r["in_place"] == "1" or weights - plain > plain // 8:
            least = weights
        else:
            least = weights // channels if channels else 0
        layers[k].all.append(Row(batch, float(r["time_us"]), int(r["ws_bytes"]), weights,
                                 int(r.get("form") or 0), least, r["algorithm"]))
    layers[-1].waits = 0
    for layer in layers:
        layer.rows = useful(layer.all)
    return layers


def without_light(layers, request):
    """Leaves out layers without weights. Returns the others, and the least time of those behind each of them."""
    kept, us = [layers[0]], [0]
    for layer in layers[1:]:
        if any(r.weights > 0 for r in layer.rows):
            kept.append(layer)
            us.append(0)
        else:
            kept[-1].waits = min(kept[-1].waits, layer.waits)
            us[-1] += min(sum(r.us for r in rows) for rows in partitions(request, layer.rows))
    return kept, us


def useful(rows):
    """Rows without those that another of the same format beats, and without formats of which another beats every row."""
    kept = [r for i, r in enumerate(rows)
            if not any(o.format == r.format and o.beats(r) and (not r.beats(o) or j < i) for j, o in enumerate(rows))]
    formats = sorted({r.format for r in kept})
    for f in formats[:]:
        if any(all(any(o.format == g and o.beats(r) for o in kept) for r in kept if r.format == f)
               for g in formats if g != f):
            formats.remove(f)
            kept = [r for r in kept if r.format != f]
    return kept


@dataclass
class Arc:
    """A step of a layer from one state to another, or several steps, slice by slice: one for each row, all of one format."""
    tail: tuple
    head: tuple
    layer: int
    rows: tuple
    free: int  # bytes beside inputs, outputs and the least workspace
    kept: int  # beside the largest workspace
    us: float

    @property
    def sliced(self):
        return self.rows[0].sliced

    @property
    def least(self):
        """Bytes of the layer's own weights that must be in memory in any case."""
        return max(r.least for r in self.rows)

    def beats(self, other):
        return self.rows[0].format == other.rows[0].format and self.us <= other.us and self.free >= other.free and \
            self.kept >= other.kept and self.least <= other.least and len(self.rows) <= len(other.rows)


def partitions(n, rows):
    """Multisets of rows whose batches sum up to n."""
    for size in range(1, n + 1):
        for chosen in itertools.combinations_with_replacement(rows, size):
            if sum(r.batch for r in chosen) == n:
                yield chosen


def steps(layers, request, memory, state):
    """All arcs that leave a state: the samples that each layer has finished."""
    live = sum((n - state[k + 1]) * layers[k].waits for k, n in enumerate(state[:-1]))
    for k in range(1, len(layers)):
        layer = layers[k]
        for n in range(1, state[k - 1] - state[k] + 1):
            added = max(0, layer.bytes - layer.reads) if layer.in_place and k > 1 else layer.bytes
            head = state[:k] + (state[k] + n,) + state[k + 1:]
            outside = (layer.reads if k == 1 else 0) + (added if k + 1 == len(layers) else 0)  # but for the step's batch
            base = live + n * (added + layer.reads - layers[k - 1].waits - outside)
            options = []
            for rows in partitions(n, layer.rows):
                if len(rows) > 1 and (len({r.format for r in rows}) > 1 or not all(r.sliced for r in rows)):
                    continue  # without slices these are steps of their own
                beside = [r.ws + r.batch * outside for r in rows]
                if base + max(b + r.least for b, r in zip(beside, rows)) <= memory:
                    options.append(Arc(state, head, k, rows, memory - base - min(beside), memory - base - max(beside),
                                       sum(r.us for r in rows)))
            for i, arc in enumerate(options):
                if not any(other.beats(arc) and (j < i or not arc.beats(other)) for j, other in enumerate(options)
                           if j != i):
                    yield arc


def lattice(layers, request, memory):
    """Returns states and arcs on the ways from no sample to all samples."""
    start, end = (request,) + (0,) * (len(layers) - 1), (request,) * len(layers)
    arcs, seen, todo = [], {start}, [start]
    while todo:
        for arc in steps(layers, request, memory, todo.pop()):
            arcs.append(arc)
            if arc.head not in seen:
                seen.add(arc.head)
                todo.append(arc.head)
    into = {}
    for arc in arcs:
        into.setdefault(arc.head, []).append(arc.tail)
    ends, todo = {end}, [end]
    while todo:
        for tail in into.get(todo.pop(), []):
            if tail not in ends:
                ends.add(tail)
                todo.append(tail)
    return start, end, [a for a in arcs if a.tail in ends and a.head in ends]


class Program:
    """A mixed-integer program, column by column and row by row."""

    def __init__(self):
        self.cost, self.upper, self.whole = [], [], []
        self.low, self.high, self.begin, self.index, self.value = [], [], [0], [], []

    def add(self, cost=0.0, upper=highspy.kHighsInf, whole=False):
        self.cost.append(cost)
        self.upper.append(upper)
        self.whole.append(whole)
        return len(self.cost) - 1

    def at_least(self, terms, low, high=highspy.kHighsInf):
        for column, value in terms:
            self.index.append(column)
            self.value.append(value)
        self.begin.append(len(self.index))
        self.low.append(low)
        self.high.append(high)

    def solve(self, seconds):
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = len(self.cost), len(self.low)
        lp.col_cost_, lp.col_upper_ = numpy.array(self.cost), numpy.array(self.upper)
        lp.col_lower_ = numpy.zeros(len(self.cost))
        lp.row_lower_, lp.row_upper_ = numpy.array(self.low), numpy.array(self.high)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = numpy.array(self.begin)
        lp.a_matrix_.index_, lp.a_matrix_.value_ = numpy.array(self.index), numpy.array(self.value)
        lp.integrality_ = [highspy.HighsVarType.kInteger if w else highspy.HighsVarType.kContinuous for w in self.whole]
        solver = highspy.Highs()
        for option, value in (("log_to_console", False), ("threads", 1), ("time_limit", float(seconds)),
                              ("mip_rel_gap", NEAR), ("random_seed", 1)):
            solver.setOptionValue(option, value)
        solver.passModel(lp)
        solver.run()
        return solver


class Bound:
    """The program of a request in a budget; of some arcs only, where they are given."""

    def __init__(self, layers, request, memory, latency_us, bytes_per_us, arcs=None):
        self.light_us = [0] * len(layers)
        if request > FEW:
            layers, self.light_us = without_light(layers, request)
        self.layers, self.memory = layers, memory
        self.start, self.end, self.arcs = lattice(layers, request, memory)
        if arcs:
            self.arcs = arcs
        self.weights = {}  # bytes by layer and format
        for k, layer in enumerate(layers):
            for row in layer.rows:
                if row.weights > 0:
                    self.weights[k, row.format] = row.weights
        # Numbers near 1. A byte takes its part of the latency of the largest load that there can be.
        self.unit, self.unit_us = memory / 100, sum(min(r.us for r in layer.rows) for layer in layers[1:]) / 10 or 1
        self.time = {j: self.unit / self.unit_us * (1 / bytes_per_us + latency_us / min(w, memory))
                     for j, w in self.weights.items()}
        self.program = Program()
        self.flow, self.content, self.light, self.made = {}, {}, {}, []
        for arc in self.arcs:
            self.add_arc(arc)
        self.add_ends()

    def add_arc(self, arc):
        p, unit = self.program, 1 / self.unit
        x, duration = p.add(upper=1, whole=True), p.add(cost=1)
        self.flow.setdefault(arc.tail, []).append((x, -1))
        self.flow.setdefault(arc.head, []).append((x, 1))
        computes, loads, columns = [(duration, 1), (x, -arc.us / self.unit_us)], [(duration, 1)], {}
        first, last, most = [(x, arc.free * unit)], [(x, arc.free * unit)], [(x, arc.kept * unit)]
        for k, us in enumerate(self.light_us):  # between the first sample that is there and the last that goes on
            if us > 0 and arc.tail[k] > 0 and (k == len(self.layers) - 1 or arc.tail[k + 1] < arc.tail[0]):
                light = p.add()
                computes.append((light, -1))
                p.at_least([(x, us / self.unit_us), (light, -1)], 0)
                self.light.setdefault(k, []).append((light, 1))
        for j, weights in self.weights.items():
            own = arc.rows[0].weights > 0 and j == (arc.layer, arc.rows[0].format)
            kept, early = p.add(), p.add()  # from the step before; loaded for the first step
            columns[j] = [kept, early]
            self.content.setdefault((arc.tail, j), []).append((kept, -1))
            loads.append((early, -self.time[j]))
            now = [(kept, 1), (early, 1)]
            first += [(c, -v) for c, v in now]
            p.at_least([(x, weights * unit)] + [(c, -v) for c, v in now], 0)
            if own:
                p.at_least(now + [(x, -arc.least * unit)], 0)
            if arc.sliced:
                late, after = p.add(), p.add()  # loaded for later slices; in memory with the last
                columns[j] += [late, after]
                loads.append((late, -self.time[j]))
                last.append((after, -1))
                p.at_least(now + [(late, 1), (after, -1)], 0)
                p.at_least([(x, weights * unit), (after, -1)], 0)
                if own:
                    p.at_least([(after, 1), (x, -arc.least * unit)], 0)
                    p.at_least([(kept, 1), (early, 1), (late, 1), (x, -weights * unit)], 0)
                elif arc.kept < arc.free:
                    most += [(after, -1), (late, 1)]
                now = [(after, 1)]
            self.content.setdefault((arc.head, j), []).extend(now)
        p.at_least(computes, 0)
        p.at_least(loads, 0)
        p.at_least(first, 0)
        if arc.sliced:
            p.at_least(last, 0)
        if arc.kept < arc.free:
            p.at_least(most, 0)
        self.made.append((arc, x, duration, columns))

    def add_ends(self):
        p, unit = self.program, 1 / self.unit
        stays, after, loads = [], p.add(cost=1), []
        self.ends = {}
        for j, weights in self.weights.items():
            resident, late = p.add(upper=weights * unit), p.add()  # in memory before; loaded behind the last step
            self.content.setdefault((self.start, j), []).append((resident, 1))
            self.content.setdefault((self.end, j), []).extend([(late, 1), (resident, -1)])
            stays.append((resident, -1))
            loads.append((late, -self.time[j]))
            self.ends[j] = (resident, late)
        if self.light_us[-1] > 0:
            light = p.add()
            self.light.setdefault(len(self.layers) - 1, []).append((light, 1))
            p.at_least([(after, 1), (light, -1)], 0)
        for k, terms in self.light.items():
            p.at_least(terms, self.light_us[k] / self.unit_us)
        p.at_least([(after, 1)] + loads, 0)
        p.at_least(stays, -self.memory * unit)
        for state, terms in self.flow.items():
            out = (state == self.end) - (state == self.start)
            p.at_least(terms, out, out)
        for terms in self.content.values():
            p.at_least(terms, 0)

    def solve(self, seconds):
        """Returns the proven time and that of the solution, both None where there is none, the status, and the solution."""
        solver = self.program.solve(seconds)
        info, status = solver.getInfo(), solver.modelStatusToString(solver.getModelStatus())
        proven, found = info.mip_dual_bound, info.objective_function_value
        is_found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        return (proven * self.unit_us if 0 < proven < highspy.kHighsInf else None, found * self.unit_us if is_found else None,
                status, Solution(self, solver.getSolution().col_value) if is_found else None)


class Solution:
    def __init__(self, bound, values):
        self.bound, self.values = bound, values
        chosen, self.path, state = {m[0].tail: m for m in bound.made if values[m[1]] > 0.5}, [], bound.start
        while state != bound.end:
            self.path.append(chosen[state])
            state = chosen[state][0].head

    @property
    def compute_us(self):
        return sum(arc.us for arc, *_ in self.path) + sum(self.bound.light_us)

    @property
    def copied_bytes(self):
        columns = [c for *_, all_columns in self.path for c in all_columns.values()]
        loads = sum(self.values[c[1]] + (self.values[c[2]] if len(c) > 2 else 0) for c in columns)
        return (loads + sum(self.values[late] for _, late in self.bound.ends.values())) * self.bound.unit


def compute_us(plan, layers):
    """The time of the steps of a plan alone."""
    us = {(layer.number, r.batch, r.name): r.us for layer in layers for r in layer.all}
    return sum(us[s["layer"], s["batch"], s["algorithm"]] / s.get("parts", 1)
               for s in plan["steps"] if s.get("op", "compute") == "compute")


def arcs_of(plan, bound):
    """The arcs that a plan takes; None where it is of another kind."""
    index = {layer.number: k for k, layer in enumerate(bound.layers)}
    arcs = {}
    for arc in bound.arcs:
        arcs[arc.tail, arc.layer, tuple(sorted((r.batch, r.name) for r in arc.rows))] = arc
    state, taken, layer, parts, samples, rows = bound.start, [], None, 1, {}, []
    for step in plan["steps"]:
        if step.get("op", "compute") != "compute" or step["layer"] not in index:
            continue
        if not samples:
            layer, parts, rows = step["layer"], step.get("parts", 1), []
        if (step["layer"], step.get("parts", 1)) != (layer, parts):
            return None
        part = step.get("part", 1)
        samples[part] = samples.get(part, 0) + step["batch"]
        if part == min(samples):
            rows.append((step["batch"], step["algorithm"]))
        if len(samples) == parts and len(set(samples.values())) == 1:
            arc = arcs.get((state, index[layer], tuple(sorted(rows))))
            if arc is None:
                return None
            taken.append(arc)
            state, samples = arc.head, {}
    return taken


def differences(names, theirs, ours):
    """What layers run with, where that differs, for people."""
    return "; ".join(f"{names[a.layer]} {a.rows[0].name} -> {b.rows[0].name}"
                     for a, b in zip(theirs, ours) if a.rows[0].name != b.rows[0].name)


def main():
    with open(sys.argv[2], encoding="utf-8") as file:
        plan = json.load(file)
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 120
    layers, link, memory = read_profile(sys.argv[1]), plan["copy"], plan["memory_bytes"]
    begin = time.process_time()
    bound = Bound(layers, plan["request"], memory, link["latency_us"], link["bytes_per_us"])
    proven, found, status, solution = bound.solve(seconds)
    spent = time.process_time() - begin
    arcs = arcs_of(plan, bound)
    steps_us = differ = None
    if arcs:
        steps_us, *_ = Bound(layers, plan["request"], memory, link["latency_us"], link["bytes_per_us"], arcs).solve(seconds)
        if solution and plan["request"] == 1:
            differ = differences([layer.name for layer in bound.layers], arcs, [m[0] for m in solution.path])
    predicted = plan["predicted"]
    numbers = [predicted["time_us"], plan["bound"]["time_us"], compute_us(plan, layers), predicted["copied_bytes"],
               predicted["copy_us"], proven, found,
               solution and solution.compute_us, solution and round(solution.copied_bytes), status.lower(), f"{spent:.2f}",
               len(bound.program.cost), len(bound.program.low), steps_us, differ]
    print(",".join("" if n is None else str(n) for n in numbers))
    if len(sys.argv) > 4 and solution and plan["request"] == 1:
        steps = rounding.best([m[0] for m in solution.path], bound.layers, memory, link["latency_us"], link["bytes_per_us"])
        if steps:
            with open(sys.argv[4], "w", encoding="utf-8") as file:
                json.dump({"format": plan["format"], "planner": "rounding", "request": 1, "memory_bytes": memory,
                           "weights": "included", "copy": link, "steps": steps}, file)


if __name__ == "__main__":
    main()
