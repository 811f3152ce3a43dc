# How often the second profile's gain lies in the first profile's interval, and how far from it.
{
    network = col("network")
    if (!(network in n))
        names[++n_names] = network
    runs[network] = col("runs")
    half = (col("self_high_percent") - col("self_low_percent")) / 2
    other = (col("second_high_percent") - col("second_low_percent")) / 2
    more = col("self_percent") - col("second_percent")
    for (i = 1; i <= 2; i++) {
        key = i == 1 ? network : "all"
        n[key]++
        inside[key] += col("self_low_percent") + 0 <= col("second_percent") + 0 &&
            col("second_percent") + 0 <= col("self_high_percent") + 0
        both[key] += more * more <= half * half + other * other
        sum_half[key] += half
        sum_more[key] += more
        sum_square[key] += more * more
    }
}
function share(part, key) { return sprintf("%.0f", 100 * part / n[key]) }
function row(key) {
    printf "| %s | %s | %d | %s | %s | %.1f | %+.1f | %.1f |\n", key, runs[key], n[key], \
        share(inside[key], key), share(both[key], key), sum_half[key] / n[key], \
        sum_more[key] / n[key], sqrt(sum_square[key] / n[key])
}
END {
    if (csv_failed)
        exit 1
    least = 100
    for (i = 1; i <= n_names; i++) {
        part = share(inside[names[i]], names[i]) + 0
        least = part < least ? part : least
        most = part > most ? part : most
    }
    printf "**In short:** the gain that a second run of the measurement gives lies in the first" \
        " run's 95%% interval in %s%% of cases (%d to %d%% by network; 83%% if noise within a run" \
        " were all), and the two agree within both intervals in %s%% (95%%); they differ by %.1f" \
        " points (root mean square), and the first run, which also planned, promises %.1f more on" \
        " average.\n\n", share(inside["all"], "all"), least, most, share(both["all"], "all"), \
        sqrt(sum_square["all"] / n["all"]), sum_more["all"] / n["all"]
    print "Gains of dp-vbs+ over fbs and fbs-best, each plan once, in percent less time. Runs: of a"
    print "row of the first profile, on average. Inside: the second gain lies in the first one's"
    print "interval. Agree: the two differ by no more than both intervals allow. Half: mean half of"
    print "the first one's interval. More: how much larger the first one is, on average; and the"
    print "root of the mean square of that.\n"
    print "| network | runs | gains | inside, percent | agree, percent | half, points " \
        "| more, points | root mean square, points |"
    print "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for (i = 1; i <= n_names; i++)
        row(names[i])
    row("all")
}
