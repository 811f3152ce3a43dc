# Judges a placement: awk -v capacity=BYTES -f place_valid.awk PROBLEM.csv PLACED.csv
# For files without quotes and gaps. Exit code 0 and the height, or 1 and what is wrong. Shares no
# code with the planner; buffers are compared two by two.
BEGIN { FS = "," }
{ sub(/\r$/, "") }
FNR == 1 {
    for (f = 1; f <= NF; f++)
        at[FILENAME == ARGV[1] ? 1 : 2, $f] = f
    if (FILENAME == ARGV[1])
        header = $0
    else if ($0 != header ",offset")
        fail("the header is " $0)
    next
}
FILENAME == ARGV[1] { row[++rows] = $0; next }
{
    n++
    offset[n] = $at[2, "offset"]
    if ($0 != row[n] "," offset[n])
        fail("row " n " is " $0)
    if (offset[n] !~ /^[0-9]+$/)
        fail("offset " offset[n])
    lower[n] = $at[2, "lower"]; upper[n] = $at[2, "upper"]; end[n] = offset[n] + $at[2, "size"]
    if (("2", "alignment") in at && offset[n] % $at[2, "alignment"])
        fail("row " n " is not aligned")
    if (end[n] > capacity)
        fail("row " n " ends at " end[n])
    if (end[n] > height)
        height = end[n]
    for (i = 1; i < n; i++)
        if (lower[i] < upper[n] && lower[n] < upper[i] && offset[i] < end[n] && offset[n] < end[i])
            fail("rows " i " and " n " overlap")
}
function fail(why) { print why; failed = 1; exit 1 }
END {
    if (!failed && n != rows)
        fail(n " rows of " rows)
    if (!failed)
        print height + 0
    exit failed
}
