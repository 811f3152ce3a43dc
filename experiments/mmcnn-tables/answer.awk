# Tables 4 and 2 of the paper beside ours.
BEGIN {
    MiB = 1048576
    n_limits = split("200 100 50 10 5", limits, " ")
    n_totals = split("alexnet|vgg-s|vgg-19|alexnet with 9 classes|vgg-s with pool1 rounded down", totals, "|")
    # normal, vDNN, ours, saved
    published["alexnet"] = "233|144|5|97.9"
    published["vgg-s"] = "432|288|5|98.9"
    published["vgg-19"] = "788|392|5|99.4"
    published["alexnet with 9 classes"] = published["alexnet"]
    published["vgg-s with pool1 rounded down"] = published["vgg-s"]
}
FILENAME == ARGV[1] {
    paper[col("row"), col("limit_mib")] = col("mib")
    next
}
FILENAME == ARGV[2] {
    network = col("network")
    row = col("row")
    at = network SUBSEP row SUBSEP col("limit_mib")
    ours[at] = col("mib")
    sn[network, col("layer"), col("limit_mib")] = col("sn")
    if (network == "alexnet") {
        name[row] = col("layer")
        n_rows = max(n_rows, row + 0)
    }
    if (col("limit_mib") == 5)
        fullest[network] = max(fullest[network], col("mib") + 0)
    next
}
{
    network = col("network")
    weights[network] = col("weight_bytes")
    normal[network] = col("normal_bytes")
    largest[network] = col("largest_layer_bytes")
    prefetching[network] = col("prefetching_mib")
}
function max(a, b) { return a > b ? a : b }
function mib(bytes) { return sprintf("%.2f", bytes / MiB) }

# How many cells of Table 4 are equal, and which rows are not.
function count(network, row, i) {
    equal = cells = 0
    different = ""
    for (row = 1; row <= n_rows; row++)
        for (i = 1; i <= n_limits; i++) {
            cells++
            if (ours[network, row, limits[i]] == paper[row, limits[i]])
                equal++
            else if (different !~ " " row "$")
                different = different " " row
        }
}

function table_4(row, i, line) {
    line = "| row | layer |"
    for (i = 1; i <= n_limits; i++)
        line = line " " limits[i] ", paper | here |"
    print line
    line = "| ---: | --- |"
    for (i = 1; i <= n_limits; i++)
        line = line " ---: | ---: |"
    print line
    for (row = 1; row <= n_rows; row++) {
        line = "| " row " | " name[row] " |"
        for (i = 1; i <= n_limits; i++)
            line = line " " paper[row, limits[i]] " | " cell(row, limits[i]) " |"
        print line
    }
}
function cell(row, limit) {
    return ours["alexnet", row, limit] == paper[row, limit] ? paper[row, limit] : \
        "**" ours["alexnet", row, limit] "**"
}

function table_2(i, network, from, saved) {
    print "| network | normal, paper | here | vDNN, paper | here | prefetching | ours, paper | " \
        "fullest row in 5 MiB here | saved, paper | here |"
    print "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for (i = 1; i <= n_totals; i++) {
        network = totals[i]
        split(published[network], from, "|")
        saved = sprintf("%.1f%%", 100 * (1 - 5 * MiB / normal[network]))
        print "| " network " | " from[1] " | " mib(normal[network]) " | " from[2] " | " \
            mib(largest[network]) " | " prefetching[network] " | " from[3] " | " \
            (network in fullest ? sprintf("%.2f", fullest[network]) : "") " | " from[4] "% | " \
            saved " |"
    }
}

# Those of the first n networks whose number of that column of Table 2 is ours rounded to MiB.
function equal_in(column, bytes, n, i, from, list) {
    for (i = 1; i <= n; i++) {
        split(published[totals[i]], from, "|")
        if (sprintf("%.0f", bytes[totals[i]] / MiB) == from[column])
            list = list (list ? ", " : "") totals[i]
    }
    return list
}

END {
    if (csv_failed)
        exit 1
    count("alexnet with 9 classes")
    nine = equal
    count("alexnet")
    printf "**In short:** %d of the %d cells of Table 4 come out to the digit, all but row%s, " \
        "and with nine classes %d do; vgg-19 runs fc6 in %d and %d parts in 10 and 5 MiB, the " \
        "paper in 40 and 81; of Table 2 vDNN comes out for %s, normal for %s.\n\n", equal, cells, \
        different, nine, sn["vgg-19", "fc6", 10], sn["vgg-19", "fc6", 5], \
        equal_in(2, largest, 3), equal_in(1, normal, n_totals)
    print "Table 4, AlexNet, MiB a row; what differs is bold:\n"
    table_4()
    print "\nTable 2, MiB, by the definitions below:\n"
    table_2()
    printf "\nWeights alone: %s, %s and %s MiB.\n", mib(weights["alexnet"]), \
        mib(weights["vgg-s"]), mib(weights["vgg-19"])
    print "\nParts of fc6 (self_number) in 10 and in 5 MiB: alexnet " sn["alexnet", "fc6", 10] \
        " and " sn["alexnet", "fc6", 5] ", vgg-s " sn["vgg-s", "fc6", 10] " and " \
        sn["vgg-s", "fc6", 5] ", vgg-19 " sn["vgg-19", "fc6", 10] " and " \
        sn["vgg-19", "fc6", 5] "."
}
