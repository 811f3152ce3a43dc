# Joins the optima of proofs.csv with the frontiers of the planners: one row for each budget and
# planner, with its excess over the best known schedule and over the proven bound.
BEGIN {
    print "network,request,io,memory_bytes,planner,time_us,best_us,bound_us,over_best_percent," \
        "over_bound_percent"
}
FILENAME ~ /frontiers.csv$/ {
    key = col("network") "," col("request") "," col("io") "," col("planner")
    if (!(key in points) && !seen[col("planner")]++)
        planner[++n_planners] = col("planner")
    n = ++points[key]
    memory[key, n] = col("memory_bytes") + 0
    time[key, n] = col("time_us") + 0
    next
}
col("backend") == "onednn" {
    key = col("network") "," col("request") "," col("io")
    at = col("memory_bytes") + 0
    best = col("time_us") + 0
    for (p = 1; p <= n_planners; p++) {
        us[p] = lookup(key "," planner[p], at)
        if (us[p] > 0 && us[p] < best * (1 - 1e-9)) {
            print key ", " planner[p] " at " at ": faster than the optimum in proofs.csv; " \
                "../optimum-proofs/measure renews that" > "/dev/stderr"
            csv_failed = 1
            exit 1
        }
    }
    for (p = 1; p <= n_planners; p++)
        printf "%s,%.0f,%s,%s,%.1f,%.1f,%s,%s\n", key, at, planner[p], \
            (us[p] > 0 ? sprintf("%.1f", us[p]) : ""), best, col("bound_us"), \
            over(us[p], best), over(us[p], col("bound_us"))
}
# The time of a frontier at some memory, 0: none.
function lookup(key, at,    n, us) {
    us = 0
    for (n = 1; n <= points[key] && memory[key, n] <= at; n++)
        us = time[key, n]
    return us
}
# Percent; sums of the same times in another order are equal.
function over(us, than) {
    if (us == 0)
        return ""
    return sprintf("%.4f", us > than * (1 + 1e-9) ? 100 * (us / than - 1) : 0)
}
END { if (csv_failed) exit 1 }
