# One line in short, and a table: milliseconds per image, second profile; what the largest batch
# saves, and in which kind of layer.
{
    n = col("network")
    b = col("batch") + 0
    if (!(n in last))
        order[++networks] = n
    last[n] = b
    ms[n, b] = col("second_ms")
    conv[n, b] = col("conv_ms")
    fc[n, b] = col("fc_ms")
    other[n, b] = col("other_ms")
    if (n == "resnet-50" && b > 1 && !(col("second_ms") + 0 < ms[n, b - 1] + 0))
        rises = rises (rises ? ", " : "") b
}
function saved(from, to, whole) { return 100 * (from - to) / whole }
END {
    if (csv_failed)
        exit 1
    n = "resnet-50"
    e = last[n]
    printf "**In short:** ResNet-50 takes %.2f ms an image at batch 1 and %.2f at batch %d " \
        "(%.1f%% less); the largest saving is", ms[n, 1], ms[n, e], e, \
        saved(ms[n, 1], ms[n, e], ms[n, 1])
    for (i = 1; i <= networks; i++)
        if (!best || saved(ms[order[i], 1], ms[order[i], last[order[i]]], ms[order[i], 1]) > \
                saved(ms[best, 1], ms[best, last[best]], ms[best, 1]))
            best = order[i]
    printf " that of %s, %.1f%%.\n\n", best, saved(ms[best, 1], ms[best, last[best]], ms[best, 1])
    print rises ? "ResNet-50 does not get cheaper at every step of the batch: not at " rises "." : \
        "ResNet-50 gets cheaper at every step of the batch, as in the paper."
    print ""
    print "Milliseconds per image, algorithms chosen on the first profile and timed on the second;"
    print "the last four columns: percent of the time at batch 1 that the largest batch saves, and"
    print "in which layers."
    print ""
    print "| network | b = 1 | 2 | 4 | 8 | 12 | saved | by conv | by fc | by others |"
    print "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for (i = 1; i <= networks; i++) {
        n = order[i]
        e = last[n]
        one = ms[n, 1]
        printf "| %s | %.2f | %.2f | %.2f | %.2f | %.2f | %.1f%% | %.1f%% | %.1f%% | %.1f%% |\n", \
            n, one, ms[n, 2], ms[n, 4], ms[n, 8], ms[n, 12], saved(one, ms[n, e], one), \
            saved(conv[n, 1], conv[n, e], one), saved(fc[n, 1], fc[n, e], one), \
            saved(other[n, 1], other[n, e], one)
    }
}
