ratios = experiment.sql("""
    SELECT 'batch ' || CASE batch WHEN 1 THEN '1' WHEN 8 THEN '8 (VGG: 4)' WHEN 4 THEN '8 (VGG: 4)' ELSE '64 (VGG: 16)' END AS panel,
        layer, parts, parts_us / whole_us AS ratio FROM slices
    WHERE fastest = 1 AND (batch = 1 OR (batch IN (8, 64)) = (layer LIKE 'AlexNet%')) ORDER BY batch > 1, batch > 8, layer, parts
""")
figure, axes = curves(
    ratios, "parts", "ratio", line="layer", panel="panel", size=(8.6, 3.4), xscale="log", ylim=(0, None),
    xlabel="slices", ylabel="time of all slices / whole",
)
for axis in axes:
    axis.axhline(1, color="black", linestyle="--", linewidth=1)
    axis.set_xticks([2, 4, 8, 16, 32], [2, 4, 8, 16, 32])
