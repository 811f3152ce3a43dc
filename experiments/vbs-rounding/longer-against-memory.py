plans = experiment.sql("""
    SELECT network, 'steps of ' || step AS step, memory_bytes / 1048576 AS mib, longer_percent FROM plans
    WHERE step <> 'exact' AND longer_percent NOT NULL ORDER BY network, step = '100KiB', step = '512KiB', mib
""")
figure, axes = curves(
    plans, "mib", "longer_percent", line="step", panel="network", columns=2, size=(8.6, 6.4), free=True,
    xlabel="memory budget (MiB)", ylabel="longer than exact (%)", xlim=(15, 40), ylim=(0, None),
)
