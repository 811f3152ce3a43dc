# A chain of so many layers, measured ones: the convolutions of MobileNet-v1 from first to last and
# back again, in and out exchanged, as often as it takes. Reads its profile.
BEGIN {
    FIRST = 1
    LAST = 27
    print "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes," \
        "weight_bytes,in_place"
}
{
    k = col("layer")
    row = ++rows[k]
    before[k, row] = col("batch") "," col("algorithm") "," col("time_us")
    in_bytes[k, row] = col("in_bytes")
    out_bytes[k, row] = col("out_bytes")
    ws_bytes[k, row] = col("ws_bytes")
}
END {
    if (csv_failed)
        exit 1
    period = 2 * (LAST - FIRST + 1)
    for (i = 1; i <= layers; i++) {
        at = (i - 1) % period
        back = at >= period / 2
        k = back ? FIRST + period - 1 - at : FIRST + at
        for (row = 1; row <= rows[k]; row++)
            print i ",L" i ",conv," i - 1 "," before[k, row] "," \
                (back ? out_bytes[k, row] : in_bytes[k, row]) "," \
                (back ? in_bytes[k, row] : out_bytes[k, row]) "," ws_bytes[k, row] ",0,0"
    }
}
