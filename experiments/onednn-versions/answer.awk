# How much longer the layers of each network take than with the first version. After csv.awk.
{
    network = col("network")
    batch = col("batch")
    version = col("version")
    if (!seen["version", version]++)
        versions[++n_versions] = version
    if (!seen[network, batch]++) {
        cells[++n_cells] = network SUBSEP batch
        if (!seen["network", network]++)
            networks[++n_networks] = network
    }
    if (col("layouts") != "home")
        next
    if (col("winograd") == "yes") {
        add(network SUBSEP batch SUBSEP version, col("fastest_us"), col("median_us"))
        winograd[version] += col("n_winograd")
        layers[network, batch, version] += col("n_winograd")
    }
    if (col("winograd") == "no" || col("layers") == "fc")
        add(network SUBSEP batch SUBSEP version SUBSEP "no", col("fastest_us"), col("median_us"))
}
END {
    if (csv_failed)
        exit 1
    first = versions[1]
    newest = versions[n_versions]
    if (n_versions < 2) {
        print "answer.awk: one version, nothing to compare" > "/dev/stderr"
        exit 1
    }
    answer()
    print "\nThe layers with weights of one pass, each with its fastest kernel, in vbslab's home"
    print "layout; then how much longer they take without Winograd, and with newer versions. Sums"
    print "of the fastest runs; in brackets, of medians. The last column has the layers whose"
    print "fastest kernel in " first " is Winograd.\n"
    table(0)
    print "\nFully-connected layers alone, one of each shape that these networks have:\n"
    table(1)
}

function add(at, fastest_us, median_us) {
    fastest[at] += fastest_us
    median[at] += median_us
}

function answer(    n, v, before) {
    printf "**In short:** no: of the time with %s, %s takes", first, newest
    before = " "
    for (n = 1; n <= n_networks; n++)
        if (networks[n] != "fc-layers") {
            printf "%s%s for %s", before, range(networks[n], newest, ""), networks[n]
            before = ", "
        }
    printf ". Winograd makes the difference: %s without it takes %s,", first, range("", first, "no")
    printf " and of the newer ones"
    for (v = 2; v <= n_versions; v++)
        if (winograd[versions[v]])
            printf " %s alone has it (%s)", versions[v], range("", versions[v], "")
    print "."
}

# Least and largest share of the first version's time, over batches and, without a network, networks.
function range(network, version, without,    c, at, least, most, ratio, field) {
    least = most = 0
    for (c = 1; c <= n_cells; c++) {
        split(cells[c], field, SUBSEP)
        at = cells[c] SUBSEP version (without ? SUBSEP "no" : "")
        if (field[1] == "fc-layers" || network && field[1] != network || !(at in fastest))
            continue
        ratio = fastest[at] / fastest[cells[c], first]
        least = !least || ratio < least ? ratio : least
        most = ratio > most ? ratio : most
    }
    return sprintf("%.2f to %.2f", least, most)
}

function table(fc,    c, v, at, field) {
    printf fc ? "| batch | %s, ms |" : "| network | batch | %s, ms | without |", first
    for (v = 2; v <= n_versions; v++)
        printf " %s |", versions[v]
    print fc ? "" : " layers |"
    printf fc ? "| ---: | ---: |" : "| --- | ---: | ---: | ---: |"
    for (v = 2; v <= n_versions; v++)
        printf " ---: |"
    print fc ? "" : " ---: |"
    for (c = 1; c <= n_cells; c++) {
        split(cells[c], field, SUBSEP)
        if (fc != (field[1] == "fc-layers"))
            continue
        at = cells[c] SUBSEP first
        if (fc)
            printf "| %s | %.1f |", field[2], fastest[at] / 1000
        else
            printf "| %s | %s | %.1f | %s |", field[1], field[2], fastest[at] / 1000, \
                longer(at SUBSEP "no", at)
        for (v = 2; v <= n_versions; v++)
            printf " %s |", longer(cells[c] SUBSEP versions[v], at)
        print fc ? "" : " " layers[at] " |"
    }
}

function longer(at, base) {
    if (!(at in fastest))
        return "-"
    return percent(fastest[at] / fastest[base]) " (" percent(median[at] / median[base]) ")"
}

function percent(ratio,    text) {
    text = sprintf("%+.0f%%", 100 * (ratio - 1))
    return text ~ /^[-+]0%/ ? "0%" : text
}
