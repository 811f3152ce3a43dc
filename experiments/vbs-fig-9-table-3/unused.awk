# Joins the layers of the network with the traces of fbs and dp-vbs, in this order: of every layer
# its batches in order, runs of equal ones as "3x4", and the bytes that are unused in the step of it
# that uses most. Also what a convolution or fully-connected layer would leave unused by the paper's
# accounting: one image's input and output, the weights, and the unfolded input (im2col).
BEGIN { budget = 20 * 1048576 }
FILENAME == ARGV[1] {
    if (col("kind") == "conv" || col("kind") == "fc") {
        split(col("shape"), shape, "x")
        unfolded = col("kind") == "conv" ? 4 * col("macs") / shape[1] : 0
        paper[col("name")] = budget - col("in_bytes") - col("out_bytes") - col("weight_bytes") - \
            unfolded
    }
    next
}
{
    run = FILENAME == ARGV[2] ? "fbs" : "dp"
    n = col("name")
    if (!(n in known)) {
        known[n] = 1
        order[++layers] = n
        id[n] = col("layer")
    }
    free = budget - col("memory_bytes")
    if (!((run, n) in unused) || free < unused[run, n])
        unused[run, n] = free
    key = run SUBSEP n
    if (col("batch") == last[key])
        repeats[key]++
    else {
        flush(key)
        last[key] = col("batch")
        repeats[key] = 1
    }
}
function flush(key) {
    if (repeats[key])
        batches[key] = batches[key] (batches[key] ? " " : "") last[key] \
            (repeats[key] > 1 ? "x" repeats[key] : "")
}
END {
    if (csv_failed)
        exit 1
    for (key in last)
        flush(key)
    print "layer,name,fbs_batches,fbs_unused_bytes,dp_vbs_batches,dp_vbs_unused_bytes," \
        "unfolded_unused_bytes"
    for (i = 1; i <= layers; i++) {
        n = order[i]
        printf "%d,%s,%s,%.0f,%s,%.0f,%s\n", id[n], n, batches["fbs", n], unused["fbs", n], \
            batches["dp", n], unused["dp", n], (n in paper ? sprintf("%.0f", paper[n]) : "")
    }
}
