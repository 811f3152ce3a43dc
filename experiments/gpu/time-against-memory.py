times = experiment.sql("""
    SELECT label, mib, ms, planner FROM plans
    WHERE judge = 'second' AND planner IN ('fbs', 'dp-vbs') ORDER BY label, place
""")
figure, axes = curves(
    times, "mib", "ms", line="planner", panel="label", columns=3, size=(8.6, 6.4), free=True, xscale="log",
    xlabel="memory budget (MiB)", ylabel="time per image (ms)", xlim=(4, 128),
)
