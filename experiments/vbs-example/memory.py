import pandas

figure, axes = pyplot.subplots(2, 1, figsize=(6.4, 4.8), sharex=True, layout="constrained")
for axis, planner in zip(axes, ["fbs", "dp-vbs"]):
    steps = pandas.read_csv(experiment.folder / f"{planner}-trace.csv")
    bottom, width = 0, steps.end_us - steps.start_us
    for column, label, color in [
        ("live_bytes", "held", "#9CC8E8"), ("added_bytes", "output", "#0072B2"), ("ws_bytes", "workspace", "#E69F00")
    ]:
        axis.bar(steps.start_us, steps[column], width, bottom, align="edge", color=color, edgecolor="white", label=label)
        bottom = bottom + steps[column]
    for step in steps.itertuples():
        axis.annotate(f"{step.name} x{step.batch}", ((step.start_us + step.end_us) / 2, step.memory_bytes + 0.2), ha="center")
    axis.axhline(7, color="black", linestyle="--", linewidth=1)
    axis.set(title=planner, ylabel="memory (units)", ylim=(0, 9))
axes[1].set_xlabel("time (units)")
_ = axes[0].legend(ncols=3, loc="upper right", frameon=False)
