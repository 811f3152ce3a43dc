# How long all parts take, as a multiple of the whole.
{
    way = col("layer") SUBSEP col("batch") SUBSEP col("algorithm")
    parts = col("parts") + 0
    if (!(way in known)) {
        known[way] = 1
        ways[++n_ways] = way
        whole_ms[way] = col("whole_us") / 1000
        fastest[way] = col("fastest")
        divided[way] = col("divided")
    }
    ratio = col("parts_us") / col("whole_us")
    times[way, parts] = sprintf("%.2f", ratio)
    if (col("noise_percent") > noise[way])
        noise[way] = col("noise_percent")
    if (!fastest[way])
        next
    name = col("layer")
    if (!(name in from)) {
        order[++n_layers] = name
        from[name] = to[name] = ratio
    }
    from[name] = ratio < from[name] ? ratio : from[name]
    to[name] = ratio > to[name] ? ratio : to[name]
    most[name] = parts > most[name] ? parts : most[name]
}
END {
    if (csv_failed)
        exit 1
    n_numbers = split("2 4 8 16 32", numbers, " ")
    printf "**In short:** with the fastest algorithm of each batch all parts together take"
    for (i = 1; i <= n_layers; i++)
        printf "%s %.2f to %.2f of the time of the whole for %s in up to %d parts", \
            (i > 1 ? "," : ""), from[order[i]], to[order[i]], order[i], most[order[i]]
    print ".\n"
    print "Time of all parts together over the time of the whole; 1 is their share exactly. Noise"
    print "is half of the largest 95% interval of a ratio of the line. The fastest algorithm of a"
    print "layer and batch is bold; italic ones the planners do not take in parts, and the line"
    print "above leaves them out.\n"
    printf "| layer | batch | algorithm | whole, ms |"
    for (i = 1; i <= n_numbers; i++)
        printf " %d parts |", numbers[i]
    printf " noise |\n| --- | ---: | --- | ---: |"
    for (i = 1; i <= n_numbers + 1; i++)
        printf " ---: |"
    print ""
    for (w = 1; w <= n_ways; w++) {
        split(ways[w], field, SUBSEP)
        printf "| %s | %s | %s | %.3f |", field[1], field[2], \
            fastest[ways[w]] ? "**" field[3] "**" : divided[ways[w]] ? field[3] : \
            "*" field[3] "*", whole_ms[ways[w]]
        for (i = 1; i <= n_numbers; i++)
            printf " %s |", times[ways[w], numbers[i]]
        printf " %.0f%% |\n", noise[ways[w]]
    }
}
