# The chunks of COMP's rule as a row of times.csv.
{
    time += $1 * $3
    chunks = chunks (NR > 1 ? " + " : "") ($1 > 1 ? $1 "x" : "") $2
}
END { printf "%s,COMP's rule,%s,%.3f,\n", at, chunks, time }
