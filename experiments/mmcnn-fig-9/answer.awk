# Time and transfers against the limit, beside the parts of the printed accounting.
BEGIN {
    MiB = 1048576
    n_shown = split("600 400 300 200 150 100 80 60 50 40 30 20 15 10 8 5", shown, " ")
    n_planners = split("mmcnn vdnn joint", planners, " ")
}
FILENAME == ARGV[1] {
    least[col("network"), col("planner")] = col("least_bytes") / MiB
    unlimited[col("network"), col("planner")] = col("fastest_us") / 1000
    next
}
FILENAME == ARGV[2] {
    printed[col("network"), col("limit_mib")] = col("parts_beyond_first")
    next
}
{
    name = col("network")
    if (!(name in known)) {
        known[name] = 1
        networks[++n_networks] = name
    }
    if (col("feasible") != "true")
        next
    key = name SUBSEP col("planner") SUBSEP col("limit_mib")
    ms[key] = col("time_us") / 1000
    computing[key] = col("compute_us") / 1000
    copies[key] = col("n_copies")
    copied[key] = col("copied_bytes") / MiB
    resident[key] = col("resident_bytes") / MiB
    if (col("planner") != "mmcnn")
        next
    if (!(name in low) || col("limit_mib") + 0 < low[name])
        low[name] = col("limit_mib") + 0
}
function limits_of(name, limit) { return name SUBSEP "mmcnn" SUBSEP limit }
function in_short(i, name, wide, tight) {
    printf "**In short:** one image with mmcnn:"
    for (i = 1; i <= n_networks; i++) {
        name = networks[i]
        wide = limits_of(name, 100)
        tight = limits_of(name, low[name])
        printf "%s %s %.1f ms in 100 MiB with %d copies, %.1f in %d MiB with %d (joint %.1f " \
            "and %.1f)", (i > 1 ? ";" : ""), name, ms[wide], copies[wide], ms[tight], low[name], \
            copies[tight], ms[name, "joint", 100], ms[name, "joint", low[name]]
    }
    print "; the paper too takes longer with more transfers, its numbers are not at hand."
}
function cell(key) {
    return key in ms ? sprintf("%.1f | %d | %.1f", ms[key], copies[key], copied[key]) : "- | - | -"
}
function table(name, i, limit, joint, mmcnn) {
    print "\n" name ": milliseconds for one image, copies, MiB copied; for mmcnn what computing"
    print "takes of it, and the parts beyond the first of all rows in the printed accounting.\n"
    print "| limit, MiB | mmcnn, ms | copies | MiB | computing, ms | printed parts | vdnn, ms " \
        "| copies | MiB | joint, ms | copies | MiB | resident, MiB |"
    print "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: " \
        "| ---: |"
    for (i = 1; i <= n_shown; i++) {
        limit = shown[i]
        joint = name SUBSEP "joint" SUBSEP limit
        mmcnn = limits_of(name, limit)
        print "| " limit " | " cell(mmcnn) " | " \
            (mmcnn in ms ? sprintf("%.1f", computing[mmcnn]) : "-") " | " \
            printed[name, limit] " | " cell(name SUBSEP "vdnn" SUBSEP limit) " | " \
            cell(joint) " | " (joint in ms ? sprintf("%.1f", resident[joint]) : "-") " |"
    }
}
END {
    if (csv_failed)
        exit 1
    in_short()
    for (i = 1; i <= n_networks; i++)
        table(networks[i])
    print "\nThe least limit of each planner, MiB, and milliseconds when memory is no limit, both"
    print "by the first profile:\n"
    print "| network | mmcnn | vdnn | joint | mmcnn, ms | vdnn, ms | joint, ms |"
    print "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for (i = 1; i <= n_networks; i++) {
        line = "| " networks[i]
        for (p = 1; p <= n_planners; p++)
            line = line sprintf(" | %.2f", least[networks[i], planners[p]])
        for (p = 1; p <= n_planners; p++)
            line = line sprintf(" | %.1f", unlimited[networks[i], planners[p]])
        print line " |"
    }
}
