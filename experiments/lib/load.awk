# Prints the SQL that makes the SQLite table `table` of a CSV file, or adds to that table the rows of
# a further file with the same columns. Numbers become numbers, times real ones even where they are
# whole; empty fields become NULL. A comment "# key: value" becomes a row of the table
# about(source, key, value), whose source is `table`. After quotes.awk.
BEGIN {
    FS = ","
    print "BEGIN;"
}
/^#/ {
    if (match($0, /^# [a-z]+: /))
        print "INSERT INTO about VALUES('" table "', '" substr($0, 3, RLENGTH - 4) "', " \
            text(substr($0, RLENGTH + 1)) ");"
    next
}
/"/ && !($0 = unquoted($0)) { stop("a quoted field does not end in its line") }
!n_columns {
    n_columns = NF
    line = ""
    for (i = 1; i <= NF; i++) {
        line = line (i > 1 ? ", " : "") "\"" $i "\""
        is_time[i] = $i ~ /(^|_)(us|ms|s)$|seconds$|^ms_/
    }
    print "CREATE TABLE IF NOT EXISTS " table "(" line ");"
    begin = "INSERT INTO " table "(" line ") VALUES("
    next
}
NF != n_columns { stop("not as many fields as columns") }
{
    line = begin
    for (i = 1; i <= NF; i++)
        line = line (i > 1 ? ", " : "") ($i == "" ? "NULL" : \
            $i ~ /^-?[0-9]+$/ ? $i (is_time[i] ? ".0" : "") : \
            $i ~ /^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$/ ? $i : text($i))
    print line ");"
}
END {
    if (failed)
        exit 1
    print "COMMIT;"
}

function text(value) {
    value = as_read(value)
    gsub(/'/, "''", value)
    return "'" value "'"
}

function stop(why) {
    print FILENAME ":" FNR ": " why > "/dev/stderr"
    failed = 1
    exit 1
}
