# Joins the network's layers with the profile's rows at batch 1: input, output, scratch of the
# fastest algorithm and least scratch of any; and what a convolution would need that unfolds its
# input for a matrix product (im2col): macs / output channels values of 4 bytes.
FILENAME == ARGV[1] {
    if (col("kind") == "conv") {
        split(col("shape"), shape, "x")
        im2col[col("name")] = 4 * col("macs") / shape[1]
    }
    next
}
col("batch") != 1 { next }
{
    k = col("layer") + 0
    name[k] = col("name")
    kind[k] = col("kind")
    in_bytes[k] = col("in_bytes")
    out_bytes[k] = col("out_bytes")
    in_place[k] = col("in_place")
    if (!(k in time) || col("time_us") + 0 < time[k]) {
        time[k] = col("time_us") + 0
        fastest[k] = col("ws_bytes")
        algorithm[k] = col("algorithm")
    }
    if (!(k in least) || col("ws_bytes") + 0 < least[k])
        least[k] = col("ws_bytes") + 0
    last = k
}
END {
    if (csv_failed)
        exit 1
    print "layer,name,kind,in_bytes,out_bytes,ws_fastest_bytes,ws_least_bytes,im2col_bytes," \
        "algorithm"
    for (k = 1; k <= last; k++)
        print k "," name[k] "," kind[k] "," in_bytes[k] "," (in_place[k] ? 0 : out_bytes[k]) "," \
            fastest[k] "," least[k] "," sprintf("%.0f", im2col[name[k]]) "," algorithm[k]
}
