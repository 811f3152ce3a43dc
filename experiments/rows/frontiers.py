points = experiment.sql("""
    SELECT network, CASE planner WHEN 'rows' THEN 'dp-vbs+ by rows' WHEN 'whole' THEN 'dp-vbs+ whole' ELSE planner END AS planner,
        memory_bytes / 1048576.0 AS mib,
        time_us / (SELECT min(time_us) FROM curves w WHERE w.network = c.network AND w.planner = 'whole') AS times
    FROM curves c ORDER BY rowid
""")
figure, axes = curves(
    points, "mib", "times", line="planner", panel="network", columns=2, free=True, kind="steps", size=(8.6, 11), xscale="log",
    yscale="log", ylim=(0.9, 8), xlabel="memory (MiB)", ylabel="time",
)
