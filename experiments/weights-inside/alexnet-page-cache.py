rates = experiment.sql("""
    SELECT network || ', from ' || replace(copies, 'page-cache', 'the page cache') AS panel, planner, memory_bytes / 1048576.0 AS mib, rate
    FROM plans WHERE file = 'curves' ORDER BY network, copies DESC, planner, mib
""")
figure, axes = curves(
    rates, "mib", "rate", line="planner", panel="panel", kind="lines", columns=2, free=True, size=(8.6, 9.6), xscale="log",
    ylim=(0, None), xlabel="memory budget, weights and all (MiB)", ylabel="images a second",
)
