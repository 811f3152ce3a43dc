from matplotlib.patches import Rectangle

steps = experiment.sql("SELECT rowid AS place, * FROM steps")
cuts = experiment.sql("SELECT * FROM cuts WHERE depth = 1 AND kind <> 'knot'")
figure, axes = pyplot.subplots(1, 4, figsize=(8.6, 3.3), layout="constrained")
for axis, plan in zip(axes, ["barrier-dp-vbs", "barrier-dp-vbs+", "crossing-dp-vbs+", "crossing-optimal"]):
    of_plan = steps[steps.plan == plan].sort_values("place")
    for step in of_plan.itertuples():
        axis.add_patch(Rectangle((step.layer, step.first), 1, step.end - step.first, facecolor=pyplot.cm.Blues(0.1 + step.batch / 12), edgecolor="white"))
        axis.annotate(step.step, (step.layer + 0.5, (step.first + step.end) / 2), ha="center", va="center")
    for cut in cuts[cuts.plan == plan].itertuples():
        axis.plot([cut.x0, cut.x1], [cut.y0, cut.y1], color="#D55E00" if cut.kind == "split" else "black", linewidth=2.2)
    axis.set(title=f"{plan}: {of_plan.end_us.max():g}", xlim=(1, of_plan.layer.max() + 1), ylim=(of_plan.end.max(), 0), yticks=[])
    layers = of_plan.drop_duplicates("layer")
    axis.set_xticks(layers.layer + 0.5, layers.name)
    axis.title.set_fontsize(10)
    axis.spines[:].set_visible(False)
_ = axes[0].set_ylabel("samples; numbers: the order of the steps")
