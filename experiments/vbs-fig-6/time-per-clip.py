clips = experiment.sql("""
    SELECT substr(label, 10) AS clip, planner, ms, judge,
        iif(label LIKE 'measured%', 'measured, 300 MiB', 'modelled, 4 GiB') AS panel FROM plans
    WHERE planner IN ('fbs', 'fbs-best', 'dp-vbs') AND (label LIKE 'modelled%' AND mib = 4096
        OR label LIKE 'measured%' AND judge = 'second' AND mib = 300)
""")
for name, rows in clips.groupby("panel", sort=False):
    figure, (axis,) = curves(
        rows, "clip", "ms", line="planner", panel="panel", size=(8.6, 3.4), kind="points",
        xlabel="frames x height x width of a clip", ylabel="time per clip (ms)", ylim=(0, None),
    )
    axis.tick_params("x", rotation=30)
