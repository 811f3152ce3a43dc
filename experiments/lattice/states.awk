# The states of crossing.csv at a request of 6 in 16 bytes, io external: samples that L1 and L2 have
# done, and the largest batch that either could take there; 0: none.
{
    k = col("layer")
    b = col("batch")
    out_bytes[k] = col("out_bytes") / b
    step_bytes[k, b] = col("out_bytes") + col("ws_bytes") + (k == 1 ? col("in_bytes") : 0)
}
function largest(k, waiting, left,    b) {
    for (b = left; b > 0 && waiting * out_bytes[1] + step_bytes[k, b] > 16; b--)
        ;
    return b
}
END {
    if (csv_failed)
        exit 1
    print "done_l1,done_l2,largest_l1,largest_l2"
    for (x = 0; x <= 6; x++)
        for (y = 0; y <= x; y++)
            print x "," y "," largest(1, x - y, 6 - x) "," largest(2, x - y, x - y)
}
