# The complete trials of one study beside its control, trial 0: `study` is its name, and `loss` the accuracy that a
# trial may lose to count for `best`, the largest gain in throughput so far. After csv.awk.
BEGIN {
    print "study,kind,seed,trial,removed,accuracy,lost,latency_us,samples_per_s,gain,parameters,macs,is_accurate,best"
    kind = study
    seed = 1
    if (match(study, /-[0-9]+$/)) {
        kind = substr(study, 1, RSTART - 1)
        seed = substr(study, RSTART + 1)
    }
    best = 1 # the control
}
col("state") != "complete" { next }
col("trial") == 0 {
    control_accuracy = col("accuracy")
    control_rate = col("throughput")
}
{
    removed = ""
    for (i = 1; i <= NF; i++)
        for (name in csv_column)
            if (csv_column[name] == i && name ~ /^removed:/ && col("trial") > 0)
                removed = removed (removed == "" ? "" : " ") (0 + $i)
    is_accurate = col("accuracy") >= control_accuracy - loss - 1e-9
    gain = col("throughput") / control_rate
    if (is_accurate && gain > best)
        best = gain
    printf "%s,%s,%d,%d,%s,%.6g,%.6g,%.6g,%.6g,%.5f,%d,%d,%d,%.5f\n", study, kind, seed, col("trial"), removed, col("accuracy"),
        control_accuracy - col("accuracy"), col("latency"), col("throughput"), gain, col("parameters"), col("macs"), is_accurate, best
}
END { if (csv_failed) exit 1 }
