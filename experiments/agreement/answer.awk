# How many files agree, and one line for each. Reads agreement.csv.
{
    result = col("result")
    count[result]++
    file = col("network") " (" col("exporter") " " col("opset") ")"
    if (!((col("network"), col("exporter") == "onnx") in seen)) {
        seen[col("network"), col("exporter") == "onnx"] = 1
        n_networks++
    }
    if (result == "agrees" && col("of_largest") + 0 > most + 0)
        most = col("of_largest")
    if (result != "agrees")
        others = others (others == "" ? "" : ", ") file
    said = col("said")
    gsub(/\|/, "\\|", said)
    line[++n] = "| " col("network") " | " col("exporter") " | " col("opset") " | " col("batch") " | " \
        col("layers") " | " result (said == "" ? "" : ": `" said "`") " | " \
        col("largest_absolute") " | " col("of_largest") " | " col("apart") " |"
}
END {
    if (csv_failed)
        exit 1
    printf "**In short:** %d of %d files of %d networks run and agree with ONNX Runtime, all within" \
        " %s of the largest value", count["agrees"], n, n_networks, most
    if (others != "")
        printf "; %d differ, %d are refused and %d fail: %s", count["differs"], count["refused"], \
            count["failed"], others
    print ".\n"
    print "Difference: the largest of all values of three samples, and the same over the largest"
    print "value; apart: how far the samples are from each other, over the largest value.\n"
    print "| network | exporter | opset | batch | layers | result | difference | of largest | apart |"
    print "| --- | --- | ---: | ---: | ---: | --- | ---: | ---: | ---: |"
    for (i = 1; i <= n; i++)
        print line[i]
}
