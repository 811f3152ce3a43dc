/*
 * dp-vbs --table STEP: Algorithm 1 of VBS III as printed, in tables whose memory goes in multiples
 * of STEP. The program has it for teaching, and to show how much rounding memory costs; dp-vbs
 * without a table solves the same recurrences exactly, to the byte.
 *
 * For a chain of n items, 0 <= i <= j < n, b in 1..r samples, and mem in 0..TOT steps of memory
 * (times are totals of the b samples, where the paper has them per sample):
 *
 *   (1) EXACT[i, j, b, mem] = min over k in i..j of
 *           OPT[i, k-1, b, mem] + EXACT[k, k, b, mem] + OPT[k+1, j, b, mem]
 *   (2) OPT[i, j, b, mem] = min over b1 in 1..b of
 *           EXACT[i, j, b1, mem - in(i, b - b1)] + OPT[i, j, b - b1, mem - out(j, b1)]
 *   (3) EXACT[k, k, b, mem] = time(k, b) if in(k, b) + ws(k, b) + out(k, b) <= mem, else infinite
 *       special layer: sum over its branches of OPT_branch[all, b, mem - bytes reserved by the
 * block]
 *
 * A budget is rounded down to steps, and each of in, out and in + ws + out is rounded up, so that
 * every schedule that the tables call feasible is feasible. Latency (VBS III, end): an entry of
 * EXACT above the bound is infinite; with io resident, where a sample waits for the whole request,
 * an entry of OPT above the bound is infinite, too.
 *
 * Time O(n^2 r (n + r) TOT), memory 10 n^2 r TOT bytes, for each chain and branch. The tables reach
 * up to the largest budget so far, and are computed anew for a larger one.
 */
#include "plan/table/table.h"
#include "plan/table/cells.h"

#include "base/arith.h"
#include "base/fail.h"
#include "vbslab/units.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define MAX_TABLE_BYTES 0x1p33 /* 8 GiB */
#define INFINITE        VBS_TABLE_INFINITE
#define ENTRY_BYTES     (2 * sizeof(int64_t) + 2 * sizeof(uint16_t))

static void forbid_late(const struct table_work *work, int64_t *row)
{
    for (int64_t mem = 0; mem <= work->tot; mem++)
        if (row[mem] > work->task->latency_ticks)
            row[mem] = INFINITE;
}

/* Computes (3) for a layer: the fastest of the algorithms that fit. */
static void fill_layer(const struct table_work *work, const struct vbs_item *item, int b,
                       int64_t *exact)
{
    const struct vbs_task *task = work->task;
    const struct vbs_profile_row *rows;
    int n_rows;

    for (int64_t mem = 0; mem <= work->tot; mem++)
        exact[mem] = INFINITE;
    if (task->batch_index[b] < 0)
        return;
    rows = vbs_profile_rows(task->profile, item->layer, task->batch_index[b], &n_rows);
    for (int a = 0; a < n_rows; a++) {
        int64_t need = vbs_table_steps(task, b * item->step_bytes + rows[a].ws_bytes);
        int64_t ticks = vbs_task_ticks(task, rows[a].time_us);

        for (int64_t mem = need; mem <= work->tot; mem++)
            if (ticks < exact[mem])
                exact[mem] = ticks;
    }
}

/* Computes (3) for a special layer. */
static void fill_special(const struct table_work *work, const struct vbs_item *item,
                         const struct tables *branches, int b, int64_t *exact)
{
    int64_t reserved = vbs_table_steps(work->task, b * item->step_bytes);

    for (int64_t mem = 0; mem <= work->tot; mem++)
        exact[mem] = mem < reserved ? INFINITE : 0;
    for (int branch = 0; branch < item->n_branches; branch++) {
        const struct tables *one = &branches[branch];
        const int64_t *opt = vbs_table_opt(work, one, 0, one->chain->n_items - 1, b);

        for (int64_t mem = reserved; mem <= work->tot; mem++)
            exact[mem] = exact[mem] + opt[mem - reserved] < INFINITE
                             ? exact[mem] + opt[mem - reserved]
                             : INFINITE;
    }
}

static void fill_item(const struct table_work *work, struct tables *tables, int k, int b)
{
    const struct vbs_item *item = &tables->chain->items[k];
    size_t row = vbs_table_row(work, k, k, b);

    if (item->layer)
        fill_layer(work, item, b, &tables->exact[row]);
    else
        fill_special(work, item, tables->branches[k], b, &tables->exact[row]);
    for (int64_t mem = 0; mem <= work->tot; mem++)
        tables->whole[row + (size_t)mem] = (uint16_t)k;
    forbid_late(work, &tables->exact[row]);
}

