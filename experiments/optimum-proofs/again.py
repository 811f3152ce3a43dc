# Planner optimal proves some of the optima anew, within a second each: AlexNet, request 4, io external.
profile = experiment.profile("alexnet-a")
kept = experiment.sql("""
    SELECT memory_bytes, time_us AS kept_us, bound_us FROM proofs
    WHERE network = 'alexnet' AND backend = 'onednn' AND request = 4 AND io = 'external' LIMIT 5
""")
kept["now_us"] = [profile.plan(int(size), "optimal", request=4, time_limit_s=60).time_us for size in kept.memory_bytes]
kept["same"] = (kept.now_us - kept.kept_us).abs() < 0.001  # kept with four digits
kept
