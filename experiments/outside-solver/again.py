# Planner optimal anew on some of the cases, beside what both planners have in solver.csv.
kept = experiment.sql("""
    SELECT network, request, memory_bytes, max(time_us) FILTER (WHERE planner = 'optimal') AS optimal_us,
        max(time_us) FILTER (WHERE planner = 'cp-sat') AS cp_sat_us
    FROM solver GROUP BY network, request, memory_bytes LIMIT 6
""")
kept["now_us"] = [
    experiment.profile(f"{row.network}-a").plan(int(row.memory_bytes), "optimal", request=int(row.request)).time_us
    for row in kept.itertuples()
]
kept
