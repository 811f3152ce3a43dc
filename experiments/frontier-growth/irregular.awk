# A chain of so many layers, made up: sizes, times and workspace at random, so that next to nothing
# repeats and curves are long. The generator is that of Park and Miller.
BEGIN {
    seed = 20261121
    print "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes," \
        "weight_bytes,in_place"
    in_bytes = size()
    for (i = 1; i <= layers; i++) {
        out_bytes = size()
        start = random(400)
        slope = 50 + random(400)
        workspace = random(2) > 1 ? size() / 2 : 0
        for (b = 1; b <= batches; b++) {
            row(b, "plain", start + slope * b * (1 + random(200) / 1000), 0)
            if (workspace)
                row(b, "fast", 0.6 * (start + slope * b * (1 + random(200) / 1000)), \
                    int(workspace * b * (1 + random(500) / 1000)))
        }
        in_bytes = out_bytes
    }
}
function random(n) { # 1..n
    seed = (16807 * seed) % 2147483647
    return 1 + int(n * seed / 2147483647)
}
function size() {
    return 4 * (1000 + random(random(4) > 3 ? 400000 : 50000))
}
function row(b, algorithm, us, ws) {
    printf "%d,L%d,conv,%d,%d,%s,%.3f,%.0f,%.0f,%.0f,0,0\n", i, i, i - 1, b, algorithm, us, \
        b * in_bytes, b * out_bytes, ws
}
