# From a schedule in JSON: its time and the lower bound, in microseconds.
function number(name) {
    match($0, "\"" name "\": [0-9.e+-]+")
    return substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 4)
}
/"predicted"/ { time = number("time_us") }
/"bound"/ { printf "%.1f %.1f\n", time, number("time_us") }
