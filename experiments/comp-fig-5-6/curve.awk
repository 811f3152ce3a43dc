# The points of a frontier within 45 MiB, with the planner before them, and its value there.
col("memory_bytes") + 0 <= 45 * 1048576 {
    us = col("time_us")
    print planner "," col("memory_bytes") "," us
}
END {
    if (csv_failed)
        exit 1
    print planner "," 45 * 1048576 "," us
}
