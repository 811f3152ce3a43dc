WAYS = {
    ("conv-5-pruned-coded", "joint"): "pruned, coded, planned",
    ("conv-5-pruned", "joint"): "pruned, planned",
    ("conv-5-pruned-coded", "fbs"): "pruned, coded, one batch",
    ("conv-5-coded", "joint"): "coded, planned",
    ("conv-5", "joint"): "planned",
    ("conv-5", "fbs"): "one batch",
}
planned = experiment.sql("""
    SELECT profile, planner, memory_bytes / 1024.0 AS kib, 1e6 / per_sample_us AS rate FROM plans WHERE feasible = 'true'
""")
planned["way"] = [WAYS.get(pair) for pair in zip(planned.profile, planned.planner)]
figure, axes = curves(
    planned.dropna(), "kib", "rate", line="way", kind="lines", size=(7.2, 4.4), xscale="log", ylim=(0, None),
    xlabel="weights and activations (KiB)", ylabel="images a second",
)
