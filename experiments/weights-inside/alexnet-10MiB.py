planned, judge = experiment.profile("alexnet-weights-a"), experiment.profile("alexnet-weights-b")
plan = planned.plan("10MiB", "joint", request=64, weights="included")
steps = judge.replay(plan).to_dataframe()
figure, (above, below) = pyplot.subplots(2, 1, figsize=(8.6, 4.6), sharex=True, layout="constrained", height_ratios=(3, 2))
for op, color in (("compute", "#0072B2"), ("load", "#E69F00")):
    of_op = steps[steps.op == op]
    above.barh(of_op.layer, (of_op.end_us - of_op.start_us) / 1000, left=of_op.start_us / 1000, color=color, label=op)
above.invert_yaxis()
above.set(ylabel="layer")
above.legend(loc="lower left", frameon=False)
below.step(steps.start_us / 1000, steps.memory_bytes / 2**20, where="post", color="#D55E00")
below.axhline(10, color="black", linestyle="--", linewidth=1)
below.set(xlabel="time (ms)", ylabel="memory (MiB)", ylim=(0, None))
