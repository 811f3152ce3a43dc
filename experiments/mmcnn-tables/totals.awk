# One network's sums by the definitions of README.md, from the layers of `models show`. A ReLU has a
# map of its own, as large as that of its layer; softmax and dropout have none.
col("kind") != "softmax" {
    in_bytes = col("in_bytes")
    out_bytes = col("out_bytes")
    weight_bytes = col("kind") == "conv" || col("kind") == "fc" ? col("weight_bytes") : 0
    if (maps == 0)
        maps = in_bytes
    bundled = col("bundled")
    maps += out_bytes * (1 + gsub(/relu/, "", bundled))
    weights += weight_bytes
    if (in_bytes + out_bytes + weight_bytes > largest)
        largest = in_bytes + out_bytes + weight_bytes
}
END {
    if (csv_failed)
        exit 1
    printf "%s,%.0f,%.0f,%.0f,%.0f,%s\n", label, weights, maps, weights + 2 * maps, largest, \
        prefetching_mib
}
