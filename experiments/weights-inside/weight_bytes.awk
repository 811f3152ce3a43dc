# Bytes of all weights of a profile.
!(col("layer") in known) {
    known[col("layer")] = 1
    sum += col("weight_bytes")
}
END {
    if (csv_failed)
        exit 1
    printf "%.0f\n", sum
}
