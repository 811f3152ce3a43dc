/* A regression tree that is grown from random points of others' values. Internal to the sub-room.
 */
#ifndef VBS_TUNE_RESULTS_FOREST_H
#define VBS_TUNE_RESULTS_FOREST_H

#include "base/arena.h"
#include "tune/space/space.h"
#include "vbslab/tune.h"

/* Points with values. Each coordinate of a point is an interval of shares of the space, of which
 * trees know the middle; they split between intervals. */
struct tune_samples {
    int n, d;
    const double *from, *to; /* [n, d] within 0..1 */
    const double *values;    /* [n] */
};

/* A leaf: a box of the space, and the value of the tree there. */
struct tune_leaf {
    double value;
    double *low, *high; /* [d] */
};

/* The leaves of a tree, which fill the space without overlap. */
struct tune_leaves {
    int n;
    struct tune_leaf *leaves;
};

/* Grows a tree from as many samples as there are, drawn with repetition, in memory of the arena
 * (Breiman: Random Forests, 2001): each leaf has one value, or samples that cannot be told apart.
 * VBS_NO_MEMORY. O(n log^2 n d) on average. */
enum vbs_status vbs_tune_tree(struct vbs_ctx *ctx, const struct tune_samples *samples,
                              struct tune_random random, struct vbs_arena *arena,
                              struct tune_leaves *leaves) VBS_MUST_CHECK;

#endif
