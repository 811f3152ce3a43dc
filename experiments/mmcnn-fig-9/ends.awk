# The ends of a frontier: the least budget, the time there, and the time with any budget.
{
    n++
    if (n == 1) {
        least = col("memory_bytes")
        slowest = col("time_us")
    }
    fastest = col("time_us")
}
END {
    if (csv_failed || n == 0)
        exit 1
    print row "," least "," slowest "," fastest
}
