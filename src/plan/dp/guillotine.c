/*
 * Guillotine cuttings of a chain, which dp-vbs and dp-vbs+ search.
 *
 * The work of a request on a chain is a rectangle, items across and samples down. It may be cut
 * from edge to edge: between two samples (a split: some samples of the batch go through all items,
 * then the others) or between two items (a barrier: the whole batch goes through the items before
 * it, then through those behind it). A rectangle that is not cut further is one item on one batch:
 * a step. Every laminar schedule is such a cutting. For items i..j and b samples, O = the least
 * time as a curve over memory M:
 *
 *   O[i, j, b](M) = min of
 *     split     W[i, j, b1](M - cut[i] (b - b1)) + O[i, j, b - b1](M - cut[j+1] b1),  1 <= b1 < b
 *     barrier   S[i, c, b](M) + O[c+1, j, b](M),                                      i <= c < j
 *     step      the rows of the item at batch b,                                      i = j
 *     segment   the segments of items i..j (plan/stripes),                            b = 1
 *               and, where they share loads of weights, b of them in turn,            b > 1
 *
 * cut[i] is the number of bytes that a sample takes between items i-1 and i. S is O where its best
 * is a split (or one item), W where it is not: a barrier within the rectangle before a barrier, or
 * a split within the rectangle before a split, is the same cutting with the other one outermost, so
 * that most rectangles need not be tried at all.
 *
 * The rule of VBS III allows fewer: each rectangle has an item, the pivot, that runs its whole
 * batch (OPTExact), so that barriers come in pairs around it:
 *
 *     pivot     S[i, k-1, b](M) + EXACT[k, k, b](M) + O[k+1, j, b](M),                i <= k <= j
 *
 * Complexity: for m items, r samples and curves of p points O(m^2 r (m + r) p) time at most and
 * O(m^2 r p) memory, 20 bytes a point. Where only n
 * of the numbers up to r are solved (counts.h), it is O(m^2 n (m + n) p), and a cutting is the best
 * of those whose rectangles have these numbers of samples. An item may be a subchain: cuts then
 * begin and end within one subchain, or take it whole, and m is the number of items of each
 * subchain. So a chain of m layers in groups of n (group.c) takes O(m n r (n + r) p).
 */
#include "plan/dp/guillotine.h"

#include "base/clock.h"
#include "base/fail.h"

#include "vbslab/units.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* A solver that needs more memory is refused: a chain of hundreds of layers with hundreds of
 * samples. */
#define MAX_SOLVER_BYTES ((size_t)8 << 30)
/* A solver is also refused where one point on each curve takes more memory than this: with two
 * points each it takes hours. */
#define MAX_FIRST_BYTES 0x1p30
/* Limits of the schedules where only some numbers of samples are solved: steps of all schedules,
 * each counted with one sample, and the least number of schedules. */
#define MAX_OFFERED_STEPS (4 << 20)
#define LEAST_OFFERS      64
#define COARSE_STEPS      (1 << 19) /* the same for chains in groups, whose schedules come first */
#define MAX_SEGMENTS      ((int64_t)1 << 24) /* their numbers are cuts */

/* The curve of the whole subchain that is item k. */
static const struct vbs_curve *subchain_at(const struct guillotine *work,
                                           const struct solved *solved, int k, int b)
{
    const struct solved *subchain = solved->inside[k];

    return vbs_opt_at(work, subchain, 0, subchain->chain->n_items - 1, b);
}

/* Offers a layer as a step: its rows. */
static enum vbs_status offer_rows(struct guillotine *work, const struct vbs_item *item, int k,
                                  int b)
{
    const struct vbs_task *task = work->task;
    const struct vbs_profile_row *rows;
    int n_rows;

    if (task->batch_index[b] < 0)
        return VBS_OK;
    rows = vbs_profile_rows(task->profile, item->layer, task->batch_index[b], &n_rows);
    for (int a = 0; a < n_rows; a++) {
        VBS_TRY(vbs_envelope_offer(work->ctx, &work->envelope,
                                   vbs_item_bytes(item, b) + rows[a].ws_bytes,
                                   vbs_task_ticks(task, rows[a].time_us), k));
    }
    return VBS_OK;
}

static void note_scratch(struct guillotine *work, size_t bytes)
{
    if (bytes > work->scratch_peak_bytes)
        work->scratch_peak_bytes = bytes;
}

