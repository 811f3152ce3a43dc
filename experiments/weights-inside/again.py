# AlexNet in an eighth of its weights' memory, weights and all, planned anew and judged by the second
# profile, beside eighths.csv.
first, second = experiment.profile("alexnet-weights-a"), experiment.profile("alexnet-weights-b")
kept = experiment.sql("""
    SELECT planner, per_sample_us AS kept_us, memory_bytes FROM eighths
    WHERE network = 'alexnet' AND copies = 'page-cache' AND feasible = 'true'
""")
again = first.compare(
    int(kept.memory_bytes[0]), list(kept.planner), judge=second, request=64, weights="included", copy="page-cache"
).to_dataframe()
both = again[["planner", "per_sample_us", "peak_bytes"]].merge(kept, on="planner")
both
