shares = experiment.sql("""
    SELECT graph || ', ' || times || ' times' AS panel, planner, excess_percent, share_percent FROM shares
    WHERE planner IN ('greedy-vbs', 'dp-monotone', 'dp-vbs', 'dp-vbs+') AND share_percent > 0 ORDER BY times, rowid
""")
figure, axes = curves(
    shares, "excess_percent", "share_percent", line="planner", panel="panel", kind="steps", columns=3, size=(8.6, 5.6),
    yscale="log", xlim=(0, 60), ylim=(0.05, 110), xlabel="percent above the optimum", ylabel="share of the cases (%)",
)
