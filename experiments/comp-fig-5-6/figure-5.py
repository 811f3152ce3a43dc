times = experiment.sql("""
    SELECT images || ' images' AS images, times_the_model || 'x' AS memory, time_us / 1e6 AS s,
        iif(schedule = 'fbs-best', 'best fixed batch', schedule) AS schedule FROM times
    WHERE schedule IN ('fbs-best', 'COMP''s rule', 'dp-monotone', 'dp-vbs+')
    ORDER BY times.images, times_the_model, schedule <> 'fbs-best', schedule
""")
figure, axes = curves(
    times, "memory", "s", line="schedule", panel="images", kind="bars", free=True,
    looks={"best fixed batch": {"color": "#0072B2"}, "COMP's rule": {"color": "#56B4E9"}, "dp-monotone": {"color": "#D55E00"}},
    xlabel="memory, times the model", ylabel="time (s)",
)