/* Computes (1) for i < j, at all sizes of memory. */
static void fill_exact(const struct table_work *work, struct tables *tables, int i, int j, int b)
{
    size_t row = vbs_table_row(work, i, j, b);
    int64_t *exact = &tables->exact[row], tot = work->tot;
    uint16_t *whole = &tables->whole[row];

    for (int64_t mem = 0; mem <= tot; mem++)
        exact[mem] = INFINITE;
    for (int k = i; k <= j; k++) {
        const int64_t *before = vbs_table_opt(work, tables, i, k - 1, b);
        const int64_t *at = vbs_table_exact(work, tables, k, k, b);
        const int64_t *behind = vbs_table_opt(work, tables, k + 1, j, b);

        for (int64_t mem = 0; mem <= tot; mem++) {
            int64_t ticks = before[mem] + at[mem] + behind[mem];

            if (ticks < exact[mem]) {
                exact[mem] = ticks;
                whole[mem] = (uint16_t)k;
            }
        }
    }
    forbid_late(work, exact);
}

/* Computes (2), at all sizes of memory. */
static void fill_opt(const struct table_work *work, struct tables *tables, int i, int j, int b)
{
    const int64_t *cut = tables->chain->cut_bytes;
    size_t row = vbs_table_row(work, i, j, b);
    int64_t *opt = &tables->opt[row], tot = work->tot;
    uint16_t *first = &tables->first[row];

    for (int64_t mem = 0; mem <= tot; mem++)
        opt[mem] = INFINITE;
    for (int b1 = b; b1 >= 1; b1--) {
        const int64_t *exact = vbs_table_exact(work, tables, i, j, b1);
        const int64_t *rest = vbs_table_opt(work, tables, i, j, b - b1);
        int64_t in = vbs_table_steps(work->task, cut[i] * (b - b1));
        int64_t out = b == b1 ? 0 : vbs_table_steps(work->task, cut[j + 1] * b1);

        for (int64_t mem = in > out ? in : out; mem <= tot; mem++) {
            int64_t ticks = exact[mem - in] + rest[mem - out];

            if (ticks < opt[mem]) {
                opt[mem] = ticks;
                first[mem] = (uint16_t)b1;
            }
        }
    }
    if (work->task->problem.io == VBS_IO_RESIDENT)
        forbid_late(work, opt);
}

/* Computes the rows of layers i..j; false when the caller asked to stop. */
static bool fill_pair(const struct table_work *work, struct tables *tables, int i, int j)
{
    for (int b = 1; b <= work->task->request; b++) {
        if (vbs_cancelled(work->ctx))
            return false;
        if (i == j)
            fill_item(work, tables, i, b);
        else
            fill_exact(work, tables, i, j, b);
        fill_opt(work, tables, i, j, b);
    }
    return true;
}

static enum vbs_status solve_chain(struct table_work *work, const struct vbs_chain *chain,
                                   struct tables *tables);

static enum vbs_status solve_branches(struct table_work *work, struct tables *tables, int k)
{
    const struct vbs_item *item = &tables->chain->items[k];

    tables->branches[k] =
        vbs_arena_alloc(&work->arena, (size_t)item->n_branches, sizeof **tables->branches);
    if (!tables->branches[k])
        return vbs_no_memory(work->ctx);
    for (int branch = 0; branch < item->n_branches; branch++)
        VBS_TRY(solve_chain(work, &item->branches[branch], &tables->branches[k][branch]));
    return VBS_OK;
}

/* Allocates the tables of a chain. */
static void take_room(struct table_work *work, struct tables *tables)
{
    size_t n = (size_t)tables->chain->n_items;
    size_t entries = n * (n + 1) / 2 * (size_t)work->task->request * ((size_t)work->tot + 1);

    tables->opt = work->ticks + 2 * work->n_taken;
    tables->exact = tables->opt + entries;
    tables->first = work->choices + 2 * work->n_taken;
    tables->whole = tables->first + entries;
    work->n_taken += entries;
}

static enum vbs_status solve_chain(struct table_work *work, const struct vbs_chain *chain,
                                   struct tables *tables)
{
    enum vbs_status status = VBS_OK;
    int n = chain->n_items;

