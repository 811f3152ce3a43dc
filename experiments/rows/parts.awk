# The parts of an estimate from the table that `vbslab plan` prints: before, first and last layer,
# their names, the tiles, and the time in microseconds.
BEGIN { FS = "  +" }

/^layers  / { parts = 1; next }

parts && NF >= 5 {
    sub(/^ +/, "")
    n = split($1, layers, "-")
    split($5, time, " ")
    scale = time[2] == "s" ? 1e6 : time[2] == "ms" ? 1e3 : 1
    gsub(/,/, ";", $4)
    printf "%s,%d,%d,%s,%s,%s,%g\n", before, layers[1], layers[n], $2, $3, $4, time[1] * scale
}
