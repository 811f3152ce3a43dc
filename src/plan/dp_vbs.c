/*
 * dp-vbs: recurrences 1, 2 and 3 of VBS III with its special layers for branches, solved on curves
 * (the best time as an exact step function of memory) instead of tables over rounded memory sizes.
 * One solve answers every budget to the byte.
 *
 * For a chain of m items, 0 <= i <= j < m, and b samples (times are totals, not per sample):
 *
 *   (1) EXACT[i, j, b](M) = min over k in i..j of
 *           OPT[i, k-1, b](M) + EXACT[k, k, b](M) + OPT[k+1, j, b](M)
 *   (2) OPT[i, j, b](M) = min over b1 in 1..b of
 *           EXACT[i, j, b1](M - cut[i] (b - b1)) + OPT[i, j, b - b1](M - cut[j+1] b1)
 *   (3) EXACT[k, k, b](M) = least time of the rows of layer k at batch b with in + out + ws <= M
 *       special layer: sum over its branches of OPT_branch(b)(M - aside b)
 *
 * cut[i] is what a sample takes between items i-1 and i (the paper's in(i) and out(i-1)); with
 * external io nothing is kept before the first and after the last layer. The first batch of (2)
 * runs before the rest.
 *
 * Complexity: m^2/2 pairs x r x (m + r) sums of curves, each linear in its points; with at most B
 * different batches of the profile r (m + B) for chains without branches. Memory: m^2/2 x r curves.
 */
#include "plan/curve.h"
#include "plan/planner.h"
#include "plan/structure.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

/* More than this is refused: a chain of hundreds of layers with a request of hundreds. */
#define MAX_SOLVER_BYTES ((size_t)8 << 30)

/* A chain with its curves. */
struct solved {
    const struct vbs_chain *chain;
    struct vbs_curve *opt;    /* OPT[i, j, b] at opt_index */
    struct vbs_curve *exact;  /* EXACT[k, k, b] at k * request + b - 1 */
    struct solved **branches; /* [item][branch], null for a layer */
};

struct dp {
    const struct vbs_task *task;
    struct vbs_chain chain;
    struct solved whole;
    struct vbs_curve answers; /* OPT of the whole request, without points that gain nothing */
    struct vbs_arena arena;
};

/* What is only needed while solving. */
struct work {
    struct vbs_ctx *ctx;
    struct dp *dp;
    struct vbs_envelope envelope;
    struct vbs_arena scratch;
    struct vbs_curve *exact; /* [request] EXACT[i, j, .] of the pair at hand */
};

static const struct vbs_point ZERO = {0};
static const struct vbs_curve NOTHING_TO_DO = {.n = 1, .points = &ZERO};

/* The row of OPT[i, j, 1..r]; pairs are stored j by j. */
static struct vbs_curve *opt_row(const struct dp *dp, const struct solved *solved, int i, int j)
{
    size_t pair = (size_t)j * ((size_t)j + 1) / 2 + (size_t)i;

    return solved->opt + pair * (size_t)dp->task->request;
}

static const struct vbs_curve *opt_at(const struct dp *dp, const struct solved *solved, int i,
                                      int j, int b)
{
    return i > j || b == 0 ? &NOTHING_TO_DO : &opt_row(dp, solved, i, j)[b - 1];
}

static struct vbs_curve *exact_at(const struct dp *dp, const struct solved *solved, int k, int b)
{
    return &solved->exact[(size_t)k * (size_t)dp->task->request + (size_t)b - 1];
}

/* (3) for a layer. */
static enum vbs_status offer_rows(struct work *work, const struct vbs_item *item, int b)
{
    const struct vbs_task *task = work->dp->task;
    const struct vbs_profile_row *rows;
    int n_rows;

    if (task->batch_index[b] < 0)
        return VBS_OK;
    rows = vbs_profile_rows(task->profile, item->layer, task->batch_index[b], &n_rows);
    for (int a = 0; a < n_rows; a++) {
        enum vbs_status status =
            vbs_envelope_offer(work->ctx, &work->envelope,
                               (struct vbs_point){.bytes = b * item->step_bytes + rows[a].ws_bytes,
                                                  .ticks = vbs_task_ticks(task, rows[a].time_us)});

        if (status != VBS_OK)
            return status;
    }
    return VBS_OK;
}

