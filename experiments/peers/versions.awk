# Which machine, day and peers the rows of peers.csv come from, as one sentence.
BEGIN { FS = "," }
/^# [a-z]+: / {
    key = substr($1, 3, index($1, ":") - 3)
    sub(/^# [a-z]+: /, "")
    is[key] = $0
    next
}
$1 != "peer" {
    name = $1
    sub(/-.*/, "", name)
    if (!(name in version)) {
        version[name] = $2
        said = said (said == "" ? "" : ", ") name " " $2
    }
}
END { print "Measured on " is["device"] ", " substr(is["date"], 1, 10) ": " said "." }
