# What rounding costs in plans, and what it saves in solving.
BEGIN { MiB = 1048576 }
{
    network = col("network")
    step = col("step")
    if (!(network in known)) {
        known[network] = 1
        order[++networks] = network
    }
}
FILENAME ~ /plans/ {
    if (step != "exact" && !(step in known_step)) {
        known_step[step] = 1
        steps[++n_steps] = step
    }
    longer = col("longer_percent")
    if (longer == "") {
        none[network, step] += col("per_sample_us") == ""
        next
    }
    sum[network, step] += longer
    n[network, step]++
    if (!((network, step) in most) || longer + 0 > most[network, step]) {
        most[network, step] = longer + 0
        where[network, step] = col("memory_bytes") / MiB
    }
}
FILENAME ~ /solvers/ {
    least[network, step] = col("least_bytes") / MiB
    held[network, step] = col("solver_bytes") / MiB
}
FILENAME ~ /solving/ { us[network, step] = col("command_us") }

function solve_ms(network, step) {
    return (us[network, step] - us[network, "reading"]) / 1000
}
function row(network, step, name,    key) {
    key = network SUBSEP step
    printf "| %s | %s | %.2f | %s | %s | %d | %.1f | %.1f |\n", name, step, least[key], \
        (step == "exact" ? "" : sprintf("%.2f", sum[key] / n[key])), \
        (step == "exact" ? "" : sprintf("%.2f at %d MiB", most[key], where[key])), none[key], \
        held[key], solve_ms(network, step)
}
# The least and the largest of a ratio over the networks, as "0.1 to 2".
function range(step, what,    i, ratio, low, high) {
    for (i = 1; i <= networks; i++) {
        ratio = what == "time" ? solve_ms(order[i], step) / solve_ms(order[i], "exact") : \
            held[order[i], step] / held[order[i], "exact"]
        low = i == 1 || ratio < low ? ratio : low
        high = i == 1 || ratio > high ? ratio : high
    }
    return sprintf("%.2g to %.2g", low, high)
}
function worst(step,    i, high) {
    for (i = 1; i <= networks; i++)
        high = most[order[i], step] > high ? most[order[i], step] : high
    return high
}
END {
    if (csv_failed)
        exit 1
    printf "**In short:** plans take up to"
    for (s = 1; s <= n_steps; s++)
        printf "%s %.1f%%%s in steps of %s", (s == 1 ? "" : s < n_steps ? "," : " and"), \
            worst(steps[s]), (s == 1 ? " longer than exact ones" : ""), steps[s]
    fine = steps[n_steps]
    printf ". Against the exact solve for all budgets, a table up to 40 MiB takes %s times the " \
        "time and %s times the memory in steps of %s, %s and %s in steps of %s.\n\n", \
        range(fine, "time"), range(fine, "memory"), fine, \
        range(steps[1], "time"), range(steps[1], "memory"), steps[1]

    print "Request 12, io resident, the 26 budgets of 15, 16, ... 40 MiB. Longer: time per image"
    print "against the exact plan for the same budget, by the profile that both were planned on."
    print "The exact solve answers all budgets at once, a table those up to 40 MiB.\n"
    print "| network | step | least memory, MiB | longer on average, % | at most, % | budgets " \
        "without a plan | solver held, MiB | solve, ms |"
    print "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for (i = 1; i <= networks; i++) {
        row(order[i], "exact", order[i])
        for (s = 1; s <= n_steps; s++)
            row(order[i], steps[s], "")
    }
}