    tables->chain = chain;
    tables->branches = vbs_arena_alloc(&work->arena, (size_t)n, sizeof *tables->branches);
    if (!tables->branches)
        return vbs_no_memory(work->ctx);
    take_room(work, tables);
    for (int k = 0; status == VBS_OK && k < n; k++)
        if (!chain->items[k].layer)
            status = solve_branches(work, tables, k);
    for (int d = 0; d < n; d++)
        for (int i = 0; status == VBS_OK && i < n - d; i++)
            if (!fill_pair(work, tables, i, i + d))
                status = vbs_fail(work->ctx, VBS_INTERRUPTED, "interrupted");
    return status;
}

/* Appends the steps of OPT[i, j, b, mem], which is finite. */
static enum vbs_status emit_opt(const struct table_work *work, const struct tables *tables, int i,
                                int j, int b, int64_t mem, struct vbs_step_list *steps);

static enum vbs_status emit_item(const struct table_work *work, const struct tables *tables, int k,
                                 int b, int64_t mem, struct vbs_step_list *steps)
{
    const struct vbs_task *task = work->task;
    const struct vbs_item *item = &tables->chain->items[k];
    int64_t bytes = b * item->step_bytes;

    if (item->layer) {
        const struct vbs_profile_row *row =
            vbs_task_row(task, item->layer, b, bytes, mem * task->options.table_bytes);

        return vbs_step_list_add(work->ctx, steps, item->layer, b, row->algorithm);
    }
    for (int branch = 0; branch < item->n_branches; branch++) {
        const struct tables *one = &tables->branches[k][branch];

        VBS_TRY(emit_opt(work, one, 0, one->chain->n_items - 1, b,
                         mem - vbs_table_steps(task, bytes), steps));
    }
    return VBS_OK;
}

static enum vbs_status emit_opt(const struct table_work *work, const struct tables *tables, int i,
                                int j, int b, int64_t mem, struct vbs_step_list *steps)
{
    const int64_t *cut = tables->chain->cut_bytes;
    enum vbs_status status = VBS_OK;

    while (i <= j && b > 0) {
        int b1 = tables->first[vbs_table_row(work, i, j, b) + (size_t)mem];
        int64_t inside = mem - vbs_table_steps(work->task, cut[i] * (b - b1));
        int k = tables->whole[vbs_table_row(work, i, j, b1) + (size_t)inside];

        status = emit_opt(work, tables, i, k - 1, b1, inside, steps);
        if (status == VBS_OK)
            status = emit_item(work, tables, k, b1, inside, steps);
        if (status == VBS_OK)
            status = emit_opt(work, tables, k + 1, j, b1, inside, steps);
        mem -= vbs_table_steps(work->task, cut[j + 1] * b1);
        b -= b1;
        if (status != VBS_OK)
            return status;
    }
    return VBS_OK;
}

/* The schedules for all budgets up to tot. */
struct known {
    struct vbs_pareto_set pareto;
    int64_t tot; /* in steps, -1: none yet */
};

struct dp {
    const struct vbs_task *task;
    struct vbs_chain chain;
    struct vbs_arena arena;
    struct vbs_table_ends ends; /* least: with the latency, if any plan keeps it; else without */
    struct known *known;        /* grows with the budgets for which plans are made */
};

/* Adds the schedules of the whole request to a Pareto set: one for each size of memory at which the
 * least time falls. */
static enum vbs_status offer_answers(const struct table_work *work, const struct tables *tables,
                                     struct vbs_pareto_set *pareto)
{
    int last = tables->chain->n_items - 1;
    const int64_t *opt = vbs_table_opt(work, tables, 0, last, work->task->request);
    int64_t least_ticks = INFINITE;
    enum vbs_status status = VBS_OK;

    for (int64_t mem = 0; status == VBS_OK && mem <= work->tot; mem++) {
        struct vbs_step_list steps = {0};

        if (opt[mem] >= least_ticks)
            continue;
        least_ticks = opt[mem];
        status = emit_opt(work, tables, 0, last, work->task->request, mem, &steps);
        if (status == VBS_OK)
            status =
                vbs_pareto_offer(work->ctx, pareto, mem * work->task->options.table_bytes, &steps);
        vbs_step_list_clear(&steps);
    }
    return status;
}

/* Counts the rows of the tables of a chain and of its branches; exact below 2^53. */
static double count_rows(const struct vbs_task *task, const struct vbs_chain *chain)
{
    double n = chain->n_items, rows = n * (n + 1) / 2 * task->request;

    for (int k = 0; k < chain->n_items; k++)
        for (int branch = 0; branch < chain->items[k].n_branches; branch++)
            rows += count_rows(task, &chain->items[k].branches[branch]);
    return rows;
}

