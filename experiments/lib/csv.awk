# Reads CSV files by the names of their columns: col("batch"). Comments are passed over, and the
# program that follows sees the rows only. After quotes.awk.
BEGIN { FS = "," }
/^#/ { next }
/"/ && !($0 = unquoted($0)) { csv_fail("a quoted field does not end in its line") }
FILENAME != csv_file {
    csv_file = FILENAME
    split("", csv_column)
    for (i = 1; i <= NF; i++)
        csv_column[$i] = i
    next
}

function csv_fail(why) {
    print FILENAME ":" FNR ": " why > "/dev/stderr"
    csv_failed = 1
    exit 1
}

function col(name) {
    if (!(name in csv_column))
        csv_fail("no column '" name "'")
    return as_read($(csv_column[name]))
}
