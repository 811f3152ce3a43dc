# What each runtime does in how little memory: for every network the least that it ran in, and the
# most images a second, with the memory for that. Reads peers.csv.
{
    at = col("network") SUBSEP col("peer")
    if (!(at in least)) {
        order[++n] = at
        least[at] = -1
    }
    above = col("high_water_bytes") - col("base_bytes")
    rate = 1e6 * col("batch") / col("median_us")
    if (least[at] < 0 || above < least[at]) {
        least[at] = above
        total[at] = col("high_water_bytes")
        least_rate[at] = rate
    }
    if (rate > most[at]) {
        most[at] = rate
        most_bytes[at] = above
        most_batch[at] = col("batch")
    }
}
END {
    if (csv_failed)
        exit 1
    print "\nLeast memory a peer ran in, above that of its library and in total, MiB, and images a"
    print "second there; then its most images a second, at which batch, in how many MiB above.\n"
    print "| network | peer | least | total | images/s | most images/s | batch | MiB |"
    print "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for (i = 1; i <= n; i++) {
        at = order[i]
        split(at, field, SUBSEP)
        printf "| %s | %s | %.0f | %.0f | %.1f | %.1f | %d | %.0f |\n", field[1], field[2], \
            least[at] / 1048576, total[at] / 1048576, least_rate[at], most[at], most_batch[at], \
            most_bytes[at] / 1048576
    }
}
