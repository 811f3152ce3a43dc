states, paths = experiment.sql("SELECT * FROM states"), experiment.sql("SELECT * FROM paths")
figure, axes = pyplot.subplots(1, 3, figsize=(8.6, 3.4), sharey=True, layout="constrained")
for axis, plan in zip(axes, ["crossing-fbs", "crossing-dp-vbs", "crossing-optimal"]):
    for label, color, rows in [
        ("3", "#0072B2", states[states.largest_l1 >= 3]), ("2", "#56B4E9", states[states.largest_l1 == 2]),
        ("1 or none", "#9a9a9a", states[states.largest_l1 < 2]),
    ]:
        axis.plot(rows.done_l1, rows.done_l2, "o", color=color, label=label)
    for path in paths[paths.plan == plan].itertuples():
        axis.annotate("", (path.x + path.dx, path.y + path.dy), (path.x, path.y), arrowprops={"arrowstyle": "-|>", "color": "#D55E00", "linewidth": 2})
        axis.annotate(path.batch, (path.x + path.dx / 2 + 0.3 * (path.dy > 0), path.y + path.dy / 2 - 0.5 * (path.dx > 0)), color="#D55E00")
    axis.set(title=plan.removeprefix("crossing-"), xlabel="samples that L1 has done")
axes[0].set_ylabel("samples that L2 has done")
_ = figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False, title="samples that L1 could take next")
