# The lines of a table from `vbslab profiles show` of profile `run` of `network`.
$1 == "copies" {
    source = $2
    sub(/:$/, "", source)
    printf "| %s, %s | %s | %.0f | %.1f | %s |\n", network, run, source, $3, $6, $9
    n++
}
END { exit n == 0 }
