# Milliseconds per image at every batch up to `last`: the algorithm of each layer is chosen as the
# fastest of the first profile; "self" are its times there, "second" those in the second profile.
# The second's are also split by kind of layer.
col("batch") > last { next }
FILENAME == ARGV[1] {
    key = col("layer") " " col("batch")
    if (!(key in time) || col("time_us") + 0 < time[key]) {
        time[key] = col("time_us") + 0
        algorithm[key] = col("algorithm")
    }
    next
}
{
    key = col("layer") " " col("batch")
    if (col("algorithm") == algorithm[key]) {
        b = col("batch")
        kind = col("kind") == "conv" || col("kind") == "fc" ? col("kind") : "other"
        self[b] += time[key]
        second[b, kind] += col("time_us")
        second[b] += col("time_us")
        found[key] = 1
        seen[b] = 1
    }
}
END {
    if (csv_failed)
        exit 1
    for (key in time)
        if (!(key in found)) {
            print network ": the second profile lacks a layer of the first" > "/dev/stderr"
            exit 1
        }
    for (b = 1; b <= last; b++)
        if (b in seen)
            printf "%s,%d,%.6f,%.6f,%.6f,%.6f,%.6f\n", network, b, self[b] / b / 1000, \
                second[b] / b / 1000, second[b, "conv"] / b / 1000, second[b, "fc"] / b / 1000, \
                second[b, "other"] / b / 1000
}
