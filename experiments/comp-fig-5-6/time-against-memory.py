MIB = 2**20
times = experiment.sql("""
    SELECT iif(planner = 'fbs-best', 'best fixed batch', planner) AS planner, memory_bytes / 1048576.0 AS mib,
        time_us / 64000 AS ms FROM curves
""")
figure, (axis,) = curves(
    times, "mib", "ms", line="planner", kind="steps", size=(6.4, 3.8), xlim=(5, 45), ylim=(80, 200),
    looks={"best fixed batch": {"color": "#0072B2"}, "dp-monotone": {"color": "#D55E00"}},
    xlabel="memory budget (MiB)", ylabel="time an image (ms)",
)
for times_the_model in (1.5, 2, 2.5):
    axis.axvline(6.81 * times_the_model, ymax=0.62, color="black", linestyle="--", linewidth=1)
    axis.annotate(f"{times_the_model:g}x", (6.81 * times_the_model, 156), ha="center")
