#!/usr/bin/env python3
# A planner from outside (docs/outside.md): the fastest uniform batch that fits, chunk by chunk.
#
#     vbslab compare alexnet --planner exec:./planner.py
import json
import sys

problem = json.load(sys.stdin)
layers, request = problem["layers"], problem["request"]
resident = problem["io"] == "resident"
readers = {i: [l["layer"] for l in layers if i in l["inputs"]] for i in range(len(layers) + 1)}
size = {0: problem["input_bytes"], **{l["layer"]: l["out_bytes"] for l in layers}}


def chunk(batch, budget):
    """The steps that bring `batch` samples through all layers, and their time; or None."""
    steps, time = [], 0
    outside = sum(size[i] for i in size if i == 0 or not readers[i]) * request if resident else 0
    for l in layers:
        # samples of a tensor stay until its last reader has run; those of the input are outside
        live = [i for i in size if i < l["layer"] and readers[i] and readers[i][-1] >= l["layer"]]
        held = outside + batch * sum(size[i] for i in live if i > 0 or i in l["inputs"])
        room = budget - held - batch * l["out_bytes"]
        rows = [r for r in l["rows"] if r["batch"] == batch and r["ws_bytes"] <= room]
        if not rows:
            return None
        row = min(rows, key=lambda r: r["time_us"])
        steps.append({"layer": l["layer"], "batch": batch, "algorithm": row["algorithm"]})
        time += row["time_us"]
    return time, steps


def plan(budget):
    chunks = {b: c for b in problem["batches"] if (c := chunk(b, budget))}
    best = {0: (0, [])}  # by samples that are done: time and batches of the chunks
    for done in range(request):
        for b in chunks:
            if done in best and done + b <= request:
                way = (best[done][0] + chunks[b][0], best[done][1] + [b])
                best[done + b] = min(best.get(done + b, way), way)
    return request in best and [step for b in best[request][1] for step in chunks[b][1]]


for budget in problem["budgets"]:
    steps = plan(budget) if problem["weights"] == "excluded" else None
    print(json.dumps({"format": "vbslab-schedule-1", "planner": "planner.py", "request": request,
                      "memory_bytes": budget, "io": problem["io"], "steps": steps} if steps else None), flush=True)
