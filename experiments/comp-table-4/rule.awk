# COMP's way through a request of `images`: the number of images with the least time an image, as
# often as it goes, then the same for the rest. Reads the frontiers of requests of 1 to `images`.
# A request that falls into chunks takes no less time an image than its best chunk, so that the
# smallest request with the least time an image is one chunk. Prints how often, how
# many, and the time of one such chunk.
col("memory_bytes") + 0 <= memory { us[col("request") + 0] = col("time_us") + 0 }
END {
    if (csv_failed)
        exit 1
    for (left = images; left > 0; left -= count * best) {
        best = 0
        for (r = 1; r <= left; r++)
            if (r in us && (!best || us[r] / r < us[best] / best * (1 - 1e-9)))
                best = r
        if (!best) {
            print "nothing fits" > "/dev/stderr"
            exit 1
        }
        count = int(left / best)
        printf "%d %d %.3f\n", count, best, us[best]
    }
}