/* Offers a special layer as a step: branch after branch, each beside the reserved bytes. */
static enum vbs_status offer_branches(struct guillotine *work, const struct vbs_item *item,
                                      const struct solved *branches, int k, int b)
{
    struct vbs_curve sum = VBS_CURVE_ZERO;

    for (int branch = 0; branch < item->n_branches; branch++) {
        const struct solved *one = &branches[branch];
        struct vbs_moved added = vbs_moved_by(vbs_opt_at(work, one, 0, one->chain->n_items - 1, b),
                                              vbs_item_bytes(item, b));
        struct vbs_arena *arena = &work->sums[branch % 2];
        enum vbs_status status = vbs_check_cancel(work->ctx);

        if (status != VBS_OK)
            return status;
        vbs_envelope_reset(&work->envelope);
        status = vbs_envelope_offer_sum(work->ctx, &work->envelope, vbs_unmoved(&sum),
                                        VBS_POINTS_ALL, added, k);
        vbs_arena_clear(arena);
        if (status == VBS_OK)
            status = vbs_envelope_curve(work->ctx, &work->envelope, arena, &sum);
        note_scratch(work, work->sums[0].total_bytes + work->sums[1].total_bytes);
        if (status != VBS_OK)
            return status;
    }
    return VBS_OK;
}

static enum vbs_status solve_item(struct guillotine *work, struct solved *solved, int k)
{
    const struct vbs_item *item = &solved->chain->items[k];

    for (int c = 0; c < work->counts.n; c++) {
        int b = work->counts.list[c];

        vbs_envelope_reset(&work->envelope);
        VBS_TRY(item->layer ? offer_rows(work, item, k, b)
                            : offer_branches(work, item, solved->inside[k], k, b));
        VBS_TRY(vbs_envelope_curve(work->ctx, &work->envelope, &work->arena,
                                   vbs_step_at(work, solved, k, b)));
    }
    return VBS_OK;
}

static enum vbs_status offer_barriers(struct guillotine *work, const struct solved *solved, int i,
                                      int j, int b)
{
    for (int c = i; c < j; c++) {
        struct vbs_moved parts[2];

        vbs_barrier_parts(work, solved, i, j, b, c, parts);
        VBS_TRY(vbs_envelope_offer_sum(work->ctx, &work->envelope, parts[0],
                                       c == i ? VBS_POINTS_ALL : VBS_POINTS_NEGATIVE_CUT, parts[1],
                                       c));
    }
    return VBS_OK;
}

/* from, of item k at row_start: k runs b samples whole, then k+1..j follow; known for k > i. */
static enum vbs_status offer_pivots(struct guillotine *work, const struct solved *solved, int i,
                                    int j, int b, struct vbs_curve *from)
{
    int at = work->counts.index[b];
    struct vbs_curve *first = &from[vbs_curves_from(work, i) + (size_t)at];

    VBS_TRY(vbs_envelope_offer_sum(work->ctx, &work->envelope,
                                   vbs_unmoved(vbs_step_at(work, solved, i, b)), VBS_POINTS_ALL,
                                   vbs_unmoved(vbs_opt_at(work, solved, i + 1, j, b)), i));
    VBS_TRY(vbs_envelope_curve(work->ctx, &work->envelope, &work->scratch, first));
    for (int k = i + 1; k <= j; k++)
        VBS_TRY(vbs_envelope_offer_sum(
            work->ctx, &work->envelope, vbs_unmoved(vbs_opt_at(work, solved, i, k - 1, b)),
            VBS_POINTS_NEGATIVE_CUT, vbs_unmoved(&from[vbs_curves_from(work, k) + (size_t)at]), k));
    return VBS_OK;
}

static enum vbs_status offer_splits(struct guillotine *work, const struct solved *solved, int i,
                                    int j, int b)
{
    const int *index = work->counts.index;
    /* Of three parts the second and the third together may have no curve, and segments of several
     * samples have cuts of the sign of a split. */
    enum vbs_points first =
        b <= work->counts.exact && !work->task->rows_source ? VBS_POINTS_OTHER_CUT : VBS_POINTS_ALL;

    for (int b1 = b - 1; b1 >= 1; b1--) {
        struct vbs_moved parts[2];

        if (index[b1] < 0 || index[b - b1] < 0)
            continue;
        vbs_split_parts(work, solved, i, j, b, b1, parts);
        /* One sample has no splits, but segments with cuts of their sign. */
        VBS_TRY(vbs_envelope_offer_sum(work->ctx, &work->envelope, parts[0],
                                       b1 == 1 ? VBS_POINTS_ALL : first, parts[1], -b1));
    }
    return VBS_OK;
}

