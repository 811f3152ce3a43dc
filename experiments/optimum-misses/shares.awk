# Rows of tests/misses as the share of cases whose excess over the optimum is more than so much, in
# percent; a case without a plan exceeds everything.
BEGIN {
    n_planners = split("greedy-vbs dp-monotone dp-vbs dp-vbs+", planner, " ")
    most = 60
    print "graph,times,planner,excess_percent,share_percent"
}
{
    kind = col("graph") "," col("times")
    if (!(kind in cases))
        order[++n_kinds] = kind
    cases[kind]++
    best = col("optimal") + 0
    for (p = 1; p <= n_planners; p++) {
        us = col(planner[p])
        for (e = 0; e <= most && (us == "" || us > best * (1 + e / 100)); e++)
            above[kind "," planner[p] "," e]++
    }
}
END {
    if (csv_failed)
        exit 1
    for (k = 1; k <= n_kinds; k++)
        for (p = 1; p <= n_planners; p++)
            for (e = 0; e <= most; e++) {
                at = order[k] "," planner[p] "," e
                printf "%s,%.3f\n", at, 100 * above[at] / cases[order[k]]
            }
}
