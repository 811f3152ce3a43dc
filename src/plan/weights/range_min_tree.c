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

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* From the leaves up: what was taken of a whole node counts when the walk leaves it. */
int64_t vbs_range_min_tree_least(const struct vbs_range_min_tree *tree, int first, int last)
{
    int left = tree->width + first, right = tree->width + last;
    int64_t left_least, right_least, least;

    if (first > last)
        return INT64_MAX;
    left_least = tree->least[left];
    right_least = tree->least[right];
    for (; left / 2 != right / 2; left /= 2, right /= 2) {
        if (left % 2 == 0)
            left_least = lesser(left_least, tree->least[left + 1]);
        if (right % 2 == 1)
            right_least = lesser(right_least, tree->least[right - 1]);
        left_least -= tree->taken[left / 2];
        right_least -= tree->taken[right / 2];
    }
    least = lesser(left_least, right_least);
    for (int node = left / 2; node >= 1; node /= 2)
        least -= tree->taken[node];
    return least;
}

static void subtract_of_node(struct vbs_range_min_tree *tree, int node, int64_t bytes)
{
    tree->least[node] -= bytes;
    tree->taken[node] += bytes;
}

static void renew_above(struct vbs_range_min_tree *tree, int node)
{
    for (node /= 2; node >= 1; node /= 2)
        tree->least[node] =
            lesser(tree->least[2 * node], tree->least[2 * node + 1]) - tree->taken[node];
}

void vbs_range_min_tree_subtract(struct vbs_range_min_tree *tree, int first, int last,
                                 int64_t bytes)
{
    int left = tree->width + first, right = tree->width + last;

    if (first > last)
        return;
    subtract_of_node(tree, left, bytes);
    if (left != right)
        subtract_of_node(tree, right, bytes);
    for (; left / 2 != right / 2; left /= 2, right /= 2) {
        if (left % 2 == 0)
            subtract_of_node(tree, left + 1, bytes);
        if (right % 2 == 1)
            subtract_of_node(tree, right - 1, bytes);
    }
    renew_above(tree, tree->width + first);
    renew_above(tree, tree->width + last);
}

void vbs_range_min_tree_values(const struct vbs_range_min_tree *tree, int64_t *bytes)
{
    for (int i = 0; i < tree->n; i++) {
        bytes[i] = tree->least[tree->width + i];
        for (int node = (tree->width + i) / 2; node >= 1; node /= 2)
            bytes[i] -= tree->taken[node];
    }
}