/* Finds the segments in which one sample passes the items by rows. */
static enum vbs_status find_segments(struct guillotine *work, const struct vbs_chain *chain, int i,
                                     int j)
{
    int from = 0, to;

    work->first_segment = work->segments.n;
    if (work->first_segment > MAX_SEGMENTS)
        return VBS_OK;
    while (work->order[from] != vbs_item_first(&chain->items[i]))
        from++;
    to = from + vbs_chain_count(chain, i, j) - 1;
    return vbs_stripes_find(work->ctx, work->stripes, from, to, chain->cut_bytes[i],
                            &work->segments);
}

/* Offers the segments of the items for b samples, one sample after the other. For several samples
 * this is a choice of its own where they share loads of weights. */
static enum vbs_status offer_segments(struct guillotine *work, const struct solved *solved, int i,
                                      int j, int b)
{
    const int64_t *cut = solved->chain->cut_bytes;
    int64_t waiting = (b - 1) * (cut[i] > cut[j + 1] ? cut[i] : cut[j + 1]);

    if (b == 1)
        VBS_TRY(find_segments(work, solved->chain, i, j));
    for (int64_t s = work->first_segment; s < work->segments.n; s++) {
        const struct vbs_segment *segment = &work->segments.list[s];

        if (b == 1 || segment->once_ticks > 0)
            VBS_TRY(vbs_envelope_offer(work->ctx, &work->envelope, segment->bytes + waiting,
                                       b * segment->ticks - (b - 1) * segment->once_ticks,
                                       (int32_t)(-b - s)));
    }
    return VBS_OK;
}

static enum vbs_status solve_cell(struct guillotine *work, const struct solved *solved, int i,
                                  int j, int b, struct vbs_curve *from)
{
    if (i == j && solved->chain->items[i].subchain) {
        vbs_opt_row(work, solved, i, i)[work->counts.index[b]] = *subchain_at(work, solved, i, b);
        return VBS_OK;
    }
    vbs_envelope_reset(&work->envelope);
    if (work->rule == VBS_CUT_PIVOT)
        VBS_TRY(offer_pivots(work, solved, i, j, b, from));
    else if (i < j)
        VBS_TRY(offer_barriers(work, solved, i, j, b));
    else
        VBS_TRY(vbs_envelope_offer_sum(work->ctx, &work->envelope, vbs_unmoved(&VBS_CURVE_ZERO),
                                       VBS_POINTS_ALL, vbs_unmoved(vbs_step_at(work, solved, i, b)),
                                       i));
    VBS_TRY(offer_splits(work, solved, i, j, b));
    if (work->stripes)
        VBS_TRY(offer_segments(work, solved, i, j, b));
    return vbs_envelope_curve(work->ctx, &work->envelope, &work->arena,
                              &vbs_opt_row(work, solved, i, j)[work->counts.index[b]]);
}

/* The least bytes that the curves of a chain take: one point each. */
static double least_solver_bytes(const struct guillotine *work, int n_items)
{
    double pairs = (double)n_items * (n_items + 1.0) / 2;

    return pairs * work->counts.n *
           (sizeof(struct vbs_curve) + 2 * sizeof(int64_t) + sizeof(int32_t));
}

static enum vbs_status too_large(struct guillotine *work, const struct solved *solved,
                                 double needed_bytes)
{
    char needed[24];

    vbs_format_bytes((int64_t)fmin(needed_bytes, 0x1p62), needed, sizeof needed);
    return vbs_fail(work->ctx, VBS_NO_MEMORY,
                    "a chain of %d layers with a request of %d samples needs more than %s to "
                    "plan; a smaller request would help",
                    solved->chain->n_items, work->task->request, needed);
}

/* Refuses when the curves so far take more than a solver may. */
static enum vbs_status check_size(struct guillotine *work, const struct solved *solved)
{
    return work->arena.total_bytes > MAX_SOLVER_BYTES
               ? too_large(work, solved, (double)MAX_SOLVER_BYTES)
               : VBS_OK;
}

