# Weights of every row of network `label`: those of the layer of that name.
FILENAME == ARGV[1] {
    bytes[col("name")] = col("weight_bytes")
    next
}
col("network") == label && col("limit_mib") == 5 {
    printf "%s,%d,%s,%.0f\n", label, col("row"), col("layer"), bytes[col("layer")]
}
END {
    if (csv_failed)
        exit 1
}
