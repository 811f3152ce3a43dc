# One image of AlexNet with planner mmcnn anew in three memories: planned on the first profile, replayed
# on the second, beside times.csv.
first, second = experiment.profile("alexnet-weights-a"), experiment.profile("alexnet-weights-b")
kept = experiment.sql("""
    SELECT limit_mib, time_us AS kept_us, n_copies FROM times
    WHERE network = 'alexnet' AND planner = 'mmcnn' AND limit_mib IN (100, 20, 5)
""")
kept["now_us"] = [
    second.replay(first.plan(f"{int(size)}MiB", "mmcnn", request=1, weights="included")).time_us for size in kept.limit_mib
]
kept
