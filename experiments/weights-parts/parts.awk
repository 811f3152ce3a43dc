# A row for each batch, algorithm and number of parts of layer `label`: the times of the whole and
# of all parts together, and the noise of their ratio, half of its 95% interval. Divided is 0 where
# the planners do not take the algorithm in parts (vbslab/profile.h); fastest is of the others.
col("name") == "whole" {
    way = col("batch") SUBSEP col("algorithm")
    ways[++n_ways] = way
    whole[way] = col("time_us")
    whole_noise[way] = (col("high_us") - col("low_us")) / 2
    divided[way] = 8 * col("packed_bytes") <= 9 * col("weight_bytes")
    if (!divided[way])
        next
    if (!(col("batch") in least) || whole[way] < least[col("batch")])
        least[col("batch")] = whole[way]
    next
}
col("name") ~ /^part[0-9]+-[0-9]+$/ {
    split(substr(col("name"), 5), number, "-")
    parts = number[1] + 0
    way = col("batch") SUBSEP col("algorithm")
    if (!(parts in known)) {
        known[parts] = 1
        numbers[++n_numbers] = parts
    }
    n[way, parts]++
    sum[way, parts] += col("time_us")
    squares[way, parts] += ((col("high_us") - col("low_us")) / 2) ^ 2
}
END {
    if (csv_failed)
        exit 1
    for (w = 1; w <= n_ways; w++) {
        way = ways[w]
        split(way, field, SUBSEP)
        for (i = 1; i <= n_numbers; i++) {
            parts = numbers[i]
            if (n[way, parts] != parts) # a part has not all algorithms of the whole
                continue
            printf "%s,%s,%s,%d,%.3f,%.3f,%.2f,%d,%d\n", label, field[1], field[2], parts, \
                whole[way], sum[way, parts], 100 * sqrt((whole_noise[way] / whole[way]) ^ 2 + \
                squares[way, parts] / sum[way, parts] ^ 2), divided[way], \
                divided[way] && whole[way] == least[field[1]]
        }
    }
}
