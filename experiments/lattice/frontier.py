points = experiment.sql("""
    SELECT CASE curve WHEN 'table' THEN 'dp-vbs in a table of 2 MB' WHEN 'bound' THEN 'lower bound' ELSE curve END AS curve,
        memory_bytes / 1e6 AS mb, time_us / 12000 AS ms FROM frontier
""")
figure, axes = curves(
    points, "mb", "ms", line="curve", kind="steps", size=(8.6, 4.2), xlim=(6, 80), ylim=(15, 23),
    kinds={"dp-vbs in a table of 2 MB": "points", "lower bound": "lines"},
    looks={"dp-vbs in a table of 2 MB": {"color": "black", "marker": ".", "fillstyle": "full"}},
    xlabel="memory budget (MB)", ylabel="time an image (ms)",
)