/* (3) for a special layer: adds branch after branch, each moved by what is set aside. */
static enum vbs_status offer_branches(struct work *work, const struct vbs_item *item,
                                      const struct solved *branches, int b)
{
    struct vbs_curve sum = NOTHING_TO_DO;

    for (int branch = 0; branch < item->n_branches; branch++) {
        const struct solved *one = &branches[branch];
        const struct vbs_moved parts[] = {
            {.curve = &sum},
            {opt_at(work->dp, one, 0, one->chain->n_items - 1, b), b * item->step_bytes},
        };
        enum vbs_status status;

        vbs_envelope_reset(&work->envelope);
        status = vbs_envelope_offer_sum(work->ctx, &work->envelope, parts, 2, 0, 0);
        if (status == VBS_OK)
            status = vbs_envelope_curve(work->ctx, &work->envelope, &work->scratch, &sum);
        if (status != VBS_OK)
            return status;
    }
    return VBS_OK;
}

static enum vbs_status solve_item(struct work *work, struct solved *solved, int k)
{
    const struct vbs_item *item = &solved->chain->items[k];

    for (int b = 1; b <= work->dp->task->request; b++) {
        enum vbs_status status;

        vbs_envelope_reset(&work->envelope);
        status = item->layer ? offer_rows(work, item, b)
                             : offer_branches(work, item, solved->branches[k], b);
        if (status == VBS_OK)
            status = vbs_envelope_curve(work->ctx, &work->envelope, &work->dp->arena,
                                        exact_at(work->dp, solved, k, b));
        if (status != VBS_OK)
            return status;
    }
    return VBS_OK;
}

/* (1) for the pair (i, j) and b samples, into work->exact. */
static enum vbs_status solve_exact(struct work *work, const struct solved *solved, int i, int j,
                                   int b)
{
    vbs_envelope_reset(&work->envelope);
    for (int k = i; k <= j; k++) {
        const struct vbs_moved parts[] = {
            {.curve = exact_at(work->dp, solved, k, b)},
            {.curve = opt_at(work->dp, solved, i, k - 1, b)},
            {.curve = opt_at(work->dp, solved, k + 1, j, b)},
        };
        enum vbs_status status = vbs_envelope_offer_sum(work->ctx, &work->envelope, parts, 3, b, k);

        if (status != VBS_OK)
            return status;
    }
    return vbs_envelope_curve(work->ctx, &work->envelope, &work->scratch, &work->exact[b - 1]);
}

/* (2) for the pair (i, j) and b samples. */
static enum vbs_status solve_opt(struct work *work, const struct solved *solved, int i, int j,
                                 int b)
{
    const int64_t *cut = solved->chain->cut_bytes;

    vbs_envelope_reset(&work->envelope);
    for (int b1 = b; b1 >= 1; b1--) {
        const struct vbs_moved parts[] = {
            {&work->exact[b1 - 1], cut[i] * (b - b1)},
            {opt_at(work->dp, solved, i, j, b - b1), cut[j + 1] * b1},
        };
        enum vbs_status status =
            vbs_envelope_offer_sum(work->ctx, &work->envelope, parts, 2, b1, -1);

        if (status != VBS_OK)
            return status;
    }
    return vbs_envelope_curve(work->ctx, &work->envelope, &work->dp->arena,
                              &opt_row(work->dp, solved, i, j)[b - 1]);
}

static enum vbs_status solve_pair(struct work *work, const struct solved *solved, int i, int j)
{
    enum vbs_status status = VBS_OK;
    int r = work->dp->task->request;

    if (vbs_cancelled(work->ctx))
        return vbs_fail(work->ctx, VBS_INTERRUPTED, "interrupted");
    vbs_arena_clear(&work->scratch);
    for (int b = 1; status == VBS_OK && b <= r; b++)
        status = solve_exact(work, solved, i, j, b);
    for (int b = 1; status == VBS_OK && b <= r; b++)
        status = solve_opt(work, solved, i, j, b);
    if (status == VBS_OK && work->dp->arena.total_bytes > MAX_SOLVER_BYTES)
        return vbs_fail(
            work->ctx, VBS_NO_MEMORY,
            "a chain of %d layers with a request of %d samples needs more than %zu GiB to "
            "plan; a smaller request would help",
            solved->chain->n_items, r, MAX_SOLVER_BYTES >> 30);
    return status;
}

