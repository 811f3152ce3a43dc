# From which memory greedy-vbs fits, where it beats fbs, and what dp-vbs gains over both.
BEGIN {
    MiB = 1048576
    paper[6] = "below 30"
    paper[8] = "below 35"
    paper[10] = paper[12] = "up to 40"
}
{
    r = col("request") + 0
    io = col("io")
    mib = col("memory_bytes") / MiB
    if (col("planner") == "greedy-vbs")
        least[r, io] = col("least_bytes") / MiB
    if (col("feasible") != "true")
        next
    us[r, io, mib, col("planner")] = col("per_sample_us")
}
function gain(r, io, mib, planner, baseline) {
    return 100 * (1 - us[r, io, mib, planner] / us[r, io, mib, baseline])
}
# Over the budgets where both fit: how many, least, most and number of gains above 0.
function survey(r, io, planner, baseline,    mib, g) {
    count = wins = 0
    for (mib = 15; mib <= 40; mib++)
        if ((r, io, mib, planner) in us && (r, io, mib, baseline) in us) {
            g = gain(r, io, mib, planner, baseline)
            if (!count || g < low)
                low = g
            if (!count || g > high)
                high = g
            count++
            wins += g > 0
        }
    return count ? sprintf("%.1f to %.1f", low, high) : "-"
}
function table(io,    r) {
    print "| request | greedy-vbs does not fit, paper | here | greedy-vbs over fbs, percent " \
        "| faster at | dp-vbs over fbs | dp-vbs over greedy-vbs |"
    print "| ---: | --- | --- | ---: | ---: | ---: | ---: |"
    for (r = 6; r <= 12; r += 2) {
        printf "| %d | %s MiB | below %.1f MiB | %s", r, paper[r], least[r, io], \
            survey(r, io, "greedy-vbs", "fbs")
        printf " | %s", (count ? wins " of " count " budgets" : "-")
        printf " | %s", survey(r, io, "dp-vbs", "fbs")
        printf " | %s |\n", survey(r, io, "dp-vbs", "greedy-vbs")
    }
}
END {
    if (csv_failed)
        exit 1
    printf "**In short:** greedy-vbs needs"
    for (r = 6; r <= 12; r += 2)
        printf "%s %.1f", (r > 6 ? "," : ""), least[r, "resident"]
    print " MiB for requests of 6, 8, 10 and 12; the paper has 30, 35 and more than 40 for the" \
        " last two.\n"
    print "GoogLeNet in 15 to 40 MiB, io resident, percent less time per image where both fit,"
    print "judged by the second profile.\n"
    table("resident")
    print "\nThe same with io external.\n"
    table("external")
}
