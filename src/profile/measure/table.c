/* The table of kernels: their groups, their runs so far, and what layers of equal geometry share.
 */
#include "profile/measure/measure.h"

#include "base/fail.h"

#include <math.h>
#include <string.h>

const struct vbs_group *vbs_table_group(const struct vbs_table *table, int layer, int pass)
{
    return &table->groups[(size_t)(layer - 1) * (size_t)table->n_passes + (size_t)pass];
}

/* Compares the passes that two kernels belong to, in the order of the table. */
static int compare_passes(const struct vbs_pass *a, const struct vbs_pass *b)
{
    if ((a->rows > 0) != (b->rows > 0))
        return a->rows > 0 ? 1 : -1;
    if (a->batch != b->batch)
        return a->batch < b->batch ? -1 : 1;
    return (a->rows > b->rows) - (a->rows < b->rows);
}

static struct vbs_pass pass_of(const struct vbs_kernel *kernel)
{
    return (struct vbs_pass){.batch = kernel->batch, .rows = kernel->rows};
}

/* Gives the index of a pass in the table, or where it would be. O(log passes). */
static int find_pass(const struct vbs_table *table, const struct vbs_pass *pass)
{
    int low = 0, high = table->n_passes;

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (compare_passes(&table->passes[middle], pass) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool has_pass(const struct vbs_table *table, int at, const struct vbs_pass *pass)
{
    return at < table->n_passes && compare_passes(&table->passes[at], pass) == 0;
}

/* Finds the kinds of passes: those of whole samples are the batches of layer 1, the others all
 * stripes that some kernel computes. */
static enum vbs_status find_passes(struct vbs_ctx *ctx, struct vbs_table *table)
{
    const struct vbs_session *session = table->session;

    table->passes =
        vbs_arena_alloc(&table->arena, (size_t)session->n_kernels, sizeof *table->passes);
    if (!table->passes)
        return vbs_no_memory(ctx);
    for (int i = 0; i < session->n_kernels; i++) {
        struct vbs_pass pass = pass_of(&session->kernels[i]);
        int at = find_pass(table, &pass);

        if ((pass.rows == 0 && session->kernels[i].layer > 1) || has_pass(table, at, &pass))
            continue;
        memmove(&table->passes[at + 1], &table->passes[at],
                (size_t)(table->n_passes - at) * sizeof pass);
        table->passes[at] = pass;
        table->n_passes++;
        if (pass.batch > table->largest_batch)
            table->largest_batch = pass.batch;
    }
    if (table->n_passes == 0 || table->passes[0].rows > 0)
        return vbs_fail(ctx, VBS_UNSUPPORTED, "the backend offers no method to run layer 1");
    return VBS_OK;
}

/* Puts the kernels from number first on that belong to one group into it; gives the number behind
 * them, or first where the group has kernels already, or layer 1 lacks its batch. */
static int fill_group(struct vbs_table *table, int first)
{
    const struct vbs_session *session = table->session;
    const struct vbs_kernel *kernel = &session->kernels[first];
    struct vbs_pass pass = pass_of(kernel);
    int at = find_pass(table, &pass), end = first + 1;
    struct vbs_group *group;

    if (kernel->layer < 1 || kernel->layer > session->n_layers || !has_pass(table, at, &pass))
        return first;
    group = &table->groups[(size_t)(kernel->layer - 1) * (size_t)table->n_passes + (size_t)at];
    if (group->count > 0)
        return first;
    while (end < session->n_kernels && session->kernels[end].layer == kernel->layer &&
           session->kernels[end].batch == kernel->batch &&
           session->kernels[end].rows == kernel->rows)
        end++;
    *group = (struct vbs_group){.first = first, .count = end - first};
    return end;
}

/* Finds the groups. The kernels of a group are neighbours in the session; each group of whole
 * samples must have a kernel, and each kernel must belong to a group. */
static enum vbs_status find_groups(struct vbs_ctx *ctx, struct vbs_table *table)
{
    const struct vbs_session *session = table->session;
    size_t n = (size_t)session->n_layers * (size_t)table->n_passes;
    int stray = -1;

    table->groups = vbs_arena_alloc(&table->arena, n, sizeof *table->groups);
    if (!table->groups)
        return vbs_no_memory(ctx);
    for (int next = 0; next < session->n_kernels;) {
        int end = fill_group(table, next);

        if (end == next && stray < 0)
            stray = next;
        next = end == next ? next + 1 : end;
    }
    for (int layer = 1; layer <= session->n_layers; layer++)
        for (int p = 0; p < table->n_passes && table->passes[p].rows == 0; p++)
            if (vbs_table_group(table, layer, p)->count == 0)
                return vbs_fail(ctx, VBS_UNSUPPORTED,
                                "the backend offers no method to run layer '%s' at batch %d",
                                session->layers[layer].name, table->passes[p].batch);
    if (stray >= 0)
        return vbs_fail(ctx, VBS_LIBRARY, "the backend's kernel %d is out of order", stray);
    return VBS_OK;
}

/* Makes a pool for every kernel alone. */
static enum vbs_status make_pools(struct vbs_ctx *ctx, struct vbs_table *table)
{
    size_t n = (size_t)table->session->n_kernels;

    table->pools = vbs_arena_alloc(&table->arena, n, sizeof *table->pools);
    table->pool_of = vbs_arena_alloc(&table->arena, n, sizeof *table->pool_of);
    table->below = vbs_arena_alloc(&table->arena, n, sizeof *table->below);
    table->above = vbs_arena_alloc(&table->arena, n, sizeof *table->above);
    table->last =
        vbs_arena_alloc(&table->arena, (size_t)table->session->n_layers + 1, sizeof *table->last);
    table->shares =
        vbs_arena_alloc(&table->arena, (size_t)table->session->n_layers + 1, sizeof(double));
    if (!table->shares || !table->last || !table->pools || !table->pool_of || !table->below ||
        !table->above)
        return vbs_no_memory(ctx);
    for (int layer = 0; layer <= table->session->n_layers; layer++)
        table->last[layer] = -1;
    for (size_t i = 0; i < n; i++) {
        table->pool_of[i] = (int)i;
        table->pools[i].least_us = HUGE_VAL;
        table->below[i] = table->above[i] = -1;
    }
    return VBS_OK;
}

enum vbs_status vbs_table_init(struct vbs_ctx *ctx, struct vbs_table *table)
{
    table->runs =
        vbs_arena_alloc(&table->arena, (size_t)table->session->n_kernels, sizeof *table->runs);
    if (!table->runs)
        return vbs_no_memory(ctx);
    VBS_TRY(find_passes(ctx, table));
    VBS_TRY(find_groups(ctx, table));
    return make_pools(ctx, table);
}

void vbs_table_release(struct vbs_table *table)
{
    vbs_arena_clear(&table->arena);
}

enum vbs_status vbs_table_append(struct vbs_ctx *ctx, struct vbs_table *table, int kernel,
                                 double time_us)
{
    struct vbs_runs *runs = &table->runs[kernel];
    struct vbs_pool *pool = &table->pools[table->pool_of[kernel]];
    int n = runs->summary.n_runs;

    if (n == runs->capacity) {
        int capacity = n > 0 ? 2 * n : 8;
        double *times_us = vbs_arena_alloc(&table->arena, (size_t)capacity, sizeof *times_us);

        if (!times_us)
            return vbs_no_memory(ctx);
        if (n > 0)
            memcpy(times_us, runs->times_us, (size_t)n * sizeof *times_us);
        runs->times_us = times_us;
        runs->capacity = capacity;
    }
    pool->n_runs++;
    pool->least_us = fmin(pool->least_us, time_us);
    runs->times_us[n] = time_us;
    vbs_measure_summary(runs->times_us, n + 1, &runs->summary);
    return VBS_OK;
}
