# One line in short, and the table of extremes beside the paper's.
BEGIN { MiB = 1048576 }
{
    n = col("name")
    activations = col("in_bytes") + col("out_bytes")
    here = (activations + col("ws_fastest_bytes")) / MiB
    note("any", here)
    if (col("kind") != "conv") {
        note("other", here)
        next
    }
    note("here", here)
    note("none", (activations + col("ws_least_bytes")) / MiB)
    note("unfolded", (activations + col("im2col_bytes")) / MiB)
}
function note(what, mib) {
    at[n, what] = mib
    if (!(what in low) || mib < low[what]) {
        low[what] = mib
        low_name[what] = n
    }
    if (!(what in high) || mib > high[what]) {
        high[what] = mib
        high_name[what] = n
    }
}
function row(text, what) {
    printf "| %s | %.2f (%s) | %.2f (%s) | %.1f | %.2f | %.2f |\n", text, low[what], \
        low_name[what], high[what], high_name[what], high[what] / low[what], at["conv1", what], \
        at["res2a_branch2a", what]
}
END {
    if (csv_failed)
        exit 1
    printf "**In short:** convolutions of ResNet-50 need from %.2f to %.2f MiB at batch 1 with " \
        "their fastest kernels, other layers up to %.2f; the paper has 1.07 to 10.7.\n\n", \
        low["here"], high["here"], high["other"]
    print "Input + output + scratch of the convolutions at batch 1, in MiB."
    print ""
    print "| accounting | least | most | ratio | conv1 | res2a_branch2a |"
    print "| --- | ---: | ---: | ---: | ---: | ---: |"
    print "| the paper (K80, cuDNN) | 1.07 | 10.7 (conv1) | 10.0 | 10.7 | 2.3 |"
    row("computed: every convolution unfolds its input (im2col)", "unfolded")
    row("here, fastest kernel of each layer", "here")
    row("here, least scratch", "none")
    print ""
    printf "Of all layers with their fastest kernels, %s needs the most: %.2f MiB.\n", \
        high_name["any"], high["any"]
}
