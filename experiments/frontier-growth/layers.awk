# The number of layers of a profile.
col("layer") + 0 > layers { layers = col("layer") + 0 }
END {
    if (csv_failed)
        exit 1
    print layers
}
