# What the layers of each network take together, each with the fastest kernel of those allowed, from
# the files of time_layers. After csv.awk.
{
    cell = col("network") "," col("batch") "," col("version")
    layer = col("layer") + 0
    way = cell SUBSEP layer SUBSEP col("layouts") SUBSEP col("kernel") SUBSEP col("src") SUBSEP \
        col("dst")
    if (!(cell in n_layers)) {
        cells[++n_cells] = cell
        n_layers[cell] = 0
    }
    if (layer >= n_layers[cell])
        n_layers[cell] = layer + 1
    kind[cell, layer] = col("kind")
    if (!(way in name)) {
        name[way] = col("kernel")
        at = cell SUBSEP layer
        ways[at, ++n_ways[at]] = way
    }
    home[way] = col("layouts") == "home"
    any[way] = col("layouts") == "any" || col("also_any")
    if (!col("dropped"))
        samples[way] = samples[way] " " col("samples_us")
    else if (col("samples_us") > 0)
        dropped[way] = col("samples_us")
}
END {
    if (csv_failed)
        exit 1
    print "network,batch,version,layers,layouts,winograd,n_layers,n_winograd,fastest_us,median_us"
    for (c = 1; c <= n_cells; c++) {
        print_sum(cells[c], "conv", "home", "yes")
        print_sum(cells[c], "conv", "home", "no")
        print_sum(cells[c], "conv", "any", "yes")
        print_sum(cells[c], "conv", "any", "no")
        print_sum(cells[c], "fc", "home", "yes")
    }
}

function print_sum(cell, which, layouts, winograd,    l, n, fastest, median) {
    n = n_winograd = fastest = median = 0
    for (l = 0; l < n_layers[cell]; l++)
        if (kind[cell, l] == which) {
            n++
            median += best(cell SUBSEP l, layouts, winograd, "median")
            fastest += best(cell SUBSEP l, layouts, winograd, "fastest")
            n_winograd += best_name ~ /wino/
        }
    if (n > 0)
        printf "%s,%s,%s,%s,%d,%d,%.1f,%.1f\n", cell, which, layouts, winograd, n, n_winograd, \
            fastest, median
}

# Of the kernels at home, or of those of any layout where no kernel is at home.
function best(at, layouts, winograd, how,    i, way, us, least) {
    least = 0
    for (i = 1; i <= n_ways[at]; i++) {
        way = ways[at, i]
        if (layouts == "home" ? !home[way] : !any[way])
            continue
        if (winograd == "no" && name[way] ~ /wino/)
            continue
        us = estimate(way, how)
        if (us > 0 && (least == 0 || us < least)) {
            least = us
            best_name = name[way]
        }
    }
    return least == 0 && layouts == "home" ? best(at, "any", winograd, how) : least
}

# Microseconds of one kernel; 0: nobody knows. The median is that of the undisturbed runs or, where
# they are fewer than five, the lower fifth of all. A kernel that was always dropped has the time of
# its warming up.
function estimate(way, how,    n, i, list, us, n_calm) {
    n = split(samples[way], list, " ")
    if (n == 0)
        return dropped[way] + 0
    split("", sorted)
    n_calm = 0
    for (i = 1; i <= n; i++)
        if (list[i] > 0)
            insert(list[i] + 0, ++n_calm)
    if (how == "median" && n_calm >= 5)
        return (sorted[int((n_calm + 1) / 2)] + sorted[int(n_calm / 2) + 1]) / 2
    split("", sorted)
    for (i = 1; i <= n; i++)
        insert(list[i] < 0 ? -list[i] : list[i] + 0, i)
    return how == "fastest" ? sorted[1] : sorted[int(n / 5) + 1]
}

# Into the first n - 1 of `sorted`, in order.
function insert(value, n) {
    while (n > 1 && sorted[n - 1] > value) {
        sorted[n] = sorted[n - 1]
        n--
    }
    sorted[n] = value
}
