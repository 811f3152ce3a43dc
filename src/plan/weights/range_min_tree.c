#include "plan/weights/range_min_tree.h"

#include "base/fail.h"

#include <stdlib.h>

enum vbs_status vbs_range_min_tree_init(struct vbs_ctx *ctx, struct vbs_range_min_tree *tree,
                                        const int64_t *bytes, int n)
{
    *tree = (struct vbs_range_min_tree){.n = n, .width = 1};
    while (tree->width < n)
        tree->width *= 2;
    tree->least = malloc(2 * (size_t)tree->width * sizeof *tree->least);
    tree->taken = calloc(2 * (size_t)tree->width, sizeof *tree->taken);
    if (!tree->least || !tree->taken) {
        vbs_range_min_tree_clear(tree);
        return vbs_no_memory(ctx);
    }
    for (int i = 0; i < tree->width; i++)
        tree->least[tree->width + i] = i < n ? bytes[i] : INT64_MAX;
    for (int node = tree->width - 1; node >= 1; node--) {
        int64_t left = tree->least[2 * node], right = tree->least[2 * node + 1];

        tree->least[node] = left < right ? left : right;
    }
    return VBS_OK;
}

void vbs_range_min_tree_clear(struct vbs_range_min_tree *tree)
{
    free(tree->least);
    free(tree->taken);
    *tree = (struct vbs_range_min_tree){0};
}

/* Gives the minimum over the slots of node, from..from + width - 1, that lie in first..last. */
static int64_t least_in(const struct vbs_range_min_tree *tree, int node, int from, int width,
                        int first, int last)
{
    int64_t left, right, least;

    if (last < from || first > from + width - 1)
        return INT64_MAX;
    if (first <= from && from + width - 1 <= last)
        return tree->least[node];
    left = least_in(tree, 2 * node, from, width / 2, first, last);
    right = least_in(tree, 2 * node + 1, from + width / 2, width / 2, first, last);
    least = left < right ? left : right;
    return least == INT64_MAX ? least : least - tree->taken[node];
}

int64_t vbs_range_min_tree_least(const struct vbs_range_min_tree *tree, int first, int last)
{
    return first > last ? INT64_MAX : least_in(tree, 1, 0, tree->width, first, last);
}

static void subtract_in(struct vbs_range_min_tree *tree, int node, int from, int width, int first,
                        int last, int64_t bytes)
{
    int64_t left, right;

    if (last < from || first > from + width - 1 || tree->least[node] == INT64_MAX)
        return;
    if (first <= from && from + width - 1 <= last) {
        tree->least[node] -= bytes;
        tree->taken[node] += bytes;
        return;
    }
    subtract_in(tree, 2 * node, from, width / 2, first, last, bytes);
    subtract_in(tree, 2 * node + 1, from + width / 2, width / 2, first, last, bytes);
    left = tree->least[2 * node];
    right = tree->least[2 * node + 1];
    tree->least[node] = (left < right ? left : right) - tree->taken[node];
}

void vbs_range_min_tree_subtract(struct vbs_range_min_tree *tree, int first, int last,
                                 int64_t bytes)
{
    if (first <= last)
        subtract_in(tree, 1, 0, tree->width, first, last, bytes);
}

void vbs_range_min_tree_values(const struct vbs_range_min_tree *tree, int64_t *bytes)
{
    for (int i = 0; i < tree->n; i++) {
        bytes[i] = tree->least[tree->width + i];
        for (int node = (tree->width + i) / 2; node >= 1; node /= 2)
            bytes[i] -= tree->taken[node];
    }
}
