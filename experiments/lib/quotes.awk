# Quoted fields of CSV, for programs that split lines at commas. Before csv.awk or load.awk.

# The line without its quotes; a comma inside them becomes a byte that no file has, which as_read turns
# back.
function unquoted(line,    part, n, i, plain) {
    n = split(line, part, "\"")
    if (n % 2 == 0)
        return ""
    for (i = 1; i <= n; i++) {
        if (i % 2 == 0)
            gsub(/,/, "\001", part[i])
        else if (part[i] == "" && i > 1 && i < n)
            part[i] = "\"" # it was doubled
        plain = plain part[i]
    }
    return plain
}

function as_read(field) {
    gsub(/\001/, ",", field)
    return field
}