static enum vbs_status solve(struct work *work, const struct vbs_chain *chain,
                             struct solved *solved);

static enum vbs_status solve_branches(struct work *work, struct solved *solved, int k)
{
    const struct vbs_item *item = &solved->chain->items[k];

    solved->branches[k] =
        vbs_arena_alloc(&work->dp->arena, (size_t)item->n_branches, sizeof **solved->branches);
    if (!solved->branches[k])
        return vbs_no_memory(work->ctx);
    for (int branch = 0; branch < item->n_branches; branch++) {
        enum vbs_status status = solve(work, &item->branches[branch], &solved->branches[k][branch]);

        if (status != VBS_OK)
            return status;
    }
    return VBS_OK;
}

static enum vbs_status solve(struct work *work, const struct vbs_chain *chain,
                             struct solved *solved)
{
    struct vbs_arena *arena = &work->dp->arena;
    size_t m = (size_t)chain->n_items, r = (size_t)work->dp->task->request;
    enum vbs_status status = VBS_OK;

    *solved = (struct solved){.chain = chain};
    if (m * (m + 1) / 2 * r > MAX_SOLVER_BYTES / sizeof *solved->opt)
        return vbs_fail(
            work->ctx, VBS_NO_MEMORY,
            "a chain of %zu layers with a request of %zu samples is too large to plan; a "
            "smaller request would help",
            m, r);
    solved->branches = vbs_arena_alloc(arena, m, sizeof *solved->branches);
    solved->exact = vbs_arena_alloc(arena, m * r, sizeof *solved->exact);
    solved->opt = vbs_arena_alloc(arena, m * (m + 1) / 2 * r, sizeof *solved->opt);
    if (!solved->branches || !solved->exact || !solved->opt)
        return vbs_no_memory(work->ctx);
    for (int k = 0; status == VBS_OK && k < chain->n_items; k++) {
        if (!chain->items[k].layer)
            status = solve_branches(work, solved, k);
        if (status == VBS_OK)
            status = solve_item(work, solved, k);
    }
    for (int d = 0; d < chain->n_items; d++)
        for (int i = 0; status == VBS_OK && i + d < chain->n_items; i++)
            status = solve_pair(work, solved, i, i + d);
    return status;
}

static void dp_close(void *self)
{
    struct dp *dp = self;

    if (!dp)
        return;
    vbs_arena_clear(&dp->arena);
    free(dp);
}

/* Where the steps of a plan go. */
struct emission {
    struct vbs_ctx *ctx;
    const struct dp *dp;
    struct vbs_step_list *steps;
};

/* Appends the steps of OPT[i, j, b] at a memory where it is feasible. */
static enum vbs_status emit_opt(struct emission *to, const struct solved *solved, int i, int j,
                                int b, int64_t bytes);

static enum vbs_status emit_item(struct emission *to, const struct solved *solved, int k, int b,
                                 int64_t bytes)
{
    const struct vbs_item *item = &solved->chain->items[k];
    int64_t inside = bytes - b * item->step_bytes;
    enum vbs_status status = VBS_OK;

    if (item->layer)
        return vbs_step_list_add(
            to->ctx, to->steps, item->layer, b,
            vbs_task_row(to->dp->task, item->layer, b, b * item->step_bytes, bytes)->algorithm);
    for (int branch = 0; status == VBS_OK && branch < item->n_branches; branch++) {
        const struct solved *one = &solved->branches[k][branch];

        status = emit_opt(to, one, 0, one->chain->n_items - 1, b, inside);
    }
    return status;
}

static enum vbs_status emit_opt(struct emission *to, const struct solved *solved, int i, int j,
                                int b, int64_t bytes)
{
    const int64_t *cut = solved->chain->cut_bytes;
    enum vbs_status status = VBS_OK;

    while (status == VBS_OK && i <= j && b > 0) {
        const struct vbs_point *point = vbs_curve_at(opt_at(to->dp, solved, i, j, b), bytes);
        int b1 = point->first, k = point->split;
        int64_t first_bytes = point->bytes - cut[i] * (b - b1);

        status = emit_opt(to, solved, i, k - 1, b1, first_bytes);
        if (status == VBS_OK)
            status = emit_item(to, solved, k, b1, first_bytes);
        if (status == VBS_OK)
            status = emit_opt(to, solved, k + 1, j, b1, first_bytes);
        bytes = point->bytes - cut[j + 1] * b1;
        b -= b1;
    }
    return status;
}

