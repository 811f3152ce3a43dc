/* A segment tree over the free bytes of slots: the minimum of a range, and subtraction from a
 * range.
 */
#ifndef VBS_PLAN_WEIGHTS_RANGE_MIN_TREE_H
#define VBS_PLAN_WEIGHTS_RANGE_MIN_TREE_H

#include "vbslab/status.h"

#include <stdint.h>

struct vbs_range_min_tree {
    int n, width;   /* slots; leaves, a power of two */
    int64_t *least; /* [2 width] minimum over the slots of a node, without the bytes taken from
                       its ancestors */
    int64_t *taken; /* [2 width] bytes taken from all slots of a node */
};

/* Makes a tree whose slots begin with bytes[0..n-1]. VBS_NO_MEMORY. O(n). */
enum vbs_status vbs_range_min_tree_init(struct vbs_ctx *ctx, struct vbs_range_min_tree *tree,
                                        const int64_t *bytes, int n) VBS_MUST_CHECK;
void vbs_range_min_tree_clear(struct vbs_range_min_tree *tree);

/* Gives the minimum of slots first..last; INT64_MAX where the range is empty. O(log n). */
int64_t vbs_range_min_tree_least(const struct vbs_range_min_tree *tree, int first, int last);
/* Subtracts bytes from each of slots first..last. O(log n). */
void vbs_range_min_tree_subtract(struct vbs_range_min_tree *tree, int first, int last,
                                 int64_t bytes);
/* Copies all slots to bytes[0..n-1]. O(n log n). */
void vbs_range_min_tree_values(const struct vbs_range_min_tree *tree, int64_t *bytes);

#endif
