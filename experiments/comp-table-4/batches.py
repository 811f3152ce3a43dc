batches = experiment.sql("""
    SELECT times_the_model || ' times the model' AS times, schedule, layer, CAST(batches AS INTEGER) AS batch FROM batches
    WHERE schedule IN ('Table IV', 'COMP''s rule 1', 'dp-monotone')
""")
figure, axes = curves(
    batches, "layer", "batch", line="schedule", panel="times", yscale="log", ylabel="first batch of the layer", size=(10, 3.8),
)
for axis in axes:
    axis.set_yscale("log", base=2)
    axis.tick_params("x", rotation=90)
