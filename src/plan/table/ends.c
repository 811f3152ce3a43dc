#include "plan/table/table.h"

#include "base/fail.h"

#include <stdbool.h>

/*
 * The recurrences of table.c without the dimension of memory: each entry keeps only its best plan,
 * by time and then by memory, which is the largest of its steps. With all times 0 this is the plan
 * with the least memory; with the real ones, the fastest plan in any memory. Both are exact: times
 * add up, so that the subplans of a fastest plan are fastest themselves.
 */

struct end {
    int64_t ticks, steps;
};

static const struct end NOTHING_TO_DO = {0};
static const struct end NEVER = {.ticks = VBS_TABLE_INFINITE};

struct search {
    struct vbs_ctx *ctx;
    const struct vbs_task *task;
    bool timed; /* else all times are 0 */
    struct vbs_arena arena;
};

/* The state of solving the recurrences of one chain. */
struct ends_table {
    const struct vbs_chain *chain;
    struct end *opt;   /* [(i, j, b)], at the index that opt_at gives */
    struct end *exact; /* [b] of the current pair */
    struct end *items; /* [k * (request + 1) + b] */
};

static struct end together(struct end a, struct end b)
{
    int64_t ticks = a.ticks + b.ticks;

    return (struct end){.ticks = ticks < VBS_TABLE_INFINITE ? ticks : VBS_TABLE_INFINITE,
                        .steps = a.steps > b.steps ? a.steps : b.steps};
}

/* Adds bytes that are kept beside an end. */
static struct end beside(const struct search *search, struct end end, int64_t bytes)
{
    end.steps += vbs_table_steps(search->task, bytes);
    return end;
}

static void keep_better(struct end *best, struct end end)
{
    if (end.ticks < best->ticks || (end.ticks == best->ticks && end.steps < best->steps))
        *best = end;
}

static struct end *opt_at(const struct search *search, const struct ends_table *table, int i, int j,
                          int b)
{
    size_t pair = (size_t)j * ((size_t)j + 1) / 2 + (size_t)i;

    return &table->opt[pair * ((size_t)search->task->request + 1) + (size_t)b];
}

static struct end opt_of(const struct search *search, const struct ends_table *table, int i, int j,
                         int b)
{
    return i > j || b == 0 ? NOTHING_TO_DO : *opt_at(search, table, i, j, b);
}

/* Gives whether an end breaks the latency bound; like an entry of the tables, it is infinite
 * then. */
static bool is_late(const struct search *search, const struct end *end)
{
    return end->ticks > search->task->latency_ticks;
}

/* Computes (3) for a layer. */
static struct end layer_end(const struct search *search, const struct vbs_item *item, int b)
{
    const struct vbs_task *task = search->task;
    const struct vbs_profile_row *rows;
    struct end best = NEVER;
    int n_rows;

    if (task->batch_index[b] < 0)
        return NEVER;
    rows = vbs_profile_rows(task->profile, item->layer, task->batch_index[b], &n_rows);
    for (int a = 0; a < n_rows; a++)
        keep_better(
            &best,
            (struct end){.ticks = search->timed ? vbs_task_ticks(task, rows[a].time_us) : 0,
                         .steps = vbs_table_steps(task, b * item->step_bytes + rows[a].ws_bytes)});
    return best;
}

static enum vbs_status solve_chain(struct search *search, const struct vbs_chain *chain,
                                   const struct end **whole);

static enum vbs_status solve_item(struct search *search, const struct vbs_item *item,
                                  struct end *ends)
{
    int r = search->task->request;

    for (int b = 1; item->layer && b <= r; b++)
        ends[b] = layer_end(search, item, b);
    for (int branch = 0; branch < item->n_branches; branch++) {
        const struct end *inside = NULL;

        VBS_TRY(solve_chain(search, &item->branches[branch], &inside));
        for (int b = 1; b <= r; b++)
            ends[b] = together(ends[b], beside(search, inside[b], b * item->step_bytes));
    }
    return VBS_OK;
}

