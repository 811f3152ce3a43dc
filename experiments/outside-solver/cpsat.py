#!/usr/bin/env python3
"""A planner from outside by somebody else's solver: CP-SAT of OR-Tools (docs/outside.md).

The model. Order alone decides whether a schedule fits, and the chosen rows alone decide its time, so
that time in the model is the number of a step. For layer k and sample x of the request

    cut[k,x]    whether a step begins with sample x
    use[k,x,r]  whether that step runs row r: the rows of a layer cover each sample once
    at[k,x]     the number of the step that has the sample; two steps never have the same one

A sample of a tensor takes memory from the step that writes it to the last step that reads it; what a
step takes beside that (workspace, and inputs and outputs that live outside the budget) is an interval
of length one. Both are one cumulative constraint whose capacity is the budget. An in-place output
begins behind its step where its only reader is in place and the sizes agree; elsewhere it counts in
full, which may only cost time, never memory.

The search ends by CP-SAT's own deterministic clock (EFFORT in the environment; its default, 10, takes
some five seconds of a processor), so that its schedule is the same on every machine, or by two thirds of the
time limit of the run. LOG in the environment names a file to which a line is appended for each budget:
its bytes, seconds of processor time, microseconds of the schedule and of the bound that CP-SAT proved,
its status, and the numbers of variables and constraints.
"""
import json
import math
import os
import sys
import time

from ortools.sat.python import cp_model

TICKS = 1000  # of a microsecond; CP-SAT's numbers are whole


def fastest(rows):
    """Rows of one batch without those that another beats in time and workspace."""
    kept = []
    for row in sorted(rows, key=lambda r: (r["time_us"], r["ws_bytes"])):
        if all(row["ws_bytes"] < other["ws_bytes"] for other in kept):
            kept.append(row)
    return kept


