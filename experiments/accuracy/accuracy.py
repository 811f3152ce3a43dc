points = experiment.sql("""
    SELECT title AS network, percent, CASE WHEN kind = 'dense' THEN 0.93 WHEN kind = 'longer' THEN 1.1 ELSE times_smaller END AS smaller,
        CASE kind WHEN 'dense' THEN 'dense' WHEN 'longer' THEN 'dense, trained as long' ELSE 'coded, a seed' END AS what
    FROM points JOIN titles USING (network) WHERE seed <> 'all' ORDER BY place, kind DESC
""")
means = experiment.sql("SELECT title AS network, 1.1 * times_smaller AS smaller, percent, low, high FROM points JOIN titles USING (network) WHERE seed = 'all'")
figure, axes = curves(
    points, "smaller", "percent", line="what", panel="network", kind="points", free=True, size=(10, 4), xscale="log",
    xlabel="times smaller (dense: 1)", ylabel="test images that are right (%)",
)
for axis in axes:
    rows = means[means.network == axis.get_title()]
    axis.errorbar(rows.smaller, rows.percent, [rows.percent - rows.low, rows.high - rows.percent], fmt="ks", markersize=4)
    for line in list(axis.lines):
        if str(line.get_label()).startswith("dense"):
            axis.axhline(line.get_ydata().mean(), color=line.get_color(), linestyle="--" if line.get_label() == "dense" else "-", linewidth=1)
    axis.set_xticks([1, 2, 5, 10, 20, 40, 85], [1, 2, 5, 10, 20, 40, 85])
