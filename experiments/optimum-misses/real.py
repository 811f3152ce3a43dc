NETWORKS = ["alexnet", "vgg-16", "googlenet", "resnet-50", "squeezenet-v1.0", "mobilenet-v1"]
real = experiment.sql("""
    SELECT network, memory_bytes / 1048576.0 AS mib, planner, over_best_percent, 100 * (bound_us / best_us - 1) AS bound FROM real
    WHERE request = 12 AND io = 'resident' AND planner <> 'greedy-vbs'
""")
drawn = real[(real.planner != "fbs") & real.network.isin(NETWORKS)]
figure, axes = curves(
    drawn, "mib", "over_best_percent", line="planner", panel="network", columns=3, size=(8.6, 5.6),
    xlim=(10, 40), ylim=(-5, 20), xlabel="memory budget (MiB)", ylabel="above the best known (%)",
)
for axis in axes:  # grey: where the optimum must lie
    rows = real[(real.network == axis.get_title()) & (real.planner == "fbs")]
    axis.fill_between(rows.mib, 0, rows.bound, color="#c8c8c8")
