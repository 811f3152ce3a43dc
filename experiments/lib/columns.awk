# Prints the columns `columns` of every row as they stand in the file, `before` in front of them.
# After csv.awk.
BEGIN { n_columns = split(columns, wanted, ",") }
{
    line = before
    for (i = 1; i <= n_columns; i++)
        line = line (i > 1 ? "," : "") quoted(col(wanted[i]))
    print line
}
END { if (csv_failed) exit 1 }

function quoted(field) {
    if (field !~ /[,"]/)
        return field
    gsub(/"/, "\"\"", field)
    return "\"" field "\""
}
