# Turns a template (see query in common.sh) into a script for sqlite3, whose output print.awk reads:
# texts after character 29, formats after character 30, and below a format the rows it is for.
/^--/ {
    end_text()
    end_query()
    in_comment = 1
    next
}
/^    / {
    if (!in_query) {
        if (!in_comment && (!has_text || text == "")) {
            print FILENAME ":" FNR ": a query needs a format or a comment above it" > "/dev/stderr"
            failed = 1
            exit 1
        }
        is_definition = !has_text
        if (has_text)
            print "SELECT char(30) || " quoted(text) ";"
        has_text = 0
    }
    in_query = 1
    print
    next
}
{
    end_text()
    in_comment = 0
    if (end_query() && is_definition && $0 == "")
        next
    has_text = 1
    text = $0
}
END {
    if (failed)
        exit 1
    end_text()
    end_query()
}

function end_text() {
    if (has_text)
        print "SELECT char(29) || " quoted(text) ";"
    has_text = 0
}

function end_query(    was_in_query) {
    was_in_query = in_query
    if (in_query)
        print ";"
    in_query = 0
    return was_in_query
}

function quoted(value) {
    gsub(/'/, "''", value)
    return "'" value "'"
}
