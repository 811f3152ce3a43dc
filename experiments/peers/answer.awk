# Ratios of ours to the fastest peer, and the times behind them. Reads times.csv.
function ms(field) {
    return field == "" ? "" : sprintf("%.2f", field / 1000 / col("batch"))
}
{
    line[++n] = sprintf("| %s | %s | %s | %s | %s | %s | %s | %s | %s |", col("network"), col("batch"), \
        ms(col("onnxruntime_us")), ms(col("openvino_us")), ms(col("pytorch_us")), \
        ms(col("vbslab_us")), ms(col("predicted_us")), col("fastest"), col("ratio"))
    wins[col("fastest")]++
    if (col("others_percent") > most_others)
        most_others = col("others_percent")
    if (col("ratio") == "")
        next
    ratios[++n_ratios] = col("ratio") + 0
    met += col("ratio") <= 1
    if (n_ratios == 1 || col("ratio") < low)
        low = col("ratio") + 0
    if (col("ratio") > high)
        high = col("ratio") + 0
}
END {
    if (csv_failed)
        exit 1
    printf "**In short:** the fastest peer is"
    said = 0
    split("openvino onnxruntime pytorch", runtimes, " ")
    for (r = 1; r in runtimes; r++)
        if (wins[runtimes[r]])
            printf "%s %s in %d of %d cases", (said++ ? "," : ""), runtimes[r], \
                wins[runtimes[r]], n
    if (n_ratios)
        printf "; vbslab takes %.2f to %.2f of its time, no longer than it in %d of %d", \
            low, high, met, n_ratios
    print ".\n"
    print "Milliseconds an image; ratio: vbslab over the fastest peer.\n"
    print "| network | batch | ONNX Runtime | OpenVINO | PyTorch | vbslab | predicted | fastest peer | ratio |"
    print "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- | ---: |"
    for (i = 1; i <= n; i++)
        print line[i]
    printf "\nOther processes took at most %.0f%% of the machine while these runs were timed.\n", \
        most_others
}
