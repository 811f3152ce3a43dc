# The least memory of one planner in a table of compare.
col("planner") == planner { least = col("least_bytes") }
END {
    if (csv_failed || least == "")
        exit 1
    print least
}