#define REPORT_S      0.1
#define LEAST_SPENT_S 0.05 /* before it is estimated how long a solve takes */

/* Whether the columns of the whole chain, of which a share is done, will not end in time. This ends
 * the solve as soon as it is known, because nothing is offered before its end. Curves grow from
 * column to column, so that the rest takes longer than its share. */
static bool will_be_late(struct guillotine *work, const struct solved *solved, double done)
{
    double now_s = vbs_clock_s(), until_s = work->task->cut_until_s;

    if (until_s <= 0 || solved != &work->whole)
        return false;
    if (done == 0)
        work->columns_from_s = now_s;
    return now_s > work->columns_from_s + LEAST_SPENT_S &&
           (now_s - work->columns_from_s) * (1 - done) > (until_s - now_s) * done;
}

/* Checks the clock when column j begins. Columns up to j are about (j / m)^3 of the work. */
static void look_at_clock(struct guillotine *work, const struct solved *solved, int j)
{
    const struct vbs_progress *progress = &work->task->options.progress;
    double now_s = vbs_clock_s(), done = pow((double)j / solved->chain->n_items, 3);
    double spent_s = now_s - work->from_s;

    if (vbs_task_is_late(work->task) || will_be_late(work, solved, done))
        work->is_late = true;
    if (!progress->report || j == 0 || now_s < work->reported_s + REPORT_S)
        return;
    work->reported_s = now_s;
    progress->report(progress->self, done, vbs_left_s(done, spent_s, spent_s), "cuttings");
}

/* Solves all pairs that end at j, the shortest first. */
static enum vbs_status solve_column(struct guillotine *work, const struct solved *solved, int j,
                                    struct vbs_curve *from)
{
    enum vbs_status status = VBS_OK;

    solved->opt[j] =
        vbs_arena_alloc(&work->arena, vbs_curves_from(work, j + 1), sizeof **solved->opt);
    if (!solved->opt[j])
        return vbs_no_memory(work->ctx);
    vbs_arena_clear(&work->scratch);
    for (int i = j; status == VBS_OK && !work->is_late && i >= 0; i--) {
        for (int c = 0; status == VBS_OK && !work->is_late && c < work->counts.n; c++) {
            status = vbs_check_cancel(work->ctx);
            if (status == VBS_OK)
                status = solve_cell(work, solved, i, j, work->counts.list[c], from);
            work->is_late = vbs_task_is_late(work->task);
        }
        if (status == VBS_OK)
            status = check_size(work, solved);
    }
    note_scratch(work, work->scratch.total_bytes);
    return status;
}

static enum vbs_status solve(struct guillotine *work, const struct vbs_chain *chain,
                             struct solved *solved);

/* Solves the chains that item k stands for. */
static enum vbs_status solve_inside(struct guillotine *work, struct solved *solved, int k)
{
    const struct vbs_item *item = &solved->chain->items[k];
    const struct vbs_chain *chains = item->subchain ? item->subchain : item->branches;
    int n = item->subchain ? 1 : item->n_branches;

    solved->inside[k] = vbs_arena_alloc(&work->arena, (size_t)n, sizeof **solved->inside);
    if (!solved->inside[k])
        return vbs_no_memory(work->ctx);
    for (int c = 0; c < n; c++) {
        VBS_TRY(solve(work, &chains[c], &solved->inside[k][c]));
    }
    return VBS_OK;
}

static enum vbs_status solve(struct guillotine *work, const struct vbs_chain *chain,
                             struct solved *solved)
{
    size_t m = (size_t)chain->n_items, n_curves = vbs_curves_from(work, chain->n_items);
    struct vbs_curve *from;

