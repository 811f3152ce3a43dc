# Prints the table `finals` of trials.csv: for each problem, sampler and number of workers the median and
# the quartiles over seeds of what the last trial had reached, the mean time of a suggestion, and a
# comparison with the library's Bayesian sampler with as many workers: in how many seeds the latter
# is better and worse, and the two-sided p of Wilcoxon's signed-rank test, exact. curves=FILE
# receives the medians by trial. A line of trials.csv is a trial that is better than all before it, or the
# last one; its time is the mean so far. What is not a number (nothing feasible yet) is worse than anything.
BEGIN { FS = "," }
function value_of(text) { return text ~ /nan/ ? -1e300 : text + 0 }
FNR == 1 { next }
{
    group = $1 "," $2 "," $3
    if (!(group in last))
        order[++n_groups] = group
    if ($5 + 0 > last[group])
        last[group] = $5 + 0
    if (!((group, $4) in known)) {
        known[group, $4] = 1
        n_seeds[group]++
    }
    # Trials between two lines have reached what the first of them has.
    for (t = $5 == 1 || !((group, $4) in reached) ? 1 : at[group, $4] + 1; t <= $5; t++) {
        x = t == $5 ? value_of($6) : (group, $4) in reached ? reached[group, $4] : -1e300
        best[group, t, ++count[group, t]] = x
        of_seed[group, t, $4] = x
    }
    at[group, $4] = $5
    reached[group, $4] = value_of($6)
    us[group, $4] = $7
}
# Writes the sorted values of a group at a trial to `sorted`, and gives how many.
function sort(group, trial, i, k, n, x) {
    n = count[group, trial]
    for (i = 1; i <= n; i++) {
        x = best[group, trial, i]
        for (k = i - 1; k > 0 && sorted[k] > x; k--)
            sorted[k + 1] = sorted[k]
        sorted[k + 1] = x
    }
    return n
}
function quantile(n, share, at, low) {
    at = 1 + share * (n - 1)
    low = int(at)
    return low >= n ? sorted[n] : sorted[low] + (at - low) * (sorted[low + 1] - sorted[low])
}
function told(x) { return x < -1e299 ? "" : sprintf("%.6g", x) }
# The exact p of signed ranks: the share of all choices of signs with a sum of ranks as far from its
# mean. Sums of ranks are counted twice, so that shared ranks are whole.
function wilcoxon(a, b, i, k, n, d, size, rank, sum, half, all, extreme, next_ways) {
    wins = losses = n = 0
    for (i = 1; i <= 10; i++) {
        if (!((a, i) in known && (b, i) in known))
            continue
        d = of_seed[a, last[a], i] - of_seed[b, last[b], i]
        if (d > 1e-9 || d < -1e-9) {
            size[++n] = d < 0 ? -d : d
            sign[n] = d > 0
            wins += d > 0
            losses += d < 0
        }
    }
    if (n == 0)
        return 1
    delete ways
    ways[0] = 1
    sum = half = 0
    for (i = 1; i <= n; i++) {
        rank = 1
        for (k = 1; k <= n; k++)
            rank += size[k] < size[i] ? 2 : size[k] == size[i] && k != i
        rank += 1
        sum += sign[i] ? rank : 0
        for (k = half; k >= 0; k--)
            ways[k + rank] += ways[k]
        half += rank
    }
    extreme = 0
    for (k = 0; k <= half; k++)
        if ((2 * k - half) ^ 2 >= (2 * sum - half) ^ 2)
            extreme += ways[k]
    return extreme / 2 ^ n
}
END {
    print "problem,sampler,workers,seeds,trials,q1,median,q3,suggest_us,wins,losses,p"
    print "problem,sampler,workers,trial,median" >curves
    for (g = 1; g <= n_groups; g++) {
        group = order[g]
        split(group, part, ",")
        time = 0
        for (seed = 1; seed <= 10; seed++)
            time += us[group, seed]
        n = sort(group, last[group])
        other = part[1] ",bayesian," part[3]
        wins = losses = p = ""
        if (other != group && other in last)
            p = sprintf("%.4f", wilcoxon(other, group))
        printf "%s,%d,%d,%s,%s,%s,%.0f,%s,%s,%s\n", group, n_seeds[group], last[group], told(quantile(n, 0.25)), \
            told(quantile(n, 0.5)), told(quantile(n, 0.75)), time / n_seeds[group], wins, losses, p
        for (t = 1; t <= last[group]; t++) {
            n = sort(group, t)
            x = told(quantile(n, 0.5))
            print group "," t "," (x == "" ? "nan" : x) >curves
        }
    }
}
