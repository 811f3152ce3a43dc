# Rows of tests/misses as rows of random.csv: for each kind of graph, kind of times and planner how
# many cases are slower than the optimum, by how much, and how many have no plan.
BEGIN {
    n_planners = split("fbs fbs-best greedy-vbs dp-monotone dp-vbs dp-vbs+", planner, " ")
    print "graph,times,planner,cases,slower,infeasible,median_percent,p90_percent,worst_percent"
}
{
    kind = col("graph") "," col("times")
    if (!(kind in cases))
        order[++n_kinds] = kind
    cases[kind]++
    for (p = 1; p <= n_planners; p++)
        add(kind "," planner[p], col(planner[p]), col("optimal"))
}
function add(key, us, best) {
    if (us == "")
        infeasible[key]++
    else if (us > best) # times are whole numbers
        excess[key, ++slower[key]] = best > 0 ? 100 * (us / best - 1) : 0
}
# The excesses of a key in order, into sorted[1..n].
function sort(key,    i, j, n, v) {
    n = slower[key] + 0
    for (i = 1; i <= n; i++) {
        v = excess[key, i]
        for (j = i - 1; j >= 1 && sorted[j] > v; j--)
            sorted[j + 1] = sorted[j]
        sorted[j + 1] = v
    }
    return n
}
# The least value that so large a share of all does not exceed.
function quantile(n, share,    i) {
    i = int(share * n)
    if (i < share * n)
        i++
    return n ? sprintf("%.2f", sorted[i < 1 ? 1 : i]) : ""
}
END {
    if (csv_failed)
        exit 1
    for (k = 1; k <= n_kinds; k++)
        for (p = 1; p <= n_planners; p++) {
            key = order[k] "," planner[p]
            n = sort(key)
            printf "%s,%d,%d,%d,%s,%s,%s\n", key, cases[order[k]], n, infeasible[key], \
                quantile(n, 0.5), quantile(n, 0.9), quantile(n, 1)
        }
}
