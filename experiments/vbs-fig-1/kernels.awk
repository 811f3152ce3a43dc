# Which kernels save or lose time from batch 1 to batch `last`: rows of a table, layers grouped by
# their fastest kernels of the first profile, times of the second, from 1% of the network's time on.
col("batch") != 1 && col("batch") != last { next }
FILENAME == ARGV[1] {
    key = col("layer") " " col("batch")
    if (!(key in time) || col("time_us") + 0 < time[key]) {
        time[key] = col("time_us") + 0
        algorithm[key] = col("algorithm")
    }
    next
}
{
    layer = col("layer")
    b = col("batch") + 0
    if (col("algorithm") != algorithm[layer " " b])
        next
    us[layer, b] = col("time_us") / b
    kind[layer] = col("kind")
    total += b == 1 ? us[layer, b] : 0
}
END {
    if (csv_failed)
        exit 1
    for (layer = 1; layer in kind; layer++) {
        small = algorithm[layer " 1"]
        large = algorithm[layer " " last]
        group = kind[layer] " | " small " | " (small == large ? "the same" : large)
        if (!(group in layers))
            order[++groups] = group
        layers[group]++
        before[group] += us[layer, 1]
        saved[group] += us[layer, 1] - us[layer, last]
    }
    for (g = 1; g <= groups; g++) {
        percent = 100 * saved[order[g]] / total
        if (percent >= 1 || percent <= -1)
            printf "| %s | %s | %d | %.2f | %.1f%% |\n", network, order[g], layers[order[g]], \
                before[order[g]] / 1000, percent
    }
}
