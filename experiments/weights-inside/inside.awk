# What this experiment keeps of `vbslab compare --csv --weights included`.
{
    print network "," source "," col("memory_bytes") "," col("planner") "," col("feasible") "," \
        col("per_sample_us") "," col("gap_percent") "," col("min_batch") "," col("max_batch") "," \
        col("peak_bytes") "," col("copied_bytes") "," col("copy_us") "," col("resident_bytes") "," \
        col("least_bytes")
}
