# How far executed times are from predicted ones: in all, by network and by planner, then each case.
function abs(x) { return x < 0 ? -x : x }

# The middle one of the n numbers list[of, 1..n].
function median(list, of, n,    i, j, t, sorted) {
    for (i = 1; i <= n; i++) {
        t = list[of, i]
        for (j = i - 1; j > 0 && sorted[j] > t; j--)
            sorted[j + 1] = sorted[j]
        sorted[j + 1] = t
    }
    return n % 2 ? sorted[(n + 1) / 2] : (sorted[n / 2] + sorted[n / 2 + 1]) / 2
}

function add(of, kind,    key) {
    key = kind SUBSEP of
    if (!(key in count)) {
        order[kind, ++kinds[kind]] = of
        worst[key] = 0
    }
    list[key, ++count[key]] = abs(off)
    sign[key, count[key]] = off
    worst[key] = abs(off) > abs(worst[key]) ? off : worst[key]
    within[key] += abs(off) <= 5
}

function table(kind, title,    i, key) {
    print "| " title " | cases | within 5% | median difference | largest |"
    print "| --- | ---: | ---: | ---: | ---: |"
    for (i = 1; i <= kinds[kind]; i++) {
        key = kind SUBSEP order[kind, i]
        printf "| %s | %d | %d | %.1f%% | %+.1f%% |\n", order[kind, i], count[key], within[key], \
            median(list, key, count[key]), worst[key]
    }
    print ""
}

{
    off = 100 * (col("executed_us") / col("predicted_us") - 1)
    fast[1, ++n_fast] = abs(100 * (col("fastest_us") / col("predicted_us") - 1))
    disturbed += col("executed_us") > 1.05 * col("fastest_us")
    add("all", "all")
    add(col("network"), "network")
    add(col("planner"), "planner")
    n++
    replanned += col("replans") > 0
    line[n] = sprintf("| %s | %s | %.2f | %.2f | %.2f | %+.1f%% | %.2f | %.2f |%s |", \
        col("network"), col("planner"), col("memory_bytes") / 1048576, \
        col("predicted_us") / 1000, col("executed_us") / 1000, off, \
        col("planned_bytes") / 1048576, col("placed_bytes") / 1048576, \
        col("replans") > 0 ? " " col("replans") : "")
}
END {
    if (csv_failed)
        exit 1
    key = "all" SUBSEP "all"
    printf "**In short:** executed times differ from predicted ones by %.1f%% (median of %d cases; the fastest run of each case by %.1f%%), in %d by 5%% or less, at most by %+.0f%%; in %d cases the machine was busy; %d of the schedules were planned again to be placed. %s.\n\n", \
        median(list, key, n), n, median(fast, 1, n), within[key], worst[key], disturbed, \
        replanned, inside
    table("network", "network")
    table("planner", "planner")
    print "Every case: the budget, predicted and executed milliseconds of the request, planned and"
    print "placed peak in MiB (where there is room placing ends with what fits), and how often the"
    print "schedule was planned again with less. Busy: the median lies more than 5% above the fastest.\n"
    print "| network | planner | budget | predicted | executed | difference | planned | placed | again |"
    print "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for (i = 1; i <= n; i++)
        print line[i]
}
