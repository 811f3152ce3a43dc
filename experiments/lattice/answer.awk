# In short, and the figures that the essay quotes. Reads steps.csv, cuts.csv, frontier.csv and
# bounds.csv.
FILENAME ~ /steps.csv$/ {
    p = col("plan")
    end[p] = col("end_us")
    steps[p]++
    peak[p] = col("memory_bytes") + 0 > peak[p] ? col("memory_bytes") + 0 : peak[p]
    next
}
FILENAME ~ /cuts.csv$/ {
    cuts[col("plan"), col("kind")]++
    next
}
FILENAME ~ /frontier.csv$/ {
    c = col("curve")
    memory[c, ++n[c]] = col("memory_bytes") + 0
    time[c, n[c]] = col("time_us") + 0
    next
}
{
    at = col("memory_bytes") / 1048576
    optimum = col("optimal_us")
    budgets++
    proven += optimum - col("patterns_us") < 0.2 # both are rounded
    if (at == 35) {
        alone = 100 * (optimum / col("alone_us") - 1)
        waiting = 100 * (optimum / col("waiting_us") - 1)
        patterns = 100 * (optimum / col("patterns_us") - 1)
    }
    if (100 * (optimum / col("waiting_us") - 1) > most_waiting)
        most_waiting = 100 * (optimum / col("waiting_us") - 1)
}
# The time of a curve at some memory, 0: none.
function lookup(c, bytes,    i, us) {
    us = 0
    for (i = 1; i <= n[c] && memory[c, i] <= bytes; i++)
        us = time[c, i]
    return us
}
# At whole megabytes up to 60: how much longer a curve takes than another, on average and at most.
function compare(a, b, text,    m, x, y, sum, most, where, count) {
    for (m = 8; m <= 60; m++) {
        x = lookup(a, m * 1e6)
        y = lookup(b, m * 1e6)
        if (x == 0 || y == 0)
            continue
        count++
        sum += 100 * (x / y - 1)
        if (100 * (x / y - 1) > most) {
            most = 100 * (x / y - 1)
            where = m
        }
    }
    printf "| %s | %s | %.1f%% | %.1f%% at %d MB |\n", text, b, sum / count, most, where
}
function plan(p, text) {
    printf "| %s | %g | %d | %d | %d | %d | %s |\n", text, end[p], peak[p], steps[p], \
        cuts[p, "split"], cuts[p, "barrier"], cuts[p, "knot"] ? "no" : "yes"
}
END {
    if (csv_failed)
        exit 1
    printf "**In short:** the terms, each with a figure from real plans: paths of %d, %d and %d " \
        "through one lattice; a barrier that saves %d of %d; the curves of ResNet-50; bounds of " \
        "VGG-16 in 35 MiB that leave %.0f%%, %.1f%% and %.0f%%.\n\n", end["crossing-fbs"], \
        end["crossing-dp-vbs"], end["crossing-optimal"], \
        end["barrier-dp-vbs"] - end["barrier-dp-vbs+"], end["barrier-dp-vbs"], alone, waiting, \
        patterns
    print "| plan | time | peak, bytes | steps | splits | cuts between layers | cut down to steps |"
    print "| --- | ---: | ---: | ---: | ---: | ---: | --- |"
    plan("crossing-fbs", "[crossing.csv](crossing.csv), 6 samples in 16 bytes, fbs")
    plan("crossing-dp-vbs", "dp-vbs")
    plan("crossing-dp-vbs+", "dp-vbs+")
    plan("crossing-optimal", "optimal")
    plan("barrier-dp-vbs", "[barrier.csv](barrier.csv), 2 samples in 8 bytes, dp-vbs")
    plan("barrier-dp-vbs+", "dp-vbs+")
    plan("alexnet-dp-vbs", "AlexNet, 12 images in 4 MiB, dp-vbs")
    print "\nResNet-50, 12 images, from 8 to 60 MB:\n"
    print "| curve | takes longer than | on average | at most |"
    print "| --- | --- | ---: | ---: |"
    compare("fbs-best", "dp-vbs+", "fbs-best")
    compare("table", "dp-vbs", "dp-vbs in a table of 2 MB")
    compare("dp-vbs", "dp-vbs+", "dp-vbs")
    compare("dp-vbs+", "bound", "dp-vbs+")
    printf "\nVGG-16, 12 images, io resident, 35 MiB: the optimum is %.1f%% above the bound of " \
        "each layer alone,\n%.1f%% above that with waiting samples, and proven by patterns. " \
        "From 31 to 51 MiB patterns prove\n%d of %d budgets; waiting samples leave at most %.1f%%.\n", alone, \
        waiting, proven, budgets, most_waiting
}
