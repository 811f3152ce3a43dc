# Puts the gains of two comparisons side by side, those of each plan once: a plan that a larger
# budget repeats has the same gains.
function gains(baseline,    key) {
    key = "gain_over_" baseline
    return col(key "_percent") "," col(key "_low_percent") "," col(key "_high_percent")
}
col("planner") != "dp-vbs+" || col("gain_over_fbs_percent") == "" { next }
FILENAME == ARGV[1] {
    self["fbs", col("memory_bytes")] = gains("fbs")
    self["fbs_best", col("memory_bytes")] = gains("fbs_best")
    next
}
{
    for (i = 1; i <= 2; i++) {
        baseline = i == 1 ? "fbs" : "fbs_best"
        pair = self[baseline, col("memory_bytes")] "," gains(baseline)
        if (!((baseline, pair) in seen))
            print network "," runs "," io "," col("memory_bytes") "," \
                (i == 1 ? "fbs" : "fbs-best") "," pair
        seen[baseline, pair] = 1
    }
}
