# How the rectangle of a plan, layers across and samples down, is cut from edge to edge: one row for
# each cut with its depth. A part that is several steps and has no cut is a knot: no laminar
# schedule contains it. Reads the rows of one plan of steps.csv.
{
    plan = col("plan")
    layer[++n] = col("layer") + 0
    batch[n] = col("batch") + 0
    width = layer[n] > width ? layer[n] : width
    height = col("end") + 0 > height ? col("end") + 0 : height
}
# Samples that each layer has done before step s, into done[1..width].
function progress(s,    k, t) {
    for (k = 1; k <= width; k++)
        done[k] = 0
    for (t = 1; t < s; t++)
        done[layer[t]] += batch[t]
}
# True when after step s all layers i..j have done y samples.
function level(s, i, j, y,    k) {
    progress(s + 1)
    for (k = i; k <= j; k++)
        if (done[k] != y)
            return 0
    return 1
}
# The last of the steps a..z of samples x..y that belongs to layers up to c when all of those come
# before all others; 0: they do not.
function last_of(a, z, c,    s, last) {
    for (s = a; s <= z; s++)
        if (layer[s] <= c) {
            if (last && last < s - 1)
                return 0
            last = s
        }
    return last
}
function part(a, z, i, j, x, y, depth,    s, c, m, at, mark) {
    if (a == z)
        return
    at = a
    mark = x
    for (s = a; s < z; s++) { # splits
        for (m = mark + 1; m < y; m++)
            if (level(s, i, j, m)) {
                row("split", depth, i, m, j + 1, m)
                part(at, s, i, j, mark, m, depth + 1)
                at = s + 1
                mark = m
            }
    }
    if (mark > x) {
        part(at, z, i, j, mark, y, depth + 1)
        return
    }
    mark = i
    for (c = i; c < j; c++) { # barriers
        s = last_of(at, z, c)
        if (s && s < z) {
            row("barrier", depth, c + 1, x, c + 1, y)
            part(at, s, mark, c, x, y, depth + 1)
            at = s + 1
            mark = c + 1
        }
    }
    if (mark > i)
        part(at, z, mark, j, x, y, depth + 1)
    else
        row("knot", depth, i, x, j + 1, y)
}
function row(kind, depth, x0, y0, x1, y1) {
    print plan "," kind "," depth "," x0 "," y0 "," x1 "," y1
}
END {
    if (csv_failed)
        exit 1
    part(1, n, 1, width, 0, height, 1)
}
