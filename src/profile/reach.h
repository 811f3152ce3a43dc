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

/* Gives whether a layer reads all rows of this input at once. */
static inline bool vbs_reach_is_whole(const struct vbs_reach *reach)
{
    return reach->unit == 0 && reach->step == 0;
}

/* Gives whether a layer accumulates the rows of this input. */
static inline bool vbs_reach_accumulates(const struct vbs_reach *reach)
{
    return reach->unit == 0 && reach->step == 1;
}

/* Gives the reach by which the rows of a step, which of a layer that accumulates are those of its
 * input, read an input that is not read whole. */
static inline struct vbs_reach vbs_reach_of_step(const struct vbs_reach *reach)
{
    struct vbs_reach rows = *reach;

    rows.unit = reach->unit > 0 ? reach->unit : 1;
    return rows;
}

/* Gives whether a layer accumulates. It does so with all its inputs, or with none. */
static inline bool vbs_layer_accumulates(const struct vbs_profile_layer *layer)
{
    return layer->reaches && layer->n_inputs > 0 && vbs_reach_accumulates(&layer->reaches[0]);
}

/* Gives the bytes of one sample of a layer's output that a step of some rows writes: those of its
 * rows, but the whole output of a layer that accumulates. The layer has rows. */
static inline int64_t vbs_layer_rows_bytes(const struct vbs_profile_layer *layer, int64_t rows)
{
    return vbs_layer_accumulates(layer) ? layer->out_bytes : layer->out_bytes / layer->rows * rows;
}

/* Finds the rows of an input of in_rows rows that the rows [row, row + n) of a layer reach, n above
 * 0. Where the input is read whole, these are all. */
static inline struct vbs_reached vbs_reach_rows(const struct vbs_reach *reach, int64_t in_rows,
                                                int64_t row, int64_t n)
{
    struct vbs_reached rows = {.first = 0, .end = in_rows};
    struct vbs_reach by;
    int64_t low, high;

    if (vbs_reach_is_whole(reach))
        return rows;
    by = vbs_reach_of_step(reach);
    low = vbs_floor_div(by.step * row + by.low, by.unit);
    high = vbs_floor_div(by.step * (row + n - 1) + by.high, by.unit) + 1;
    rows.first = low < 0 ? 0 : low > in_rows ? in_rows : low;
    rows.end = high < 0 ? 0 : high > in_rows ? in_rows : high;
    rows.above = rows.first - low;
    rows.below = high - rows.end;
    return rows;
}

/* Gives the place of the rows [row, row + n) within the pattern by which rows read an input of
 * in_rows rows: two stripes of equal numbers of rows, above and below too, whose phases are equal
 * do the same. A layer that accumulates begins with its first rows, and ends with its last ones. */
static inline int64_t vbs_reach_phase(const struct vbs_reach *reach, int64_t in_rows, int64_t row,
                                      int64_t n)
{
    if (reach->unit == 0)
        return reach->step * ((row == 0) + 2 * (row + n == in_rows));
    return reach->step * row % reach->unit;
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
