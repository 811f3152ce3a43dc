# Three points of the figure, planned anew by the Python package on the first profile and judged by the
# second one, beside the times of compare.csv.
first, second = experiment.profile("alexnet-a"), experiment.profile("alexnet-b")
planners = ["fbs", "fbs-best", "dp-vbs"]
again = first.compare("10MiB", planners, judge=second, request=64).to_dataframe()
kept = experiment.sql("""
    SELECT planner, per_sample_us AS kept_us FROM compare
    WHERE label = 'alexnet' AND judge = 'second' AND io = 'external' AND memory_bytes = 10 * 1048576
""")
both = again[["planner", "per_sample_us", "peak_bytes", "gap_percent"]].merge(kept, on="planner")
both["same"] = (both.per_sample_us == both.kept_us) | both.kept_us.isna()
both
