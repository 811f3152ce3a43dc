rows = experiment.sql("SELECT limit_mib, row, sn, cn FROM rows WHERE network = 'alexnet' AND limit_mib IN (200, 100, 50, 10, 5)")
figure, axes = pyplot.subplots(1, 5, figsize=(10, 2.9), layout="constrained")
for axis, (limit, of_limit) in zip(axes, rows.groupby("limit_mib", sort=False)):
    axis.bar(of_limit.row, of_limit.sn, color="#9CC8E8", label="self_number")
    axis.bar(of_limit.row, of_limit.cn, bottom=of_limit.sn, color="#D55E00", label="conv_number")
    axis.set(title=f"{limit} MiB", xlabel="row")
axes[0].set_ylabel("slices")
_ = figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
