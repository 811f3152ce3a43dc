# A row of proofs.csv from a schedule in JSON. A bound and a time that differ by rounding are equal.
/"predicted"/ { time = number("time_us") }
/"bound"/ { bound = number("time_us") }
/"solver"/ { bytes = number("peak_bytes") }
function number(name) {
    if (!match($0, "\"" name "\": [0-9.e+-]+"))
        return ""
    return substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 4)
}
END {
    split(seconds, clock, " ")
    printf "%s,%.4f,%.4f,%.3f,%.0f\n", at, time, bound, clock[2] - clock[1], bytes
}
