/*
 * Reaches in numbers of rows: what planners, backends and the executor share. The replay has its
 * own arithmetic. Internal: programs that use the library do not need it.
 */
#ifndef VBS_PROFILE_REACH_H
#define VBS_PROFILE_REACH_H

#include "vbslab/profile.h"

/* Computes floor(a / b), b above 0. */
static inline int64_t vbs_floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Rows [first, end) of an input, cut to the rows that it has: empty where it has none of them. */
struct vbs_reached {
    int64_t first, end;
    int64_t above, below; /* reached rows above the input's first one, and below its last one */
};

/* Finds the rows of an input of in_rows rows that the rows [row, row + n) of an output reach, n
 * above 0. Where the input is read whole, these are all. */
static inline struct vbs_reached vbs_reach_rows(const struct vbs_reach *reach, int64_t in_rows,
                                                int64_t row, int64_t n)
{
    struct vbs_reached rows = {.first = 0, .end = in_rows};
    int64_t low, high;

    if (reach->unit == 0)
        return rows;
    low = vbs_floor_div(reach->step * row + reach->low, reach->unit);
    high = vbs_floor_div(reach->step * (row + n - 1) + reach->high, reach->unit) + 1;
    rows.first = low < 0 ? 0 : low > in_rows ? in_rows : low;
    rows.end = high < 0 ? 0 : high > in_rows ? in_rows : high;
    rows.above = rows.first - low;
    rows.below = high - rows.end;
    return rows;
}

/* Gives the place of an output row within the pattern by which rows read an input: two stripes of
 * equal numbers of rows, above and below too, whose phases are equal do the same. */
static inline int64_t vbs_reach_phase(const struct vbs_reach *reach, int64_t row)
{
    return reach->unit > 0 ? reach->step * row % reach->unit : 0;
}

/* Gives whether two lists of n reaches are equal; either may be null. */
static inline bool vbs_reaches_equal(const struct vbs_reach *a, const struct vbs_reach *b, int n)
{
    for (int i = 0; a && b && i < n; i++)
        if (a[i].step != b[i].step || a[i].unit != b[i].unit || a[i].low != b[i].low ||
            a[i].high != b[i].high)
            return false;
    return !a == !b;
}

#endif
