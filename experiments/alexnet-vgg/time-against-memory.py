times = experiment.sql("""
    SELECT label || ', request of ' || request AS network, mib, ms,
        iif(judge = 'self', planner || ', self-judged', planner) AS planner FROM plans
    WHERE io = 'external' AND planner IN ('fbs', 'fbs-best', 'dp-vbs') AND (judge = 'second' OR planner = 'dp-vbs')
    ORDER BY label, judge, place
""")
figure, axes = curves(
    times, "mib", "ms", line="planner", panel="network", free=True,
    looks={"dp-vbs, self-judged": {"color": "#707070", "linestyle": "--", "marker": ""}},
    xlabel="memory budget (MiB)", ylabel="time per image (ms)",
)
