# Keeps of the lines of search.c and peers.py those of trials that are better than all before them, and
# the last one of each search, with the mean time of a suggestion so far.
BEGIN { FS = OFS = "," }
{
    search = $1 FS $2 FS $3 FS $4
    if (search != before) {
        if (kept != "")
            print kept
        kept = value = ""
        sum = 0
    }
    before = search
    sum += $7
    $7 = sprintf("%.0f", sum / $5)
    if ($6 "" != value) {
        print
        kept = ""
        value = $6
    } else
        kept = $0
}
END {
    if (kept != "")
        print kept
}
