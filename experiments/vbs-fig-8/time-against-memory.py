times = experiment.sql("""
    SELECT 'request of ' || request || ' images' AS request, mib, ms, planner FROM plans
    WHERE io = 'resident' ORDER BY place
""")
figure, axes = curves(
    times, "mib", "ms", line="planner", panel="request", columns=2, size=(8.6, 6.4),
    xlabel="memory budget (MiB)", ylabel="time per image (ms)", xlim=(15, 40),
)
