# The bound of each layer alone: the cheapest batches that add up to the request, each by the
# fastest algorithm whose own input, output and workspace fit. Prints microseconds.
col("batch") + 0 <= request && col("in_bytes") + col("out_bytes") + col("ws_bytes") <= memory {
    at = col("layer") SUBSEP col("batch") + 0
    if (!(at in us) || col("time_us") + 0 < us[at])
        us[at] = col("time_us") + 0
}
col("layer") + 0 > layers { layers = col("layer") + 0 }
END {
    if (csv_failed)
        exit 1
    for (k = 1; k <= layers; k++) {
        best[0] = 0
        for (n = 1; n <= request; n++) {
            best[n] = -1
            for (b = 1; b <= n; b++)
                if ((k, b) in us && best[n - b] >= 0 &&
                    (best[n] < 0 || best[n - b] + us[k, b] < best[n]))
                    best[n] = best[n - b] + us[k, b]
        }
        total += best[request]
    }
    printf "%.1f\n", total
}
