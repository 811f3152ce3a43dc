# The machine and day of the comments of a file, as one sentence.
/^# [a-z]+: / {
    key = substr($2, 1, length($2) - 1)
    sub(/^# [a-z]+: /, "")
    is[key] = $0
    next
}
{ exit }
END { print "Timed on " is["device"] ", one core, " substr(is["date"], 1, 10) "." }
