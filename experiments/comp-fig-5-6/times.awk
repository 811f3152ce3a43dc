# A row of times.csv from the trace of a replay: the batches of the first layer, from the largest to
# the smallest.
col("layer") == 1 {
    if (!largest || col("batch") + 0 > largest)
        largest = col("batch") + 0
    if (!smallest || col("batch") + 0 < smallest)
        smallest = col("batch") + 0
}
col("memory_bytes") + 0 > peak { peak = col("memory_bytes") + 0 }
{ end = col("end_us") }
END {
    if (csv_failed)
        exit 1
    printf "%s,%s,%s,%.3f,%d\n", at, planner, \
        largest (smallest < largest ? "-" smallest : ""), end, peak
}
