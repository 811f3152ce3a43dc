gains = experiment.sql("""
    SELECT isa || iif(busy, ', busy', '') AS machine, memory_bytes / 1048576.0 AS mib, over_fbs_best_percent AS gain,
        over_fbs_best_low_percent AS low, over_fbs_best_high_percent AS high
    FROM by_turns WHERE planner = 'dp-vbs+' ORDER BY rowid
""")
figure, (axis,) = curves(
    gains, "mib", "gain", line="machine", kind="points", size=(8.6, 4.4), xscale="log",
    xlabel="budget (MiB)", ylabel="executed gain over fbs-best (%)",
)
axis.vlines(gains["mib"], gains["low"], gains["high"], color="gray", linewidth=1, zorder=0)
_ = axis.axhline(0, color="black", linestyle="--", linewidth=1)