    *solved = (struct solved){.chain = chain};
    if (least_solver_bytes(work, chain->n_items) > MAX_FIRST_BYTES)
        return too_large(work, solved, least_solver_bytes(work, chain->n_items));
    solved->inside = vbs_arena_alloc(&work->arena, m, sizeof *solved->inside);
    solved->step = vbs_arena_alloc(&work->arena, n_curves, sizeof *solved->step);
    solved->opt = vbs_arena_alloc(&work->arena, m, sizeof *solved->opt);
    from = vbs_arena_alloc(&work->arena, n_curves, sizeof *from);
    if (!solved->inside || !solved->step || !solved->opt || !from)
        return vbs_no_memory(work->ctx);
    for (int k = 0; !work->is_late && k < chain->n_items; k++) {
        if (!chain->items[k].layer)
            VBS_TRY(solve_inside(work, solved, k));
        if (!chain->items[k].subchain)
            VBS_TRY(solve_item(work, solved, k));
        VBS_TRY(check_size(work, solved));
    }
    for (int j = 0; !work->is_late && j < chain->n_items; j++) {
        look_at_clock(work, solved, j);
        VBS_TRY(solve_column(work, solved, j, from));
    }
    return VBS_OK;
}

/* The destination of the steps of one schedule. */
struct cut_emission {
    const struct guillotine *work;
    struct vbs_step_list steps;
};

static enum vbs_status emit(struct cut_emission *to, const struct solved *solved, int i, int j,
                            int b, int64_t bytes);

static enum vbs_status emit_item(struct cut_emission *to, const struct solved *solved, int k, int b,
                                 int64_t bytes)
{
    const struct vbs_task *task = to->work->task;
    const struct vbs_item *item = &solved->chain->items[k];
    int64_t reserved = vbs_item_bytes(item, b);

    if (item->subchain)
        return emit(to, solved->inside[k], 0, item->subchain->n_items - 1, b, bytes);
    if (item->layer)
        return vbs_step_list_add(to->work->ctx, &to->steps, item->layer, b,
                                 vbs_task_row(task, item->layer, b, reserved, bytes)->algorithm);
    for (int branch = 0; branch < item->n_branches; branch++) {
        const struct solved *one = &solved->inside[k][branch];

        VBS_TRY(emit(to, one, 0, one->chain->n_items - 1, b, bytes - reserved));
    }
    return VBS_OK;
}

/* Appends the steps of O[i, j, b] at a memory where it is feasible. */
static enum vbs_status emit(struct cut_emission *to, const struct solved *solved, int i, int j,
                            int b, int64_t bytes)
{
    const int64_t *cut = solved->chain->cut_bytes;
    bool pivots = to->work->rule == VBS_CUT_PIVOT;
    enum vbs_status status = VBS_OK;

    while (status == VBS_OK && i <= j && b > 0) {
        const struct vbs_curve *curve = vbs_opt_at(to->work, solved, i, j, b);
        int at = vbs_curve_at(curve, bytes), here = curve->cut[at];

        bytes = curve->bytes[at];
        if (here <= -b) {
            for (int sample = 0; status == VBS_OK && sample < b; sample++)
                status = vbs_stripes_emit(to->work->ctx, to->work->stripes,
                                          &to->work->segments.list[-b - here], &to->steps);
            return status;
        }
        if (here < 0) {
            status = emit(to, solved, i, j, -here, bytes - cut[i] * (b + here));
            bytes -= cut[j + 1] * -here;
            b += here;
            continue;
        }
        if (i == j)
            return emit_item(to, solved, i, b, bytes);
        status = emit(to, solved, i, pivots ? here - 1 : here, b, bytes);
        if (pivots && status == VBS_OK)
            status = emit_item(to, solved, here, b, bytes);
        i = here + 1;
    }
    return status;
}

/* Fails because of an interruption, or of schedules that take more memory than a solver may. */
static enum vbs_status refuse_more(struct guillotine *work, const struct solved *whole)
{
    VBS_TRY(vbs_check_cancel(work->ctx));
    return too_large(work, whole, (double)MAX_SOLVER_BYTES);
}

enum vbs_status vbs_guillotine_emit(const struct guillotine *work, int64_t bytes,
                                    struct vbs_step_list *steps)
{
    struct cut_emission to = {.work = work, .steps = *steps};
    enum vbs_status status = VBS_OK;

    for (int left = work->task->request; status == VBS_OK && left > 0;) {
        const struct vbs_curve *curve = &work->chunks[left];
        int b = curve->cut[vbs_curve_at(curve, bytes)];

        status = emit(&to, &work->whole, 0, work->whole.chain->n_items - 1, b, bytes);
        left -= b;
    }
    *steps = to.steps;
    return status;
}

/* Gives the time of the whole request as its curve has it. */
static double chunks_us(const struct guillotine *work, int64_t bytes)
{
    const struct vbs_curve *curve = &work->chunks[work->task->request];

    return vbs_task_us(work->task, curve->ticks[vbs_curve_at(curve, bytes)]);
}

