# Per layer what fbs-best and dp-vbs run, and its time in the first profile.
{
    run = FILENAME == ARGV[1] ? "best" : "dp"
    n = col("name")
    if (!(n in known)) {
        known[n] = 1
        order[++layers] = n
    }
    us[run, n] += col("end_us") - col("start_us")
    b = col("batch") + 0
    if (!((run, n) in low) || b < low[run, n])
        low[run, n] = b
    if (!((run, n) in high) || b > high[run, n])
        high[run, n] = b
    if (!((run, n, col("algorithm")) in used)) {
        used[run, n, col("algorithm")] = 1
        kernels[run, n] = kernels[run, n] (kernels[run, n] ? ", " : "") col("algorithm")
    }
}
function batches(run, n) {
    return low[run, n] == high[run, n] ? low[run, n] : low[run, n] "-" high[run, n]
}
END {
    if (csv_failed)
        exit 1
    printf "\n%s, io external, layer by layer: batches, kernels and milliseconds of the whole " \
        "request in the first profile.\n\n", network
    print "| layer | fbs-best | its kernels | ms | dp-vbs | its kernels | ms |"
    print "| --- | ---: | --- | ---: | ---: | --- | ---: |"
    for (i = 1; i <= layers; i++) {
        n = order[i]
        printf "| %s | %s | %s | %.1f | %s | %s | %.1f |\n", n, batches("best", n), \
            kernels["best", n], us["best", n] / 1000, batches("dp", n), kernels["dp", n], \
            us["dp", n] / 1000
    }
}
