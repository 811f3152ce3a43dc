/* Free bytes of each slot, taken in spans: a segment tree. Inside the plan room. */
#ifndef VBS_PLAN_WEIGHTS_RANGE_MIN_TREE_H
#define VBS_PLAN_WEIGHTS_RANGE_MIN_TREE_H

#include "vbslab/status.h"

#include <stdint.h>

struct vbs_range_min_tree {
    int n, width;   /* slots; leaves, a power of two */
    int64_t *least; /* [2 width] of a node's slots, what its ancestors took left out */
    int64_t *taken; /* [2 width] from all slots of a node */
};

/* bytes[0..n-1] at the beginning. O(n). */
enum vbs_status vbs_range_min_tree_init(struct vbs_ctx *ctx, struct vbs_range_min_tree *tree,
                                        const int64_t *bytes, int n) VBS_MUST_CHECK;
void vbs_range_min_tree_clear(struct vbs_range_min_tree *tree);

/* The least of slots first..last; INT64_MAX where there are none. O(log n). */
int64_t vbs_range_min_tree_least(const struct vbs_range_min_tree *tree, int first, int last);
/* Takes bytes from each of them. O(log n). */
void vbs_range_min_tree_subtract(struct vbs_range_min_tree *tree, int first, int last,
                                 int64_t bytes);
/* All of it. O(n log n). */
void vbs_range_min_tree_values(const struct vbs_range_min_tree *tree, int64_t *bytes);

#endif
