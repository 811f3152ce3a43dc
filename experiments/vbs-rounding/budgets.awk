# The points of a curve at 15, 16, ... 40 MiB; where it begins, and what the solver held.
{
    bytes[++points] = col("memory_bytes")
    us[points] = col("per_sample_us")
}
END {
    if (csv_failed)
        exit 1
    if (!points || held == "") {
        print "budgets.awk: " network ", " step ": no curve, or no memory of the solver" \
            > "/dev/stderr"
        exit 1
    }
    for (mib = 15; mib <= 40; mib++) {
        while (at < points && bytes[at + 1] <= mib * 1048576)
            at++
        print network "," step "," mib * 1048576 "," (at ? us[at] : "")
    }
    print network "," step "," bytes[1] "," held >> solvers
}
