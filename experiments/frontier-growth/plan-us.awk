# How long planning took, of a comparison.
col("planner") == planner { print col("plan_us") }
END { if (csv_failed) exit 1 }
