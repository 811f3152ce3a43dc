# Budgets to plan for, from peers.csv: a line for each network, budgets with commas. The least that any peer ran
# in, what the fastest had at its best batch, and the half, quarter and eighth of the least.
{
    at = col("network")
    if (!(at in least)) {
        order[++n] = at
        least[at] = 2 ^ 60
    }
    bytes = col("run_high_water_bytes") - col("base_bytes")
    rate = 1e6 * col("batch") / col("median_us")
    if (bytes < least[at])
        least[at] = bytes
    if (rate > most[at]) {
        most[at] = rate
        most_bytes[at] = bytes
    }
}
END {
    if (csv_failed)
        exit 1
    for (i = 1; i <= n; i++) {
        at = order[i]
        budgets = ""
        for (part = 8; part >= 1; part /= 2)
            budgets = budgets sprintf("%dMiB,", int(least[at] / part / 1048576))
        printf "%s %s%dMiB\n", at, budgets, int(most_bytes[at] / 1048576)
    }
}