/* Computes (1) for the pair (i, j) and b samples. */
static struct end exact_end(const struct search *search, const struct ends_table *table, int i,
                            int j, int b)
{
    size_t stride = (size_t)search->task->request + 1;
    struct end best = NEVER;

    for (int k = i; k <= j; k++) {
        struct end end = together(opt_of(search, table, i, k - 1, b),
                                  together(table->items[(size_t)k * stride + (size_t)b],
                                           opt_of(search, table, k + 1, j, b)));

        if (!is_late(search, &end))
            keep_better(&best, end);
    }
    return best;
}

/* Computes (2) for the pair (i, j) and b samples. */
static struct end opt_end(const struct search *search, const struct ends_table *table, int i, int j,
                          int b)
{
    const int64_t *cut = table->chain->cut_bytes;
    bool resident = search->task->problem.io == VBS_IO_RESIDENT;
    struct end best = NEVER;

    for (int b1 = b; b1 >= 1; b1--) {
        struct end end =
            together(beside(search, table->exact[b1], cut[i] * (b - b1)),
                     beside(search, opt_of(search, table, i, j, b - b1), cut[j + 1] * b1));

        if (!resident || !is_late(search, &end))
            keep_better(&best, end);
    }
    return best;
}

static enum vbs_status solve_pair(const struct search *search, const struct ends_table *table,
                                  int i, int j)
{
    if (vbs_cancelled(search->ctx))
        return vbs_fail(search->ctx, VBS_INTERRUPTED, "interrupted");
    for (int b = 1; b <= search->task->request; b++) {
        table->exact[b] = exact_end(search, table, i, j, b);
        *opt_at(search, table, i, j, b) = opt_end(search, table, i, j, b);
    }
    return VBS_OK;
}

/* Solves a chain. *whole: [b] of the whole chain, in the search's arena. */
static enum vbs_status solve_chain(struct search *search, const struct vbs_chain *chain,
                                   const struct end **whole)
{
    size_t n = (size_t)chain->n_items, stride = (size_t)search->task->request + 1;
    struct ends_table table = {.chain = chain};
    enum vbs_status status = VBS_OK;

    table.opt = vbs_arena_alloc(&search->arena, n * (n + 1) / 2 * stride, sizeof *table.opt);
    table.exact = vbs_arena_alloc(&search->arena, stride, sizeof *table.exact);
    table.items = vbs_arena_alloc(&search->arena, n * stride, sizeof *table.items);
    if (!table.opt || !table.exact || !table.items)
        return vbs_no_memory(search->ctx);
    for (size_t k = 0; status == VBS_OK && k < n; k++)
        status = solve_item(search, &chain->items[k], &table.items[k * stride]);
    for (int d = 0; d < chain->n_items; d++)
        for (int i = 0; status == VBS_OK && i + d < chain->n_items; i++)
            status = solve_pair(search, &table, i, i + d);
    *whole = opt_at(search, &table, 0, chain->n_items - 1, 0);
    return status;
}

static enum vbs_status find_end(struct vbs_ctx *ctx, const struct vbs_task *task,
                                const struct vbs_chain *chain, bool timed, struct end *end,
                                size_t *peak_bytes)
{
    struct search search = {.ctx = ctx, .task = task, .timed = timed};
    const struct end *whole = NULL;
    enum vbs_status status = solve_chain(&search, chain, &whole);

    if (status == VBS_OK)
        *end = whole[task->request];
    if (search.arena.total_bytes > *peak_bytes)
        *peak_bytes = search.arena.total_bytes;
    vbs_arena_clear(&search.arena);
    return status;
}

enum vbs_status vbs_table_find_ends(struct vbs_ctx *ctx, const struct vbs_task *task,
                                    const struct vbs_chain *chain, struct vbs_table_ends *ends,
                                    size_t *peak_bytes)
{
    struct end least, most;

    VBS_TRY(find_end(ctx, task, chain, false, &least, peak_bytes));
    VBS_TRY(find_end(ctx, task, chain, true, &most, peak_bytes));
    ends->least = least.steps;
    ends->most = most.ticks < VBS_TABLE_INFINITE ? most.steps : -1;
    return VBS_OK;
}
