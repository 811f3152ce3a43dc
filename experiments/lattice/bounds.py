bounds = experiment.sql("""
    SELECT memory_bytes / 1048576 AS mib, dp_vbs_plus_us / 12000 AS ms, 'dp-vbs+' AS what FROM bounds UNION ALL
    SELECT memory_bytes / 1048576, optimal_us / 12000, 'bound by patterns: the optimum' FROM bounds UNION ALL
    SELECT memory_bytes / 1048576, waiting_us / 12000, 'bound with what waiting samples keep' FROM bounds UNION ALL
    SELECT memory_bytes / 1048576, alone_us / 12000, 'bound of each layer alone' FROM bounds
""")
figure, axes = curves(
    bounds, "mib", "ms", line="what", size=(8.6, 4), xlabel="memory budget (MiB)", ylabel="time an image (ms)",
    looks={"bound by patterns: the optimum": {"color": "black", "linestyle": ":", "fillstyle": "none", "markersize": 8}},
)
