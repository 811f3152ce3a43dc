times = experiment.sql("""
    SELECT images || ' images' AS panel, times_the_model || 'x' AS memory, executed_us / 1e6 AS s, schedule FROM times
    WHERE pruning = 'comp' ORDER BY images, times_the_model, schedule = 'joint', schedule DESC
""")
figure, axes = curves(
    times, "memory", "s", line="schedule", panel="panel", kind="bars", free=True,
    looks={"fixed batch": {"color": "#0072B2"}, "COMP's rule": {"color": "#56B4E9"}, "joint": {"color": "#D55E00"}},
    xlabel="memory, times the model", ylabel="executed time (s)",
)
