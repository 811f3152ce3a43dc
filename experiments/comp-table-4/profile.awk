# The profile of COMP's AlexNet from published.csv, batches 1 to 128. Stops where a layer's output is
# not the memory that Table III prints.
#
#   below=rate   (default) below batch 16 a layer takes the time of the line through both published
#                times or the time per image of batch 16, whichever is more
#   below=line   always the line
BEGIN {
    FLOAT = 4
    MiB = 1048576
    im2col = FLOAT * 11 * 11 * 3 * 55 * 55 # one image of conv1
    in_bytes = FLOAT * 3 * 227 * 227
    print "# model: alexnet"
    print "# input: 3x227x227"
    print "# backend: published"
    print "# device: Intel Xeon E5-2697 of COMP"
    print "# notes: times of COMP Table III, interpolated between batches 16 and 256"
    print "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes," \
        "weight_bytes,in_place"
}
function check(out_bytes, batch,    mib) {
    mib = sprintf("%.2f", out_bytes * batch / MiB)
    if (mib != col("mib_" batch))
        csv_fail(col("layer") " writes " mib " MiB at batch " batch ", not " col("mib_" batch))
}
function ms(batch,    line, rate) {
    line = col("ms_16") + (batch - 16) * (col("ms_256") - col("ms_16")) / 240
    rate = col("ms_16") / 16 * batch
    return batch < 16 && below != "line" && rate > line ? rate : line
}
{
    out_bytes = FLOAT * col("channels") * col("side") * col("side")
    check(out_bytes, 16)
    check(out_bytes, 256)
    layer++
    for (batch = 1; batch <= 128; batch++)
        printf "%d,%s,%s,%d,%d,default,%.3f,%d,%d,%d,0,0\n", layer, col("layer"), col("kind"), \
            layer - 1, batch, 1000 * ms(batch), batch * in_bytes, batch * out_bytes, \
            layer == 1 ? im2col : 0
    in_bytes = out_bytes
}
END { if (csv_failed) exit 1 }
