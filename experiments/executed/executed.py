cases = experiment.sql("""
    SELECT network || iif(weights = 'included', ', weights included', '') AS network, memory_bytes / 1048576.0 AS mib,
        100 * (executed_us / predicted_us - 1) AS off FROM executed ORDER BY weights, rowid
""")
figure, (axis,) = curves(
    cases, "mib", "off", line="network", kind="points", size=(8.6, 4.4), xscale="log",
    xlabel="budget (MiB)", ylabel="executed over predicted time (%)",
)
for limit in (5, -5):
    axis.axhline(limit, color="black", linestyle="--", linewidth=1)
