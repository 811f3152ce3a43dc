# The steps of a trace as rectangles: which samples of which layer, the first is 0.
{
    k = col("layer")
    printf "%s,%d,%d,%s,%d,%d,%d,%s,%s,%s\n", plan, col("step"), k, col("name"), col("batch"), \
        done[k], done[k] + col("batch"), col("start_us"), col("end_us"), col("memory_bytes")
    done[k] += col("batch")
}
END { if (csv_failed) exit 1 }
