from matplotlib.patches import Rectangle

steps = experiment.sql("SELECT * FROM steps WHERE plan = 'alexnet-dp-vbs'")
cuts = experiment.sql("SELECT * FROM cuts WHERE plan = 'alexnet-dp-vbs' AND kind <> 'knot'")
figure, axis = pyplot.subplots(figsize=(8.6, 4.2), layout="constrained")
for step in steps.itertuples():
    axis.add_patch(Rectangle((step.layer, step.first), 1, step.end - step.first, facecolor=pyplot.cm.Blues(0.1 + step.batch / 20), edgecolor="white"))
    axis.annotate(step.batch, (step.layer + 0.5, (step.first + step.end) / 2), ha="center", va="center")
for cut in cuts.itertuples():
    axis.plot([cut.x0, cut.x1], [cut.y0, cut.y1], color="#D55E00" if cut.kind == "split" else "black", linewidth=max(0.6, 3.9 - 0.7 * cut.depth))
first = steps[steps["first"] == 0]
axis.set_xticks(first.layer + 0.5, first.name)
axis.xaxis.tick_top()
axis.set(xlim=(1, steps.layer.max() + 1), ylim=(12, 0), ylabel="sample")
axis.spines[:].set_visible(False)