/* Offers the schedule of a whole request, given as chunk after chunk. Steps with rows of another
 * task (rows_source) have no times of their own here. */
static enum vbs_status offer_chunks(struct guillotine *work, int64_t bytes,
                                    struct vbs_pareto_set *pareto)
{
    struct vbs_step_list steps = {0};
    enum vbs_status status;

    if (vbs_cancelled(work->ctx) || pareto->arena.total_bytes > MAX_SOLVER_BYTES)
        return refuse_more(work, &work->whole);
    status = vbs_guillotine_emit(work, bytes, &steps);
    if (status == VBS_OK && work->task->rows_source)
        status = vbs_pareto_offer_timed(work->ctx, pareto, bytes, chunks_us(work, bytes), &steps);
    else if (status == VBS_OK)
        status = vbs_pareto_offer(work->ctx, pareto, bytes, &steps);
    vbs_step_list_clear(&steps);
    return status;
}

/* Sets *kept to the points of curve that take at most the latency; their cut is b. */
static enum vbs_status in_time(struct guillotine *work, const struct vbs_curve *curve, int b,
                               struct vbs_curve *kept)
{
    vbs_envelope_reset(&work->envelope);
    for (int p = 0; p < curve->n; p++)
        if (curve->ticks[p] <= work->task->latency_ticks)
            VBS_TRY(vbs_envelope_offer(work->ctx, &work->envelope, curve->bytes[p], curve->ticks[p],
                                       b));
    return vbs_envelope_curve(work->ctx, &work->envelope, &work->arena, kept);
}

/*
 * With external io no tensor is alive between chunks, so that they do not shift each other's
 * curves. With resident io, or without a bound, the request is one chunk.
 */
enum vbs_status vbs_guillotine_compose(struct guillotine *work)
{
    const struct vbs_task *task = work->task;
    const struct solved *whole = &work->whole;
    int last = whole->chain->n_items - 1, r = task->request;
    bool bounded = task->latency_ticks != INT64_MAX && task->problem.io == VBS_IO_EXTERNAL;
    struct vbs_curve *single, *chunks;

    work->chunks = chunks = vbs_arena_alloc(&work->arena, (size_t)r + 1, sizeof *chunks);
    if (!chunks)
        return vbs_no_memory(work->ctx);
    if (!bounded)
        return in_time(work, vbs_opt_at(work, whole, 0, last, r), r, &chunks[r]);
    single = vbs_arena_alloc(&work->arena, (size_t)r + 1, sizeof *single);
    if (!single)
        return vbs_no_memory(work->ctx);
    chunks[0] = VBS_CURVE_ZERO;
    for (int b = 1; b <= r; b++) {
        VBS_TRY(in_time(work, vbs_opt_at(work, whole, 0, last, b), b, &single[b]));
        vbs_envelope_reset(&work->envelope);
        for (int b1 = b; b1 >= 1; b1--)
            VBS_TRY(vbs_envelope_offer_sum(work->ctx, &work->envelope, vbs_unmoved(&single[b1]),
                                           VBS_POINTS_ALL, vbs_unmoved(&chunks[b - b1]), b1));
        VBS_TRY(vbs_envelope_curve(work->ctx, &work->envelope, &work->arena, &chunks[b]));
    }
    return VBS_OK;
}

/* Offers the schedules of all points of the curve of b samples in one chunk. */
static enum vbs_status offer_all(struct guillotine *work, int b, struct vbs_pareto_set *pareto)
{
    const struct solved *whole = &work->whole;
    int last = whole->chain->n_items - 1;
    const struct vbs_curve *curve = vbs_opt_at(work, whole, 0, last, b);
    enum vbs_status status = VBS_OK;

    for (int p = 0; p < curve->n; p++) {
        struct cut_emission to = {.work = work};

        if (vbs_cancelled(work->ctx) || pareto->arena.total_bytes > MAX_SOLVER_BYTES)
            return refuse_more(work, whole);
        status = emit(&to, whole, 0, last, b, curve->bytes[p]);
        if (status == VBS_OK)
            status = vbs_pareto_offer(work->ctx, pareto, curve->bytes[p], &to.steps);
        vbs_step_list_clear(&to.steps);
        if (status != VBS_OK)
            return status;
    }
    return VBS_OK;
}

