MIB = 2**20
layers = experiment.sql("SELECT * FROM memory_per_layer")
figure, axis = pyplot.subplots(figsize=(8.6, 3.6), layout="constrained")
bottom = 0
for column, label, color in [
    ("in_bytes", "input", "#9CC8E8"), ("out_bytes", "output", "#0072B2"),
    ("ws_fastest_bytes", "workspace of the fastest algorithm", "#E69F00"),
]:
    axis.bar(layers.layer, layers[column] / MIB, 0.8, bottom, color=color, label=label)
    bottom = bottom + layers[column] / MIB
unfolded = layers[layers.im2col_bytes > 0]
total = (unfolded.in_bytes + unfolded.out_bytes + unfolded.im2col_bytes) / MIB
axis.plot(unfolded.layer, total, "o", color="black", fillstyle="none", markersize=4,
          label="the same with an unfolded input (im2col) as workspace")
for size in (10.7, 1.07):
    axis.axhline(size, color="black", linestyle="--", linewidth=1, label="largest and smallest of the paper" if size > 2 else None)
axis.set(xlabel="layer, in network order", ylabel="memory at batch 1 (MiB)", ylim=(0, 12))
_ = axis.legend(frameon=False)
