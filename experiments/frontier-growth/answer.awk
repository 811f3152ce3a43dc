# In short, the aims, the exponents of growth and the built-in networks. Reads growth.csv.
{
    p = col("planner")
    name = col("name")
    s = col("seconds") + 0
    if (col("series") == "networks") {
        if (!(name in layers))
            networks[++n_networks] = name
        layers[name] = col("layers")
        at = name "," col("request") "," p
        seconds[at] = s
        mib[at] = col("solver_bytes") / 1048576
        points[at] = col("points")
        if (s > slowest[col("request"), p]) {
            slowest[col("request"), p] = s
            slowest_name[col("request"), p] = name
        }
        over[col("request"), p] += s > (col("request") == 12 ? 0.1 : 5)
        next
    }
    x = col("series") == "layers" ? col("layers") : col("request")
    series = name "," p
    last[series] = s
    last_mib[series] = col("solver_bytes") / 1048576
    last_points[series] = col("points")
    last_x[series] = x
    # Small cases are over before they grow.
    if (x + 0 < (col("series") == "layers" ? 28 : 8))
        next
    add(series ",seconds", x, s)
    add(series ",bytes", x, col("solver_bytes"))
    add(series ",points", x, col("points"))
    m = col("layers")
    r = col("request")
    add(series ",bound", x, m * m * r * (m + r) * col("points"))
}
function add(key, x, y) {
    n[key]++
    sx[key] += log(x)
    sy[key] += log(y)
    sxx[key] += log(x) * log(x)
    sxy[key] += log(x) * log(y)
}
# The exponent of y in x, by least squares of the logarithms.
function exponent(key) {
    return (n[key] * sxy[key] - sx[key] * sy[key]) / (n[key] * sxx[key] - sx[key] * sx[key])
}
# No -0.0.
function zero(x) {
    return x > -0.05 && x < 0 ? 0 : x
}
function growth(name, text, unit,    i, at, planners) {
    split("dp-vbs dp-vbs+", planners, " ")
    for (i = 1; i <= 2; i++) {
        at = name "," planners[i]
        printf "| %s | %s | %.1f | %.1f | %.1f | %.1f | %.2f s, %.0f MiB, %d points at %d %s |\n", \
            text, planners[i], exponent(at ",bound"), exponent(at ",seconds"), \
            exponent(at ",bytes"), zero(exponent(at ",points")), last[at], last_mib[at], \
            last_points[at], last_x[at], unit
    }
}
function aim(request, planner) {
    return over[request, planner] ? sprintf("missed by %d of %d, %.2f s at worst (%s)", \
        over[request, planner], n_networks, slowest[request, planner], \
        slowest_name[request, planner]) : sprintf("met, %.2f s at worst (%s)", \
        slowest[request, planner], slowest_name[request, planner])
}
function both(name, request,    a, b) {
    a = name "," request ",dp-vbs"
    b = name "," request ",dp-vbs+"
    return sprintf(" %.3f | %.3f | %.1f | %d |", seconds[a], seconds[b], mib[b], points[b])
}
END {
    if (csv_failed)
        exit 1
    printf "**In short:** dp-vbs+ solves every built-in network exactly in %.2f s at most for 12 " \
        "samples and %.1f s for 64, an irregular chain of 200 layers in %.1f s; time grows as " \
        "layers to the %.1f and samples to the %.1f.\n\n", slowest[12, "dp-vbs+"], \
        slowest[64, "dp-vbs+"], last["irregular,dp-vbs+"], \
        exponent("irregular,dp-vbs+,seconds"), exponent("alexnet,dp-vbs+,seconds")
    print "| aim | dp-vbs | dp-vbs+ |"
    print "| --- | --- | --- |"
    printf "| every built-in network, 12 samples: 0.1 s | %s | %s |\n", aim(12, "dp-vbs"), \
        aim(12, "dp-vbs+")
    printf "| every built-in network, 64 samples: 5 s | %s | %s |\n", aim(64, "dp-vbs"), \
        aim(64, "dp-vbs+")
    printf "| a chain of 200 layers, 12 samples: 10 s | %s, %.1f s | %s, %.1f s |\n\n", \
        last["irregular,dp-vbs"] <= 10 ? "met" : "missed", last["irregular,dp-vbs"], \
        last["irregular,dp-vbs+"] <= 10 ? "met" : "missed", last["irregular,dp-vbs+"]
    print "Exponents of growth, fitted from 28 layers and 8 samples on; stated: of m^2 r (m + r) p with"
    print "the breakpoints p of the answer:\n"
    print "| what grows | planner | stated | time | memory of the solver | breakpoints " \
        "| at the end |"
    print "| --- | --- | ---: | ---: | ---: | ---: | --- |"
    growth("irregular", "layers, irregular chain, 12 samples", "layers")
    growth("hourglass", "layers, MobileNet-v1 to and fro, 12 samples", "layers")
    growth("alexnet", "samples, AlexNet", "samples")
    print "\nBuilt-in networks, modelled: seconds of dp-vbs and dp-vbs+, then MiB that dp-vbs+"
    print "held and the breakpoints of its curve.\n"
    print "| network | layers | 12: dp-vbs | dp-vbs+ | MiB | points | 64: dp-vbs | dp-vbs+ | MiB " \
        "| points |"
    print "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for (i = 1; i <= n_networks; i++)
        printf "| %s | %d |%s%s\n", networks[i], layers[networks[i]], both(networks[i], 12), \
            both(networks[i], 64)
}
