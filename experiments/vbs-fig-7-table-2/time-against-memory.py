times = experiment.sql("""
    SELECT label, mib, ms, iif(judge = 'self', planner || ', self-judged', planner) AS planner FROM plans
    WHERE io = 'resident' AND (judge = 'second' OR planner = 'dp-vbs') ORDER BY label, judge, place
""")
figure, axes = curves(
    times, "mib", "ms", line="planner", panel="label", columns=2, size=(8.6, 6.4), free=True,
    looks={"dp-vbs, self-judged": {"color": "#707070", "linestyle": "--", "marker": ""}},
    xlabel="memory budget (MiB)", ylabel="time per image (ms)", xlim=(15, 40),
)
