WAYS = {"mixed": "mixed (joint)", "comp": "coded (COMP)", "dense-cache": "dense, page cache", "dense-disk": "dense, disk"}
planned = experiment.sql("SELECT network, way, memory_bytes / 1048576.0 AS mib, 1e6 / per_sample_us AS rate FROM plans WHERE feasible = 'true'")
executed = experiment.sql("SELECT network, way, memory_bytes / 1048576.0 AS mib, request * 1e6 / executed_us AS rate FROM executed")
planned["way"] = planned.way.map(WAYS)
figure, axes = curves(
    planned, "mib", "rate", line="way", panel="network", kind="lines", free=True, size=(9.4, 4.2),
    xscale="log", ylim=(0, None), xlabel="weights and activations (MiB)", ylabel="images a second",
)
for axis in axes:
    of_network = executed[executed.network == axis.get_title()]
    for line in list(axis.lines):
        points = of_network[of_network.way.map(WAYS) == line.get_label()]
        axis.plot(points.mib, points.rate, "o", color=line.get_color())
    limit = of_network[of_network.way == "unlimited"].rate.mean()
    axis.axhline(limit, color="black", linestyle="--", linewidth=1)
    axis.annotate("no limit, executed", (0.02, limit), xycoords=("axes fraction", "data"), va="bottom")
    axis.set_ylim(0)
