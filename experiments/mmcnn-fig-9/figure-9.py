times = experiment.sql("""
    SELECT network, planner, limit_mib, time_us / 1000 AS ms, n_copies FROM times WHERE feasible = 'true'
    ORDER BY rowid
""")
for y, label, scale in (("ms", "time per image (ms)", "linear"), ("n_copies", "copies per image", "log")):
    figure, axes = curves(
        times, "limit_mib", y, line="planner", panel="network", free=True, size=(8.6, 3.2), xscale="log", yscale=scale,
        xlim=(700, 4.3), xlabel="memory limit (MiB), tighter to the right", ylabel=label,
    )
