# A row from the JSON of `vbslab replay`.
{ text = text " " $0 }
function number(key) {
    if (!match(text, "\"" key "\": *[-+.0-9eE]+")) {
        print "no \"" key "\" in the replay" > "/dev/stderr"
        exit 1
    }
    key = substr(text, RSTART, RLENGTH)
    sub(/.*: */, "", key)
    return key
}
END {
    print row ",true," number("time_us") "," number("compute_us") "," number("copy_us") "," \
        number("n_copies") "," number("copied_bytes") "," number("resident_bytes")
}