/* Refuses tables up to tot that would take too much memory. */
static enum vbs_status check_size(struct vbs_ctx *ctx, const struct dp *dp, int64_t tot)
{
    const struct vbs_task *task = dp->task;
    double n_sizes = MAX_TABLE_BYTES / (count_rows(task, &dp->chain) * ENTRY_BYTES), need_bytes;
    char have[24], need[24];

    if (n_sizes < 2)
        return vbs_fail(ctx, VBS_NO_MEMORY,
                        "tables of %d layers and %d samples need more than %.0f GiB; a smaller "
                        "request would help",
                        task->n_layers, task->request, ldexp(MAX_TABLE_BYTES, -30));
    if ((double)tot + 1 <= n_sizes)
        return VBS_OK;
    vbs_format_bytes(task->options.table_bytes, have, sizeof have);
    need_bytes = (double)tot / (n_sizes - 1) * (double)task->options.table_bytes + 1;
    vbs_format_bytes((int64_t)fmin(need_bytes, 0x1p62), need, sizeof need);
    return vbs_fail(ctx, VBS_NO_MEMORY,
                    "tables of %lld sizes of memory in steps of %s need more than %.0f GiB; steps "
                    "above %s would help",
                    (long long)tot, have, ldexp(MAX_TABLE_BYTES, -30), need);
}

/* Allocates all tables up to work->tot, whose size has been checked. */
static enum vbs_status make_room(struct table_work *work, const struct vbs_chain *chain)
{
    size_t n_sizes = (size_t)work->tot + 1;
    size_t entries = (size_t)count_rows(work->task, chain) * n_sizes;

    work->nothing = vbs_arena_alloc(&work->arena, n_sizes, sizeof *work->nothing);
    work->ticks = vbs_arena_alloc(&work->tables, entries, ENTRY_BYTES);
    if (!work->nothing || !work->ticks)
        return vbs_no_memory(work->ctx);
    work->choices = (uint16_t *)(work->ticks + 2 * entries);
    return VBS_OK;
}

/* Fills all tables up to tot; the caller clears the arenas of *work, after a failure too. */
static enum vbs_status fill_tables(struct vbs_ctx *ctx, const struct dp *dp, int64_t tot,
                                   struct table_work *work, struct tables *main_path)
{
    *work = (struct table_work){.ctx = ctx, .task = dp->task, .tot = tot};
    *main_path = (struct tables){0};
    VBS_TRY(check_size(ctx, dp, tot));
    VBS_TRY(make_room(work, &dp->chain));
    return solve_chain(work, &dp->chain, main_path);
}

static void clear_tables(struct table_work *work)
{
    vbs_arena_clear(&work->tables);
    vbs_arena_clear(&work->arena);
}

/* Solves for the budgets up to tot. The range at least doubles, so that rising budgets together
 * take at most three times as long as the last one. */
static enum vbs_status solve(struct vbs_ctx *ctx, const struct dp *dp, int64_t tot)
{
    struct known *known = dp->known;
    struct table_work work;
    struct tables main_path;
    enum vbs_status status;
    size_t bytes;

    if (tot > dp->ends.most)
        tot = dp->ends.most;
    if (tot <= known->tot)
        return VBS_OK;
    if (tot < 2 * known->tot)
        tot = 2 * known->tot < dp->ends.most ? 2 * known->tot : dp->ends.most;
    status = fill_tables(ctx, dp, tot, &work, &main_path);
    if (status == VBS_OK)
        status = offer_answers(&work, &main_path, &known->pareto);
    if (status == VBS_OK)
        known->tot = tot;
    bytes = work.arena.total_bytes + work.tables.total_bytes;
    if (bytes > known->pareto.solving_bytes)
        known->pareto.solving_bytes = bytes;
    clear_tables(&work);
    return status;
}

/* Finds the least memory with a schedule. Under a latency bound, only the tables give it. */
static enum vbs_status find_least(struct vbs_ctx *ctx, struct dp *dp)
{
    int64_t tot = dp->ends.least;

    if (dp->task->latency_ticks == INT64_MAX || dp->ends.most < 0)
        return VBS_OK;
    while (dp->known->pareto.n == 0) {
        VBS_TRY(solve(ctx, dp, tot));
        tot = 2 * tot + 1;
    }
    dp->ends.least = dp->known->pareto.list[0].bytes / dp->task->options.table_bytes;
    return VBS_OK;
}

static enum vbs_status check_step(struct vbs_ctx *ctx, const struct dp *dp)
{
    int64_t step_bytes = dp->task->options.table_bytes, bytes;
    char text[24];