/* The steps at a point of the curve of the whole request. */
static enum vbs_status emit_whole(struct vbs_ctx *ctx, const struct dp *dp,
                                  const struct vbs_point *point, struct vbs_step_list *steps)
{
    struct emission to = {.ctx = ctx, .dp = dp, .steps = steps};

    return emit_opt(&to, &dp->whole, 0, dp->chain.n_items - 1, dp->task->request, point->bytes);
}

/*
 * Ticks tell times apart that, added up as people see them, are equal or even the other way round
 * by the last bit. Keeps the points at which the reported time falls, so that a larger budget never
 * plans slower.
 */
static enum vbs_status keep_gains(struct vbs_ctx *ctx, struct dp *dp)
{
    const struct vbs_curve *all =
        opt_at(dp, &dp->whole, 0, dp->chain.n_items - 1, dp->task->request);
    struct vbs_point *kept = vbs_arena_alloc(&dp->arena, (size_t)all->n, sizeof *kept);
    double least_us = HUGE_VAL;
    int n = 0;

    if (!kept)
        return vbs_no_memory(ctx);
    for (int i = 0; i < all->n; i++) {
        struct vbs_step_list steps = {0};
        enum vbs_status status = emit_whole(ctx, dp, &all->points[i], &steps);
        double time_us = vbs_step_list_us(dp->task, &steps);

        vbs_step_list_clear(&steps);
        if (status != VBS_OK)
            return status;
        if (time_us >= least_us * (1 - VBS_TIME_NOISE))
            continue;
        least_us = time_us;
        kept[n++] = all->points[i];
    }
    dp->answers = (struct vbs_curve){.n = n, .points = kept};
    return VBS_OK;
}

static enum vbs_status dp_open(struct vbs_ctx *ctx, const struct vbs_task *task, void **self)
{
    struct dp *dp = calloc(1, sizeof *dp);
    struct work work = {.ctx = ctx, .dp = dp};
    enum vbs_status status;

    if (!dp)
        return vbs_no_memory(ctx);
    dp->task = task;
    work.exact = calloc((size_t)task->request, sizeof *work.exact);
    status = work.exact ? vbs_chain_build(ctx, task, &dp->arena, &dp->chain) : vbs_no_memory(ctx);
    if (status == VBS_OK)
        status = solve(&work, &dp->chain, &dp->whole);
    if (status == VBS_OK)
        status = keep_gains(ctx, dp);
    vbs_envelope_clear(&work.envelope);
    vbs_arena_clear(&work.scratch);
    free(work.exact);
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
    const struct dp *dp = self;
    const struct vbs_point *point = vbs_curve_at(&dp->answers, memory_bytes);

    if (!point)
        return VBS_INFEASIBLE;
    draft->reserved_bytes = point->bytes;
    return emit_whole(ctx, dp, point, &draft->steps);
}

static size_t dp_peak_bytes(const void *self)
{
    return ((const struct dp *)self)->arena.total_bytes;
}

static int64_t dp_least_bytes(const void *self)
{
    return ((const struct dp *)self)->answers.points[0].bytes;
}

static enum vbs_status dp_thresholds(struct vbs_ctx *ctx, const void *self, int64_t **bytes, int *n)
{
    const struct vbs_curve *answers = &((const struct dp *)self)->answers;

    *bytes = malloc((size_t)answers->n * sizeof **bytes);
    if (!*bytes)
        return vbs_no_memory(ctx);
    for (int i = 0; i < answers->n; i++)
        (*bytes)[i] = answers->points[i].bytes;
    *n = answers->n;
    return VBS_OK;
}

const struct vbs_planner vbs_planner_dp_vbs = {
    .name = "dp-vbs",
    .summary = "a batch size per layer by dynamic programming, exact to the byte (VBS III)",
    .open = dp_open,
    .plan = dp_plan,
    .least_bytes = dp_least_bytes,
    .thresholds = dp_thresholds,
    .peak_bytes = dp_peak_bytes,
    .close = dp_close,
};