/* Schedules of a long request or a long network take much memory: where only some numbers of
 * samples are solved, or time is short, only every n-th point of the curve becomes a schedule.
 * Returns n. */
static int offer_stride(const struct guillotine *work, int n_points)
{
    const struct vbs_task *task = work->task;

    if (task->most_items > 0)
        return vbs_pareto_stride(task, n_points, COARSE_STEPS, LEAST_OFFERS);
    if (work->counts.exact == task->request && task->cut_until_s == 0)
        return 1;
    return vbs_pareto_stride(task, n_points, MAX_OFFERED_STEPS, LEAST_OFFERS);
}

/* Gives whether point p of the curve is the best one in some budget for which cuttings are made. */
static bool is_wanted(const struct vbs_task *task, const struct vbs_curve *curve, int p)
{
    return !task->cut_budgets || p == 0 || p == curve->n - 1 ||
           vbs_budget_list_count(task->cut_budgets, curve->bytes[p] - 1) <
               vbs_budget_list_count(task->cut_budgets, curve->bytes[p + 1] - 1);
}

/* Offers the schedules of the largest budget, of the least one, and of budgets between them. */
static enum vbs_status offer_request(struct guillotine *work, struct vbs_pareto_set *pareto)
{
    const struct vbs_curve *curve;
    int stride;

    VBS_TRY(vbs_guillotine_compose(work));
    curve = &work->chunks[work->task->request];
    stride = offer_stride(work, curve->n);
    for (int p = 0; p < curve->n; p++)
        if (vbs_pareto_is_kept(p, curve->n, stride) && is_wanted(work->task, curve, p))
            VBS_TRY(offer_chunks(work, curve->bytes[p], pareto));
    return VBS_OK;
}

static enum vbs_status open_stripes(struct guillotine *work, const struct vbs_chain *chain)
{
    work->order = vbs_arena_alloc(&work->arena, (size_t)work->task->n_layers, sizeof *work->order);
    if (!work->order)
        return vbs_no_memory(work->ctx);
    vbs_chain_layers(chain, work->order);
    return vbs_stripes_open(work->ctx, work->task, work->order, &work->stripes);
}

enum vbs_status vbs_guillotine_open(struct guillotine *work, const struct vbs_chain *chain)
{
    work->envelope.most_bytes = work->task->options.most_bytes;
    work->from_s = work->reported_s = vbs_clock_s();
    VBS_TRY(vbs_counts_find(work->ctx, work->task, &work->arena, &work->counts));
    if (work->rule == VBS_CUT_BARRIER && (work->task->has_rows || work->task->rows_source))
        VBS_TRY(open_stripes(work, chain));
    return solve(work, chain, &work->whole);
}

void vbs_guillotine_close(struct guillotine *work)
{
    vbs_stripes_close(work->stripes);
    free(work->segments.list);
    vbs_envelope_clear(&work->envelope);
    vbs_arena_clear(&work->scratch);
    vbs_arena_clear(&work->sums[0]);
    vbs_arena_clear(&work->sums[1]);
    vbs_arena_clear(&work->arena);
}

static enum vbs_status offer_schedules(struct guillotine *work, struct vbs_pareto_set *pareto,
                                       int n_sets)
{
    if (work->is_late)
        return VBS_OK;
    if (n_sets == 1)
        return offer_request(work, pareto);
    for (int b = 1; b <= n_sets; b++)
        VBS_TRY(offer_all(work, b, &pareto[b - 1]));
    return VBS_OK;
}

enum vbs_status vbs_guillotine_solve(struct vbs_ctx *ctx, const struct vbs_task *task,
                                     const struct vbs_chain *chain, enum vbs_cut_rule rule,
                                     struct vbs_pareto_set *pareto, int n_sets)
{
    struct guillotine work = {.ctx = ctx, .task = task, .rule = rule};
    enum vbs_status status = vbs_guillotine_open(&work, chain);
    size_t used;

    if (status == VBS_OK)
        status = offer_schedules(&work, pareto, n_sets);
    used = work.arena.total_bytes + work.scratch_peak_bytes;
    if (used > pareto->solving_bytes)
        pareto->solving_bytes = used;
    vbs_guillotine_close(&work);
    return status;
}
