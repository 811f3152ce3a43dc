# A row of growth.csv from several planning times and a frontier in JSON.
FILENAME == ARGV[1] {
    if (NR == 1 || $1 + 0 < us)
        us = $1 + 0
    next
}
/"peak_bytes"/ { bytes = $2 + 0 }
/"memory_bytes"/ { points++ }
END { printf "%s,%.6f,%.0f,%d\n", at, us / 1e6, bytes, points }