    if (vbs_mul(dp->ends.most < 0 ? 0 : dp->ends.most, step_bytes, &bytes))
        return VBS_OK;
    return vbs_fail(ctx, VBS_USAGE, "steps of %s are too large for a table",
                    vbs_format_bytes(step_bytes, text, sizeof text));
}

static void dp_close(void *self)
{
    struct dp *dp = self;

    if (!dp)
        return;
    if (dp->known)
        vbs_pareto_clear(&dp->known->pareto);
    free(dp->known);
    vbs_arena_clear(&dp->arena);
    free(dp);
}

static enum vbs_status dp_open(struct vbs_ctx *ctx, const struct vbs_task *task, void **self)
{
    struct dp *dp = calloc(1, sizeof *dp);
    enum vbs_status status;

    if (!dp)
        return vbs_no_memory(ctx);
    dp->task = task;
    dp->known = calloc(1, sizeof *dp->known);
    status = dp->known ? vbs_chain_build(ctx, task, &dp->arena, &dp->chain) : vbs_no_memory(ctx);
    if (status != VBS_OK)
        goto done;
    *dp->known = (struct known){.pareto.task = task, .tot = -1};
    status = check_size(ctx, dp, 0);
    if (status != VBS_OK)
        goto done;
    status =
        vbs_table_find_ends(ctx, task, &dp->chain, &dp->ends, &dp->known->pareto.solving_bytes);
    if (status != VBS_OK)
        goto done;
    status = check_step(ctx, dp);
    if (status != VBS_OK)
        goto done;
    status = find_least(ctx, dp);
done:
    if (status != VBS_OK) {
        dp_close(dp);
        return status;
    }
    *self = dp;
    return VBS_OK;
}

static enum vbs_status dp_plan(struct vbs_ctx *ctx, void *self, int64_t memory_bytes,
                               struct vbs_draft *draft)
{
    struct dp *dp = self;
    int64_t mem = memory_bytes / dp->task->options.table_bytes;

    if (dp->ends.most < 0 || mem < dp->ends.least)
        return VBS_INFEASIBLE;
    VBS_TRY(solve(ctx, dp, mem));
    return vbs_pareto_plan_within(ctx, &dp->known->pareto, memory_bytes, draft);
}

/* Fills the tables again, up to the memory above which no plan is faster where that is not much
 * more, so that candidates that do not fit are known, too. */
static enum vbs_status dp_explain(struct vbs_reasons *reasons, void *self,
                                  const struct vbs_question *question)
{
    const struct dp *dp = self;
    int64_t step_bytes = dp->task->options.table_bytes;
    int64_t mem = question->memory_bytes / step_bytes;
    struct vbs_question known = *question;
    struct table_work work;
    struct tables main_path;
    enum vbs_status status;

    if (mem > dp->ends.most && dp->ends.most >= 0)
        mem = dp->ends.most;
    known.memory_bytes = mem * step_bytes;
    status = fill_tables(reasons->ctx, dp,
                         dp->ends.most / 4 <= mem && dp->ends.most >= 0 ? dp->ends.most : mem,
                         &work, &main_path);
    if (status == VBS_OK)
        status = vbs_table_reasons(reasons, &work, &main_path, &known);
    clear_tables(&work);
    return status;
}

static int64_t dp_least_bytes(const void *self)
{
    const struct dp *dp = self;

    return dp->ends.most < 0 ? INT64_MAX : dp->ends.least * dp->task->options.table_bytes;
}
static size_t dp_peak_bytes(const void *self)
{
    return vbs_pareto_peak_bytes(&((const struct dp *)self)->known->pareto);
}

static enum vbs_status dp_thresholds(struct vbs_ctx *ctx, const void *self, int64_t **bytes, int *n)
{
    const struct dp *dp = self;

    VBS_TRY(solve(ctx, dp, dp->ends.most));
    return vbs_pareto_thresholds(ctx, &dp->known->pareto, bytes, n);
}

const struct vbs_planner vbs_planner_dp_vbs_table = {
    .name = "dp-vbs",
    .summary = "dp-vbs in tables of memory sizes, as printed",
    .source = "VBS III, Algorithm 1",
    .cost = "layers^2 x request x (layers + request) x budget / step",
    .open = dp_open,
    .plan = dp_plan,
    .least_bytes = dp_least_bytes,
    .thresholds = dp_thresholds,
    .peak_bytes = dp_peak_bytes,
    .explain = dp_explain,
    .explains_parts = true,
    .close = dp_close,
};
