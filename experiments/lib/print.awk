# Prints what the script of template.awk returns, in SQLite's quote mode: texts as they are, rows
# through their format. %s takes numbers too, with as many digits as tell them apart. Any other
# conversion prints a text in its width and NULL as `missing`, and passes over a percent sign behind
# it: "%.1f%%" makes "-" of NULL where `missing` is that. A text that ends with \ is continued by the
# next one. A text that begins with "error: " ends all.
BEGIN { FS = "\037" }
/^\034/ { exit failed = 1 }
/^'\034/ { exit failed = 1 }
/^'\035/ {
    put(substr(plain($0), 2))
    next
}
/^'\036/ {
    format = substr(plain($0), 2)
    next
}
{ put(row()) }
END { exit failed }

# A value without its quotes.
function plain(value) {
    if (value == "NULL")
        return missing
    if (value ~ /^'/) {
        value = substr(value, 2, length(value) - 2)
        gsub(/''/, "'", value)
    }
    return value
}

# A number with as many digits as tell it from all others, which is how vbslab writes it.
function shortest(number,    digits, text) {
    for (digits = 15; digits < 17; digits++) {
        text = sprintf("%." digits "g", number)
        if (text + 0 == number + 0)
            return text
    }
    return sprintf("%.17g", number)
}

function row(    rest, text, conversion, n) {
    rest = format
    while (match(rest, /%[-+]?[0-9]*(\.[0-9]+)?[a-z%]/)) {
        text = text substr(rest, 1, RSTART - 1)
        conversion = substr(rest, RSTART, RLENGTH)
        rest = substr(rest, RSTART + RLENGTH)
        if (conversion == "%%") {
            text = text "%"
            continue
        }
        n++
        if ($n ~ /^[-0-9]/)
            text = text sprintf(conversion, conversion ~ /s$/ ? shortest($n) : $n)
        else if (conversion ~ /s$/)
            text = text sprintf(conversion, plain($n))
        else {
            gsub(/[+a-z]|\.[0-9]+/, "", conversion)
            text = text sprintf(conversion "s", plain($n))
            sub(/^%%/, "", rest)
        }
    }
    return n == NF ? text rest : "error: " NF " values for the format '" format "'"
}

function put(text) {
    if (text ~ /^error: /) {
        print text > "/dev/stderr"
        failed = 1
        exit
    }
    if (sub(/\\$/, "", text))
        printf "%s", text
    else
        print text
}
