# Table III beside the paper's, and the batch sizes of Figure 9.
BEGIN {
    MiB = 1048576
    split("conv1/7x7_s2 pool1/3x3_s2 pool1/norm1 conv2/3x3_reduce conv2/3x3 pool2/3x3_s2 " \
        "inception_3a/output inception_5b/output pool5/7x7_s1 loss3/classifier", table, " ")
    split("9.29 12.99 16.93 17.69 9.63 14.67 18.66 19.65 19.61 16.08", baseline, " ")
    split("0.30 0.00 0.38 0.13 0.38 1.33 1.96 6.9 6.91 1.67", paper, " ")
}
FILENAME == ARGV[1] {
    n = col("name")
    order[++layers] = n
    fbs[n] = col("fbs_unused_bytes") / MiB
    dp[n] = col("dp_vbs_unused_bytes") / MiB
    fbs_batches[n] = col("fbs_batches")
    dp_batches[n] = col("dp_vbs_batches")
    if (col("unfolded_unused_bytes") != "")
        unfolded[n] = sprintf("%.2f", col("unfolded_unused_bytes") / MiB)
    mean["fbs"] += fbs[n]
    mean["dp"] += dp[n]
    below["fbs"] += fbs[n] < 2
    below["dp"] += dp[n] < 2
    next
}
col("planner") == "dp-vbs" {
    over_fbs = col("gain_over_fbs_percent")
    over_best = col("gain_over_fbs_best_percent")
}
function mib(table, n) { return n in table ? sprintf("%.2f", table[n]) : "-" }
END {
    if (csv_failed)
        exit 1
    printf "**In short:** of 20 MiB a layer of GoogLeNet leaves on average %.1f unused with fbs " \
        "and %.1f with dp-vbs; less than 2 MiB are left by %d and by %d of %d layers.\n\n", \
        mean["fbs"] / layers, mean["dp"] / layers, below["fbs"], below["dp"], layers
    print "GoogLeNet, request 12, io resident. Unused MiB in the step of a layer that uses most;"
    print "the column of im2col is computed from the shapes: 20 MiB less one image's input and"
    print "output, the weights and the unfolded input.\n"
    print "| layer | baseline, paper | computed, im2col | fbs here | its batches | dp-vbs, paper " \
        "| dp-vbs here | its batches |"
    print "| --- | ---: | ---: | ---: | --- | ---: | ---: | --- |"
    for (i = 1; i <= 10; i++) {
        n = table[i]
        print "| " n " | " baseline[i] " | " unfolded[n] " | " mib(fbs, n) " | " fbs_batches[n] \
            " | " paper[i] " | " mib(dp, n) " | " dp_batches[n] " |"
    }
    print "\nBatches: 3x4 is a batch of 3 four times in succession. All layers are in" \
        " [unused.csv](unused.csv)."
    printf "Judged by a second profile, dp-vbs takes %.1f%% less time here than fbs and %.1f%% " \
        "less than fbs-best.\n", over_fbs, over_best
    print "\nFigure 9 of the paper: inception_3a/output 6 then 2, inception_3a/3x3 3, 3 and 2,"
    print "inception_5b/output 8. Here:\n"
    print "| layer | batches |"
    print "| --- | --- |"
    for (i = 1; i <= layers; i++)
        if (order[i] ~ /^inception_3a/ || order[i] == "inception_5b/output")
            print "| " order[i] " | " dp_batches[order[i]] " |"
}
