# Where a profile comes from, as one sentence, from its provenance.
/^# [a-z]+: / {
    key = substr($2, 1, length($2) - 1)
    sub(/^# [a-z]+: /, "")
    is[key] = $0
    next
}
{ exit }
END {
    if (is["backend"] == "analytic")
        print "Modelled, not measured: " is["library"] " (" is["device"] ")."
    else
        print "Measured with " is["library"] " on " is["device"] ", " \
            (is["threads"] ? is["threads"] " threads, " : "") substr(is["date"], 1, 10) "."
}
