# The aims, the smallest memories, and what each planner needs at least, from outside.csv,
# eighths.csv and curves.csv.
BEGIN {
    MiB = 1048576
    n_planners = split("fbs dp-vbs+ vdnn mmcnn joint", planners, " ")
    n_sources = split("page-cache disk", sources, " ")
}
FILENAME == ARGV[1] {
    n_aims++
    aim_network[n_aims] = col("network")
    aim_bytes[n_aims] = col("memory_bytes")
    limited[n_aims] = 1e6 / col("limited_us")
    unlimited[col("network")] = 1e6 / col("unlimited_us")
    next
}
{
    name = col("network")
    if (!(name in known)) {
        known[name] = 1
        networks[++n_networks] = name
    }
    least[name, col("planner")] = col("least_bytes")
    if (col("feasible") != "true")
        next
    key = name SUBSEP col("copies") SUBSEP col("memory_bytes") SUBSEP col("planner")
    rate[key] = 1e6 / col("per_sample_us")
    gap[key] = col("gap_percent")
    copied[key] = col("copied_bytes")
    resident[key] = col("resident_bytes")
    batches[key] = col("min_batch") == col("max_batch") ? col("max_batch") : \
        col("min_batch") "-" col("max_batch")
    if (FILENAME == ARGV[2] || rate[key] < 0.95 * unlimited[name])
        next
    key = name SUBSEP col("copies") SUBSEP col("planner")
    if (!(key in near) || col("memory_bytes") + 0 < near[key])
        near[key] = col("memory_bytes") + 0
}
function mib(bytes) { return sprintf("%.1f", bytes / MiB) }
function at(network, source, bytes, planner) {
    return network SUBSEP source SUBSEP bytes SUBSEP planner
}
function images(key) { return key in rate ? sprintf("%.1f", rate[key]) : "-" }
function share(key, of) { return key in rate ? sprintf("%.1f%%", 100 * rate[key] / of) : "-" }
function faster(source, bytes,    joint, mmcnn) {
    joint = at("alexnet", source, bytes, "joint")
    mmcnn = at("alexnet", source, bytes, "mmcnn")
    return joint in rate && mmcnn in rate ? sprintf("%.1f", rate[joint] / rate[mmcnn]) : "-"
}
# The aim of a network at its budget; the first of outside.csv is an eighth of it.
function find_aim(network, bytes,    i) {
    for (i = 1; i <= n_aims; i++)
        if (aim_network[i] == network && (bytes == 0 || aim_bytes[i] == bytes))
            return i
}
function aim_share(network, bytes, source,    i) {
    i = find_aim(network, bytes)
    return share(at(network, source, aim_bytes[i], "joint"), limited[i])
}
function in_short(s) {
    printf "**In short:** of the throughput that dp-vbs+ has where that memory holds " \
        "activations alone, joint reaches with all weights inside, from the page cache (from " \
        "disk), %s (%s) for vgg-16 in 64 MiB", aim_share("vgg-16", 64 * MiB, "page-cache"), \
        aim_share("vgg-16", 64 * MiB, "disk")
    for (s = 1; s <= n_networks; s++)
        printf ", %s (%s) for %s", aim_share(networks[s], 0, "page-cache"), \
            aim_share(networks[s], 0, "disk"), networks[s]
    printf " in an eighth of their weights; alexnet in 10 and in 5 MiB is %s and %s times as " \
        "fast as with mmcnn (%s and %s).\n\n", faster("page-cache", 10 * MiB), \
        faster("page-cache", 5 * MiB), faster("disk", 10 * MiB), faster("disk", 5 * MiB)
}
function aims(i, s, network, source, bytes, joint) {
    print "Images a second in requests of 64, and joint's share of what dp-vbs+ reaches with the"
    print "weights outside, in that memory for activations alone and in any. Gap: how much longer"
    print "than the lower bound the plan takes. Resident and copied: MiB of weights a request.\n"
    print "| network | total, MiB | copies from | vdnn | mmcnn | joint | gap | outside | share " \
        "| unlimited | share | resident | copied |"
    print "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: " \
        "| ---: |"
    for (i = 1; i <= n_aims; i++)
        for (s = 1; s <= n_sources; s++) {
            network = aim_network[i]
            source = sources[s]
            bytes = aim_bytes[i]
            joint = at(network, source, bytes, "joint")
            printf "| %s | %s | %s | %s | %s | %s | %s | %.1f | %s | %.1f | %s | %s | %s |\n", \
                network, mib(bytes), source, images(at(network, source, bytes, "vdnn")), \
                images(at(network, source, bytes, "mmcnn")), images(joint), \
                joint in rate ? sprintf("%.1f%%", gap[joint]) : "-", limited[i], \
                share(joint, limited[i]), unlimited[network], share(joint, unlimited[network]), \
                joint in rate ? mib(resident[joint]) : "-", \
                joint in rate ? mib(copied[joint]) : "-"
        }
}
function smallest(m, s, bytes, source, joint) {
    print "\nAlexNet in the least memory of the paper, images a second:\n"
    print "| total, MiB | copies from | mmcnn | joint | times as fast | batches | gap " \
        "| copied, mmcnn | copied, joint |"
    print "| ---: | --- | ---: | ---: | ---: | --- | ---: | ---: | ---: |"
    for (m = 10; m >= 5; m -= 5)
        for (s = 1; s <= n_sources; s++) {
            source = sources[s]
            bytes = m * MiB
            joint = at("alexnet", source, bytes, "joint")
            print "| " m " | " source " | " images(at("alexnet", source, bytes, "mmcnn")) " | " \
                images(joint) " | " faster(source, bytes) " | " batches[joint] " | " \
                (joint in rate ? sprintf("%.1f%%", gap[joint]) : "-") " | " \
                mib(copied[at("alexnet", source, bytes, "mmcnn")]) " | " mib(copied[joint]) " |"
        }
}
function near_to(network, source, planner,    key) {
    key = network SUBSEP source SUBSEP planner
    return key in near ? mib(near[key]) : "-"
}
function leasts(i, p, line) {
    print "\nLeast total memory of each planner, MiB, and the least of the figures' budgets in"
    print "which it has 95% of the unlimited throughput:\n"
    line = "| network |"
    for (p = 1; p <= n_planners; p++)
        line = line " " planners[p] " |"
    print line " 95%: dp-vbs+ | vdnn | joint | joint, disk |"
    line = "| --- |"
    for (p = 1; p <= n_planners + 4; p++)
        line = line " ---: |"
    print line
    for (i = 1; i <= n_networks; i++) {
        line = "| " networks[i] " |"
        for (p = 1; p <= n_planners; p++)
            line = line " " mib(least[networks[i], planners[p]]) " |"
        print line " " near_to(networks[i], "page-cache", "dp-vbs+") " | " \
            near_to(networks[i], "page-cache", "vdnn") " | " \
            near_to(networks[i], "page-cache", "joint") " | " \
            near_to(networks[i], "disk", "joint") " |"
    }
}
END {
    if (csv_failed)
        exit 1
    in_short()
    aims()
    smallest()
    leasts()
    print "\nThe channel of each profile: a copy takes the latency and its bytes at the rate; error"
    print "is the largest distance of a measured size from that.\n"
    print "| profile | source | MB/s | latency, us | error |"
    print "| --- | --- | ---: | ---: | ---: |"
}
