# One row of dp-vbs+ with weights outside: time per image in `memory`, and in a budget that is none.
col("planner") == "dp-vbs+" && col("feasible") == "true" {
    per_sample_us[col("memory_bytes") + 0 == memory + 0] = col("per_sample_us")
}
END {
    if (csv_failed)
        exit 1
    print network "," memory "," per_sample_us[1] "," per_sample_us[0]
}
