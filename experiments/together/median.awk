# Joins profiles of one network: of each kernel the row whose time is the median; comments and copies are
# those of the first profile.
BEGIN { FS = "," }
/^#/ {
    if (NR == FNR)
        print
    next
}
!names {
    names = $0
    for (i = 1; i <= NF; i++)
        column[$i] = i
    print
}
$column["layer"] == "layer" { next }
{
    kernel = $column["layer"] FS $column["batch"] FS $column["algorithm"] FS $column["form"] FS $column["parts"]
    if (!(kernel in n))
        order[++kernels] = kernel
    row[kernel, ++n[kernel]] = $0
    time[kernel, n[kernel]] = $column["time_us"]
}
END {
    for (k = 1; k <= kernels; k++) {
        kernel = order[k]
        middle = int((n[kernel] + 1) / 2)
        for (i = 1; i <= n[kernel]; i++) {
            less = 0
            for (j = 1; j <= n[kernel]; j++)
                less += time[kernel, j] < time[kernel, i] || (time[kernel, j] == time[kernel, i] && j < i)
            if (less == middle - 1)
                print row[kernel, i]
        }
    }
}
