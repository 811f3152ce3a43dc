# One row per network and batch: the fastest process of each runtime, with the fastest of its
# variants, and ours. Reads peers.csv, then ours.csv if there is one.
# ours.csv: only rows without a budget compare with these.
"planner" in csv_column && col("budget_bytes") != "" { next }
{
    at = col("network") "," col("planner" in csv_column ? "request" : "batch")
    us = col("median_us") + 0
    if (!(at in known)) {
        known[at] = 1
        order[++n] = at
    }
}
"planner" in csv_column {
    if (!((at, "vbslab") in least) || us < least[at, "vbslab"]) {
        least[at, "vbslab"] = us
        predicted[at] = col("predicted_us")
        others[at, "vbslab"] = col("others_percent")
    }
    next
}
{
    runtime = col("peer")
    sub(/-.*/, "", runtime)
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
        "predicted_us,fastest,ratio,others_percent"
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
        if ((at, "vbslab") in least && others[at, "vbslab"] > disturbed)
            disturbed = others[at, "vbslab"]
        ratio = (at, "vbslab") in least && fastest != "" ? \
            sprintf("%.3f", least[at, "vbslab"] / least[at, fastest]) : ""
        printf "%s,%s,%s,%s,%s,%s,%s,%s,%s,%s\n", at, least[at, "onnxruntime"], \
            least[at, "openvino"], least[at, "pytorch"], variant[at, "pytorch"], \
            least[at, "vbslab"], predicted[at], fastest, ratio, disturbed
    }
}
