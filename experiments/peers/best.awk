# One row per network and batch: the fastest process of each runtime, with the fastest of its
# variants, and ours. Reads peers.csv, then ours.csv if there is one.
{
    at = col("network") "," col("batch")
    if (!(at in known)) {
        known[at] = 1
        order[++n] = at
    }
    # From ours.csv: what was executed goes before what was predicted.
    if ("kind" in csv_column) {
        if (!((at, "vbslab") in least) || col("kind") == "executed") {
            least[at, "vbslab"] = col("median_us")
            kind[at] = col("kind")
        }
        next
    }
    runtime = col("peer")
    sub(/-.*/, "", runtime)
    us = col("median_us") + 0
    if (!((at, runtime) in least) || us < least[at, runtime]) {
        least[at, runtime] = us
        variant[at, runtime] = col("peer")
        others[at, runtime] = col("others_percent")
    }
}
END {
    if (csv_failed)
        exit 1
    print "network,batch,onnxruntime_us,openvino_us,pytorch_us,pytorch_variant,vbslab_us," \
        "vbslab_kind,fastest,ratio,others_percent"
    split("onnxruntime openvino pytorch", runtimes, " ")
    for (i = 1; i <= n; i++) {
        at = order[i]
        fastest = ""
        disturbed = 0
        for (r = 1; r in runtimes; r++)
            if ((at, runtimes[r]) in least) {
                if (fastest == "" || least[at, runtimes[r]] < least[at, fastest])
                    fastest = runtimes[r]
                if (others[at, runtimes[r]] > disturbed)
                    disturbed = others[at, runtimes[r]]
            }
        ratio = (at, "vbslab") in least && fastest != "" ? \
            sprintf("%.3f", least[at, "vbslab"] / least[at, fastest]) : ""
        printf "%s,%s,%s,%s,%s,%s,%s,%s,%s,%s\n", at, least[at, "onnxruntime"], \
            least[at, "openvino"], least[at, "pytorch"], variant[at, "pytorch"], \
            least[at, "vbslab"], kind[at], fastest, ratio, disturbed
    }
}
