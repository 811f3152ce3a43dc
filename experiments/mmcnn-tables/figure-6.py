weights = experiment.sql("SELECT network, row, weight_bytes / 1048576.0 AS mib FROM weights WHERE network IN ('alexnet', 'vgg-s', 'vgg-19')")
figure, axes = pyplot.subplots(1, 3, figsize=(8.6, 2.9), layout="constrained")
for axis, (network, rows) in zip(axes, weights.groupby("network", sort=False)):
    axis.bar(rows.row, rows.mib, color="#0072B2")
    axis.set(title=network, xlabel="row")
_ = axes[0].set_ylabel("weights (MiB)")
