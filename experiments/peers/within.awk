# With budgets: for each that joint was executed in, the best of the peers whose runs fit in as
# much, beside it. Reads peers.csv, then budgets.csv.
"planner" in csv_column {
    bytes = col("budget_bytes")
    at = col("network")
    rate = 1e6 * col("request") / col("median_us")
    key = at SUBSEP bytes
    if (!(key in ours)) {
        order[++n] = key
        network[key] = at
        budget[key] = bytes
    }
    if (rate > ours[key]) {
        ours[key] = rate
        rise[key] = col("high_water_bytes") - col("base_bytes")
    }
    next
}
{
    at = col("network")
    m = ++rows[at]
    fits[at, m] = col("run_high_water_bytes") - col("base_bytes")
    rates[at, m] = 1e6 * col("batch") / col("median_us")
    peer[at, m] = col("peer")
    batch[at, m] = col("batch")
    if (!(at in least) || fits[at, m] < least[at])
        least[at] = fits[at, m]
}
END {
    if (csv_failed)
        exit 1
    for (i = 1; i <= n; i++) {
        key = order[i]
        at = network[key]
        best = 0
        for (m = 1; m <= rows[at]; m++)
            if (fits[at, m] <= budget[key] + 1048576 && (!best || rates[at, m] > rates[at, best]))
                best = m
        if (best) {
            ratio = rates[at, best] / ours[key]
            low = low == "" || ratio < low ? ratio : low
            high = ratio > high ? ratio : high
            said = sprintf("%s, batch %d | %.1f", peer[at, best], batch[at, best], rates[at, best])
        } else
            said = "none fits | "
        line[i] = sprintf("| %s | %.0f | %s | %.1f | %s |", at, budget[key] / 1048576, said, \
            ours[key], best ? sprintf("%.2f", ratio) : "")
    }
    printf "\nWith budgets, requests of 64, weights inside: the best peer whose runs fit in as much"
    printf " gives %.2f to %.2f of joint's images a second.\n", low, high
    print "A peer's memory is that of its runs above that of its library, without what loading took"
    print "for a moment; ours is the arena. Budgets are what the leanest peer needs, its half, quarter"
    print "and eighth, and what the fastest has.\n"
    print "| network | MiB | best peer | its images/s | joint, executed, images/s | ratio |"
    print "| --- | ---: | --- | ---: | ---: | ---: |"
    for (i = 1; i <= n; i++)
        print line[i]
}
