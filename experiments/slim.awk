# What the experiments keep of `vbslab compare --csv`; see compare_header in common.sh.
{
    print label "," (col("self_judged") == "true" ? "self" : "second") "," col("request") "," \
        col("io") "," col("memory_bytes") "," col("planner") "," col("feasible") "," \
        col("per_sample_us") "," col("gain_over_fbs_percent") "," \
        col("gain_over_fbs_best_percent") "," col("gap_percent") "," col("min_batch") "," \
        col("max_batch") "," col("peak_bytes") "," col("least_bytes")
}
