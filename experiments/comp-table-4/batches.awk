# The batches of every layer in the trace of a replay, in the order in which they first run; and a
# row about the whole, added to the file `plans`.
{
    layer = col("name")
    batch = col("batch")
    if (!(layer in batches)) {
        name[++n] = layer
        batches[layer] = batch
    } else if (!((layer, batch) in seen))
        batches[layer] = batches[layer] " " batch
    seen[layer, batch] = 1
    if (layer == name[1])
        images += batch
    if (col("memory_bytes") > peak)
        peak = col("memory_bytes")
    end = col("end_us")
}
END {
    if (csv_failed)
        exit 1
    printf "%s,%s,%d,%d,%d,%.3f,%d\n", times, label, repeats, images, memory, end, peak >>plans
    for (k = 1; k <= n; k++)
        print times "," label "," name[k] "," batches[name[k]]
}