class Model:
    def __init__(self, problem, budget):
        self.problem, self.budget = problem, budget
        self.layers, self.request = problem["layers"], problem["request"]
        self.external = problem["io"] == "external"
        self.bytes = {0: problem["input_bytes"], **{l["layer"]: l["out_bytes"] for l in self.layers}}
        self.readers = {i: sorted({l["layer"] for l in self.layers if i in l["inputs"]}) for i in self.bytes}
        self.rows = {l["layer"]: [r for b in problem["batches"]
                                  for r in fastest([r for r in l["rows"] if r["batch"] == b])] for l in self.layers}
        self.unit = math.gcd(*self.bytes.values(), *(r["ws_bytes"] for rows in self.rows.values() for r in rows)) or 1
        self.model = cp_model.CpModel()
        self.horizon = len(self.layers) * self.request
        self.steps()
        self.memory()

    def steps(self):
        m, n = self.model, self.request
        self.at, self.cut, self.use, intervals, cost = {}, {}, {}, [], []
        for layer in self.layers:
            k = layer["layer"]
            for x in range(n):
                self.at[k, x] = m.new_int_var(0, self.horizon - 1, f"at{k}_{x}")
                self.cut[k, x] = m.new_bool_var(f"cut{k}_{x}")
                intervals.append(m.new_optional_fixed_size_interval_var(self.at[k, x], 1, self.cut[k, x], ""))
                for r, row in enumerate(self.rows[k]):
                    if x + row["batch"] <= n:
                        self.use[k, x, r] = m.new_bool_var(f"use{k}_{x}_{r}")
                        cost.append(self.use[k, x, r] * round(TICKS * row["time_us"]))
            for x in range(n):
                m.add(sum(v for (q, y, _), v in self.use.items() if (q, y) == (k, x)) == self.cut[k, x])
                m.add_exactly_one(v for (q, y, r), v in self.use.items()
                                  if q == k and y <= x < y + self.rows[k][r]["batch"])
                if x > 0:
                    m.add(self.at[k, x] == self.at[k, x - 1]).only_enforce_if(~self.cut[k, x])
                    m.add(self.at[k, x] > self.at[k, x - 1]).only_enforce_if(self.cut[k, x])
                for i in layer["inputs"]:
                    if i > 0:
                        m.add(self.at[k, x] > self.at[i, x])
        m.add_no_overlap(intervals)
        m.minimize(sum(cost))

    def in_place(self, k):
        """Whether the samples of layer k's output take the place of those of its first input."""
        layer = self.layers[k - 1]
        first = layer["inputs"][0]
        kept = first > 0 or not self.external
        return layer["in_place"] and kept and self.readers[first] == [k] and self.bytes[first] == self.bytes[k]

    def kept(self, k):
        """Whether samples of tensor k stay in the budget between steps."""
        return not self.external or (k > 0 and bool(self.readers[k]))

    def memory(self):
        m, demands, intervals = self.model, [], []
        for k in self.bytes:
            for x in range(self.request if self.kept(k) else 0):
                begin = 0 if k == 0 else self.at[k, x] + (1 if self.in_place(k) else 0)
                if self.readers[k]:
                    end = m.new_int_var(1, self.horizon, "")
                    m.add_max_equality(end, [self.at[j, x] + 1 for j in self.readers[k]])
                else:
                    end = self.horizon
                length = m.new_int_var(0, self.horizon, "")
                intervals.append(m.new_interval_var(begin, length, end, ""))
                demands.append(self.bytes[k] // self.unit)
        for layer in self.layers:
            k = layer["layer"]
            beside = (0 if self.kept(k) else self.bytes[k]) + \
                (self.bytes[0] if 0 in layer["inputs"] and not self.kept(0) else 0)
            for x in range(self.request):
                rows = [(v, self.rows[k][r]) for (q, y, r), v in self.use.items() if (q, y) == (k, x)]
                most = max((row["ws_bytes"] + row["batch"] * beside for _, row in rows), default=0) // self.unit
                if most == 0:
                    continue
                taken = m.new_int_var(0, most, "")
                m.add(taken == sum(v * ((row["ws_bytes"] + row["batch"] * beside) // self.unit) for v, row in rows))
                intervals.append(m.new_optional_fixed_size_interval_var(self.at[k, x], 1, self.cut[k, x], ""))
                demands.append(taken)
        m.add_cumulative(intervals, demands, self.budget // self.unit)

    def hint(self):
        """Starts the search from a schedule: batch 1, sample by sample, which fits in the least memory, or nearly."""
        for n, (k, x) in enumerate((l["layer"], x) for x in range(self.request) for l in self.layers):
            self.model.add_hint(self.at[k, x], n)
            self.model.add_hint(self.cut[k, x], 1)

    def solve(self, seconds):
        solver = cp_model.CpSolver()
        solver.parameters.max_time_in_seconds = seconds
        solver.parameters.max_deterministic_time = float(os.environ.get("EFFORT", "10"))
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 1
        self.hint()
        status = solver.solve(self.model)
        steps = None
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            chosen = [(solver.value(self.at[k, x]), k, self.rows[k][r])
                      for (k, x, r), v in self.use.items() if solver.value(v)]
            steps = [{"layer": k, "batch": row["batch"], "algorithm": row["algorithm"]}
                     for _, k, row in sorted(chosen, key=lambda c: c[:2])]
        return solver, status, steps


def plan(problem, budget):
    begin = time.process_time()
    model = Model(problem, budget)
    solver, status, steps = model.solve(2 / 3 * problem["time_limit_s"])
    if os.environ.get("LOG"):
        us = solver.objective_value / TICKS if steps else ""
        bound = "" if status == cp_model.INFEASIBLE else solver.best_objective_bound / TICKS
        with open(os.environ["LOG"], "a", encoding="ascii") as log:
            print(budget, f"{time.process_time() - begin:.3f}", us, bound, solver.status_name(status),
                  len(model.model.proto.variables), len(model.model.proto.constraints), sep=",", file=log)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE, cp_model.INFEASIBLE):
        sys.exit(f"no schedule within {problem['time_limit_s']} s")
    return steps


def main():
    problem = json.load(sys.stdin)
    if problem["weights"] != "excluded" or "latency_us" in problem:
        sys.exit("plans neither weights inside the budget nor a bound of the latency")
    for budget in problem["budgets"]:
        steps = plan(problem, budget)
        print(json.dumps(steps and {"format": "vbslab-schedule-1", "planner": "cpsat", "request": problem["request"],
                                    "memory_bytes": budget, "io": problem["io"], "steps": steps}), flush=True)


main()
