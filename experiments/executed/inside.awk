# VGG-16 with its weights inside the budget against weights outside: one sentence. Turns are paired.
{
    us[col("weights"), ++n[col("weights")]] = col("executed_us")
    predicted[col("weights")] = col("predicted_us")
    request = col("request")
    memory = col("memory_bytes")
}
END {
    if (csv_failed || !n["included"] || n["included"] != n["excluded"])
        exit 1
    for (i = 1; i <= n["included"]; i++)
        said = said sprintf("%s%.1f%%", i > 1 ? ", " : "", \
            100 * us["excluded", i] / us["included", i])
    printf "VGG-16, %d images, joint with all weights inside %.0f MiB reaches %s of the images a" \
        " second of dp-vbs+ with %.0f MiB for activations alone (three turns, executed; predicted" \
        " %.1f%%)", request, memory / 1048576, said, memory / 1048576, \
        100 * predicted["excluded"] / predicted["included"]
}
