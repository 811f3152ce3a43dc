/* Growing a tree. */
#include "tune/results/forest.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SOME 5 / 6 /* of the coordinates are tried at each split */

/* What is used while a tree grows. */
struct tune_growing {
    const struct tune_samples *samples;
    struct tune_random random;
    int *drawn;  /* [n] samples; each node has a range of them */
    int *column; /* [d] coordinates, shuffled for each split */
    struct vbs_arena *arena;
    struct tune_leaves *leaves;
};

/* A node that is not grown yet: samples from..to - 1 of those drawn, and its box. */
struct tune_node {
    int from, to;
    double *low, *high; /* [d] */
};

/* A split: what it removes of the sum of squares, and where. */
struct tune_split {
    double gain, at;
    int column;
};

static double middle(const struct tune_samples *samples, int sample, int column)
{
    size_t at = (size_t)sample * (size_t)samples->d + (size_t)column;

    return samples->from[at] + (samples->to[at] - samples->from[at]) / 2;
}

/* What compare_middles sorts by. */
struct tune_order {
    const struct tune_samples *samples;
    int column;
};

static int by_middle(const void *a, const void *b, void *self)
{
    const struct tune_order *order = self;
    int i = *(const int *)a, k = *(const int *)b;
    double x = middle(order->samples, i, order->column),
           y = middle(order->samples, k, order->column);

    return x != y ? (x > y) - (x < y) : (i > k) - (i < k);
}

/* Gives the border between two neighbours in a column: halfway between the end of the lower one's
 * interval and the beginning of the other's. */
static double border(const struct tune_samples *samples, int a, int b, int column)
{
    double end = samples->to[(size_t)a * (size_t)samples->d + (size_t)column];
    double begin = samples->from[(size_t)b * (size_t)samples->d + (size_t)column];

    return end + (begin - end) / 2;
}

/* Finds the best split of a node in one column. */
static void try_column(struct tune_growing *growing, const struct tune_node *node, int column,
                       struct tune_split *best)
{
    const struct tune_samples *samples = growing->samples;
    struct tune_order order = {samples, column};
    int *drawn = growing->drawn + node->from, n = node->to - node->from;
    double all = 0, left = 0;

    qsort_r(drawn, (size_t)n, sizeof *drawn, by_middle, &order);
    for (int i = 0; i < n; i++)
        all += samples->values[drawn[i]];
    for (int i = 1; i < n; i++) {
        double gain, at;

        left += samples->values[drawn[i - 1]];
        if (!(middle(samples, drawn[i - 1], column) < middle(samples, drawn[i], column)))
            continue;
        gain = left * left / i + (all - left) * (all - left) / (n - i) - all * all / n;
        at = border(samples, drawn[i - 1], drawn[i], column);
        if (gain > best->gain && at > node->low[column] && at < node->high[column])
            *best = (struct tune_split){gain, at, column};
    }
}

static bool has_one_value(const struct tune_growing *growing, const struct tune_node *node)
{
    const double *values = growing->samples->values;

    for (int i = node->from + 1; i < node->to; i++) {
        if (values[growing->drawn[i]] != values[growing->drawn[node->from]])
            return false;
    }
    return true;
}

/* Finds the best split among some columns, or among all where these have none. */
static struct tune_split find_split(struct tune_growing *growing, const struct tune_node *node)
{
    int d = growing->samples->d, some = d * SOME > 1 ? d * SOME : 1;
    struct tune_split best = {0, 0, -1};

    if (has_one_value(growing, node))
        return best;
    for (int i = 0; i < d && (i < some || best.column < 0); i++) {
        int k = i + (int)vbs_tune_below(&growing->random, d - i), column = growing->column[k];

        growing->column[k] = growing->column[i];
        growing->column[i] = column;
        try_column(growing, node, column, &best);
    }
    return best;
}

static void add_leaf(struct tune_growing *growing, const struct tune_node *node)
{
    struct tune_leaf *leaf = &growing->leaves->leaves[growing->leaves->n++];

    *leaf = (struct tune_leaf){0, node->low, node->high};
    for (int i = node->from; i < node->to; i++)
        leaf->value += growing->samples->values[growing->drawn[i]] / (node->to - node->from);
}

/* Splits a node: the left part stays in it, the right part becomes another one. */
static enum vbs_status split_node(struct vbs_ctx *ctx, struct tune_growing *growing,
                                  const struct tune_split *split, struct tune_node *node,
                                  struct tune_node *right)
{
    const struct tune_samples *samples = growing->samples;
    size_t size = sizeof(double) * (size_t)samples->d;
    int n = node->from;

    *right = (struct tune_node){.to = node->to,
                                .low = vbs_arena_alloc(growing->arena, 1, size),
                                .high = vbs_arena_alloc(growing->arena, 1, size)};
    if (!right->low || !right->high)
        return vbs_no_memory(ctx);
    memcpy(right->low, node->low, size);
    memcpy(right->high, node->high, size);
    right->low[split->column] = node->high[split->column] = split->at;
    for (int i = node->from; i < node->to; i++) {
        int sample = growing->drawn[i];

        if (middle(samples, sample, split->column) < split->at) {
            growing->drawn[i] = growing->drawn[n];
            growing->drawn[n++] = sample;
        }
    }
    node->to = right->from = n;
    return VBS_OK;
}

static enum vbs_status grow(struct vbs_ctx *ctx, struct tune_growing *growing,
                            struct tune_node *stack, int n_stack)
{
    while (n_stack > 0) {
        struct tune_node *node = &stack[n_stack - 1];
        struct tune_split split = find_split(growing, node);

        VBS_TRY(vbs_check_cancel(ctx));
        if (split.column < 0) {
            add_leaf(growing, node);
            n_stack--;
        } else {
            VBS_TRY(split_node(ctx, growing, &split, node, node + 1));
            n_stack++;
        }
    }
    return VBS_OK;
}

enum vbs_status vbs_tune_tree(struct vbs_ctx *ctx, const struct tune_samples *samples,
                              struct tune_random random, struct vbs_arena *arena,
                              struct tune_leaves *leaves)
{
    size_t n = (size_t)samples->n, d = (size_t)samples->d;
    struct tune_growing growing = {
        .samples = samples,
        .random = random,
        .drawn = vbs_arena_alloc(arena, n, sizeof(int)),
        .column = vbs_arena_alloc(arena, d, sizeof(int)),
        .arena = arena,
        .leaves = leaves,
    };
    struct tune_node *stack = vbs_arena_alloc(arena, n + 1, sizeof *stack);

    *leaves = (struct tune_leaves){.leaves = vbs_arena_alloc(arena, n, sizeof *leaves->leaves)};
    if (!growing.drawn || !growing.column || !stack || !leaves->leaves)
        return vbs_no_memory(ctx);
    stack[0] = (struct tune_node){.to = samples->n,
                                  .low = vbs_arena_alloc(arena, d, sizeof(double)),
                                  .high = vbs_arena_alloc(arena, d, sizeof(double))};
    if (!stack[0].low || !stack[0].high)
        return vbs_no_memory(ctx);
    for (size_t i = 0; i < n; i++)
        growing.drawn[i] = (int)vbs_tune_below(&growing.random, samples->n);
    for (size_t k = 0; k < d; k++) {
        growing.column[k] = (int)k;
        stack[0].high[k] = 1;
    }
    return grow(ctx, &growing, stack, 1);
}
