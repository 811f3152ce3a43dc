gaps = experiment.sql("""
    SELECT network, 'io ' || io AS io, memory_bytes / 1048576.0 AS mib, 100 * (time_us / bound_us - 1) AS gap FROM proofs
    WHERE backend = 'onednn' AND request = 12 ORDER BY io, rowid
""")
figure, axes = curves(
    gaps, "mib", "gap", line="network", panel="io", size=(8.6, 3.8), xlim=(10, 40), ylim=(-0.1, 5),
    xlabel="memory budget (MiB)", ylabel="gap at most (%)",
)
for axis in axes:
    axis.axhline(1, color="black", linestyle="--", linewidth=1)
