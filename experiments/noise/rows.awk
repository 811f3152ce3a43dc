# How often the rows of a profile were run, on average.
{
    n++
    runs += col("n_runs")
}
END {
    if (csv_failed)
        exit 1
    printf "%.0f\n", runs / n
}
