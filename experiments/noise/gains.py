gains = experiment.sql("""
    SELECT iif(network LIKE 'c3d%', 'c3d', network) AS network,
        iif(second_percent > self_percent, self_high_percent - self_percent, self_percent - self_low_percent) AS reach,
        max(abs(second_percent - self_percent), 0.01) AS distance FROM gains
""")
figure, (axis,) = curves(
    gains, "reach", "distance", line="network", kind="points", size=(7, 4.8), xscale="log", yscale="log",
    xlim=(0.1, 20), ylim=(0.008, 5), xlabel="from the gain to the end of its interval (percentage points)",
    ylabel="from the gain to that of the second profile",
)
axis.plot([0.1, 20], [0.1, 20], color="black", linestyle="--", linewidth=1)
axis.annotate("outside the interval", (0.12, 3), color="#404040")
_ = axis.annotate("inside", (6, 0.02), color="#404040")
