times = experiment.sql("""
    SELECT iif(pruning = 'comp', 'Table I', pruning || '% pruned') AS panel, times_the_model || 'x' AS memory,
        executed_us / 1e6 AS s, schedule FROM times
    WHERE images = 64 ORDER BY pruning <> 'comp', pruning, times_the_model, schedule = 'joint', schedule DESC
""")
figure, axes = curves(
    times, "memory", "s", line="schedule", panel="panel", kind="bars", free=True, size=(9.6, 3.4),
    looks={"fixed batch": {"color": "#0072B2"}, "COMP's rule": {"color": "#56B4E9"}, "joint": {"color": "#D55E00"}},
    xlabel="memory, times the model", ylabel="executed time (s)",
)
