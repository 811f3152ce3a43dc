# One line in short, and the table of planners.
{
    cell[col("planner"), col("io")] = col("feasible") == "true" ? col("per_sample_us") : "-"
    gain[col("planner"), col("io")] = col("feasible") == "true" ? \
        sprintf("%.1f%%", col("gain_over_fbs_percent")) : "-"
    peak[col("planner"), col("io")] = col("feasible") == "true" ? col("peak_bytes") : "-"
    least[col("planner"), col("io")] = col("least_bytes")
}
END {
    if (csv_failed)
        exit 1
    n = split("fbs fbs-best greedy-vbs dp-vbs", planners, " ")
    paper["fbs"] = 12
    paper["dp-vbs"] = 10
    printf "**In short:** %s a sample with dp-vbs against %s with fbs in 7 units of memory, " \
        "under both accountings; the paper has %s against %s.\n\n", cell["dp-vbs", "resident"], \
        cell["fbs", "resident"], paper["dp-vbs"], paper["fbs"]
    print "| planner | time a sample, paper | external | resident | gain over fbs, resident " \
        "| peak, resident | least memory, resident |"
    print "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for (i = 1; i <= n; i++) {
        p = planners[i]
        print "| " p " | " (p in paper ? paper[p] : "") " | " cell[p, "external"] " | " \
            cell[p, "resident"] " | " gain[p, "resident"] " | " peak[p, "resident"] " | " \
            least[p, "resident"] " |"
    }
    if (cell["dp-vbs", "resident"] != cell["dp-vbs", "external"] ||
        cell["fbs", "resident"] != cell["fbs", "external"]) {
        print "the two accountings differ" > "/dev/stderr"
        exit 1
    }
}
