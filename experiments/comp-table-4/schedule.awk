# A column of Table IV as a schedule of `request` images: a layer runs once its batch has come
# together, and on what is left at the end. `pool5` replaces the batch of that layer.
BEGIN {
    print "{ \"format\": \"vbslab-schedule-1\", \"model\": \"alexnet\", \"planner\": \"COMP\", " \
        "\"request\": " request ","
    print "  \"memory_bytes\": " memory ", \"io\": \"external\", \"weights\": \"excluded\","
    printf "  \"steps\": ["
}
{
    batch[++n] = col(column)
    if (col("layer") == "pool5" && pool5)
        batch[n] = pool5
}
# Runs layer k when it can, then those behind it.
function run(k,    b) {
    if (k > n)
        return
    b = k == 1 ? request - done[1] : done[k - 1] - done[k]
    if (b > batch[k])
        b = batch[k]
    if (b == 0 || (b < batch[k] && (k == 1 ? 0 : done[k - 1] < request)))
        return
    done[k] += b
    printf "%s\n    { \"layer\": %d, \"batch\": %d, \"algorithm\": \"default\" }", comma, k, b
    comma = ","
    run(k + 1)
    if (k > 1)
        run(k)
}
END {
    if (csv_failed)
        exit 1
    while (done[1] < request)
        run(1)
    print "\n  ] }"
}
