/*
 * vbslab/reach.h - the rows of an input that a layer reads for a row of its output.
 *
 * The rows of a tensor are the indices of its first spatial dimension. Steps may compute some rows
 * of a layer's output only (schedule.h); the reach says which rows of an input they need.
 */
#ifndef VBSLAB_REACH_H
#define VBSLAB_REACH_H

#include <stdint.h>

/*
 * The rows of an input on which rows of a layer's output depend (docs/accounting.md, "Rows").
 * Output row y reads the input rows from floor((step y + low) / unit) to floor((step y + high) /
 * unit), both included, as far as the input has them. A convolution of stride s, dilation d, k rows
 * of kernel and p rows of padding at the top has step s, unit 1, low -p, high d (k - 1) - p.
 *
 * Where unit is 0, every output row depends on all rows of the input. With step 0 the layer reads
 * them at once. With step 1 it accumulates: it takes the rows of the input one after the other, in
 * steps of some of them, and its output is complete with the last one (a global pooling). Rows of
 * such a layer, in profiles and steps, are those of its input: row y takes row y.
 */
struct vbs_reach {
    int step, unit;    /* step 0..VBS_MAX_REACH, unit 1..VBS_MAX_REACH; unit 0: step is 0 or 1, and
                          low and high are 0 */
    int64_t low, high; /* low <= high, each within +-VBS_MAX_REACH */
};

#define VBS_MAX_REACH INT32_MAX

#endif
