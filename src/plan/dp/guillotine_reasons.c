/*
 * Explains cuttings: walks the curves of a solved chain as guillotine.c does when it emits steps,
 * and lists at each rectangle all cuts with their times. A candidate is here the best schedule with
 * that cut outermost, so that cuts which differ only in their order take equal times; guillotine.c
 * keeps one of these.
 */
#include "plan/dp/guillotine.h"
#include "plan/dp/reasons.h"

#include "base/fail.h"

#include <math.h>

struct cut_reasons {
    struct vbs_reasons *to;
    const struct guillotine *work;
    bool with_curves;
};

/* A rectangle in some memory. The plan was made with just the memory that its time needs, in which
 * fewer algorithms fit. */
struct rectangle {
    const struct solved *solved;
    int i, j, b;
    int64_t bytes;
    int64_t planned_bytes; /* <= bytes */
};

/* A curve that is a part of a candidate. late_ticks: points that take longer do not count. */
struct curve_part {
    struct vbs_moved curve;
    int64_t late_ticks;
    struct vbs_part part;
};

static struct curve_part part_of(const struct solved *solved, int i, int j, int b,
                                 struct vbs_moved curve)
{
    const struct vbs_item *items = solved->chain->items;

    return (struct curve_part){.curve = curve,
                               .late_ticks = INT64_MAX,
                               .part = {.first_layer = vbs_item_first(&items[i]),
                                        .last_layer = vbs_item_last(&items[j]),
                                        .samples = b,
                                        .times = 1,
                                        .beside_bytes = curve.by_bytes}};
}

/* The index of the first point that is not late; curve->n: none. */
static int first_in_time(const struct curve_part *part)
{
    const struct vbs_curve *curve = part->curve.curve;
    int p = 0;

    while (p < curve->n && curve->ticks[p] > part->late_ticks)
        p++;
    return p;
}

/* Gives the least memory in which all parts have a schedule; INT64_MAX: none. */
static int64_t least_of(const struct curve_part *parts, int n)
{
    int64_t least = 0;

    for (int p = 0; p < n; p++) {
        const struct vbs_curve *curve = parts[p].curve.curve;
        int first = first_in_time(&parts[p]);
        int64_t bytes;

        if (first == curve->n)
            return INT64_MAX;
        bytes = curve->bytes[first] + parts[p].curve.by_bytes;
        least = bytes > least ? bytes : least;
    }
    return least;
}

/* Adds a candidate whose parts follow each other, at most three. */
static enum vbs_status add_sum(const struct cut_reasons *at, enum vbs_choice choice, int number,
                               struct curve_part *parts, int n, int64_t memory_bytes)
{
    struct vbs_candidate candidate = {.choice = choice,
                                      .at = number,
                                      .least_bytes = least_of(parts, n),
                                      .needed_bytes = INT64_MAX,
                                      .time_us = HUGE_VAL};
    struct vbs_part plain[3];
    int64_t ticks = 0, needed = 0;

    candidate.fits = candidate.least_bytes <= memory_bytes;
    if (!candidate.fits)
        memory_bytes = candidate.least_bytes;
    for (int p = 0; p < n; p++) {
        const struct vbs_curve *curve = parts[p].curve.curve;
        int point = vbs_curve_at(curve, memory_bytes - parts[p].curve.by_bytes);

        plain[p] = parts[p].part;
        plain[p].time_us = HUGE_VAL;
        if (point < 0 || curve->ticks[point] > parts[p].late_ticks)
            continue;
        plain[p].time_us = vbs_task_us(at->work->task, curve->ticks[point]);
        ticks += curve->ticks[point];
        if (curve->bytes[point] + parts[p].curve.by_bytes > needed)
            needed = curve->bytes[point] + parts[p].curve.by_bytes;
    }
    if (candidate.least_bytes < INT64_MAX) {
        candidate.time_us = vbs_task_us(at->work->task, ticks);
        candidate.needed_bytes = needed;
    }
    return vbs_reasons_add(at->to, &candidate, plain, n);
}

static enum vbs_status add_splits(const struct cut_reasons *at, const struct rectangle *in)
{
    const struct solved *solved = in->solved;
    const int *index = at->work->counts.index;

    for (int b1 = in->b - 1; b1 >= 1; b1--) {
        struct vbs_moved curves[2];
        struct curve_part parts[2];

        if (index[b1] < 0 || index[in->b - b1] < 0)
            continue;
        vbs_split_parts(at->work, solved, in->i, in->j, in->b, b1, curves);
        parts[0] = part_of(solved, in->i, in->j, b1, curves[0]);
        parts[1] = part_of(solved, in->i, in->j, in->b - b1, curves[1]);
        VBS_TRY(add_sum(at, VBS_CHOICE_SPLIT, b1, parts, 2, in->bytes));
    }
    return VBS_OK;
}

static enum vbs_status add_barriers(const struct cut_reasons *at, const struct rectangle *in)
{
    const struct solved *solved = in->solved;

    for (int c = in->i; c < in->j; c++) {
        struct vbs_moved curves[2];
        struct curve_part parts[2];

        vbs_barrier_parts(at->work, solved, in->i, in->j, in->b, c, curves);
        parts[0] = part_of(solved, in->i, c, in->b, curves[0]);
        parts[1] = part_of(solved, c + 1, in->j, in->b, curves[1]);
        VBS_TRY(add_sum(at, VBS_CHOICE_BARRIER, vbs_item_last(&solved->chain->items[c]), parts, 2,
                        in->bytes));
    }
    return VBS_OK;
}

/* Gives the rows of a step of the last layer of a segment. */
static int last_height(const struct vbs_segment *segment)
{
    return segment->heights[segment->to - segment->from];
}

/* Gives whether segment a is the better one to show of two with the same last height: of those that
 * fit the fastest, else the one that needs least. */
static bool is_shown(const struct vbs_segment *a, const struct vbs_segment *b, int64_t bytes)
{
    if ((a->bytes <= bytes) != (b->bytes <= bytes))
        return a->bytes <= bytes;
    return a->bytes <= bytes ? a->ticks < b->ticks : a->bytes < b->bytes;
}

/* Adds the segments of the part, one of each number of rows in which the last layer runs. */
static enum vbs_status add_segments(const struct cut_reasons *at, const struct rectangle *in)
{
    const struct vbs_segment_list *all = &at->work->segments;
    const struct vbs_task *task = at->work->task;
    int first = vbs_item_first(&in->solved->chain->items[in->i]);
    int n = vbs_chain_count(in->solved->chain, in->i, in->j);

    for (int64_t s = 0; in->b == 1 && s < all->n; s++) {
        const struct vbs_segment *segment = &all->list[s];
        struct vbs_candidate candidate = {.choice = VBS_CHOICE_ROWS};
        bool shown =
            at->work->order[segment->from] == first && segment->to - segment->from + 1 == n;

        for (int64_t o = 0; shown && o < all->n; o++)
            if (o != s && all->list[o].from == segment->from && all->list[o].to == segment->to &&
                last_height(&all->list[o]) == last_height(segment))
                shown = !is_shown(&all->list[o], segment, in->planned_bytes);
        if (!shown)
            continue;
        candidate.at = last_height(segment);
        candidate.fits = segment->bytes <= in->bytes;
        candidate.time_us = vbs_task_us(task, segment->ticks);
        candidate.least_bytes = candidate.needed_bytes = segment->bytes;
        VBS_TRY(vbs_reasons_add(at->to, &candidate, NULL, 0));
    }
    return VBS_OK;
}

static enum vbs_status add_pivots(const struct cut_reasons *at, const struct rectangle *in)
{
    const struct solved *solved = in->solved;
    int b = in->b;

    for (int k = in->i; k <= in->j; k++) {
        struct curve_part parts[3];
        int n = 0;

        if (k > in->i)
            parts[n++] = part_of(solved, in->i, k - 1, b,
                                 vbs_unmoved(vbs_opt_at(at->work, solved, in->i, k - 1, b)));
        parts[n++] = part_of(solved, k, k, b, vbs_unmoved(vbs_step_at(at->work, solved, k, b)));
        if (k < in->j)
            parts[n++] = part_of(solved, k + 1, in->j, b,
                                 vbs_unmoved(vbs_opt_at(at->work, solved, k + 1, in->j, b)));
        VBS_TRY(add_sum(at, VBS_CHOICE_PIVOT, vbs_item_first(&solved->chain->items[k]), parts, n,
                        in->bytes));
    }
    return VBS_OK;
}

/* Adds the one way in which a special layer runs. */
static enum vbs_status add_block(const struct cut_reasons *at, const struct rectangle *in)
{
    struct curve_part whole = part_of(in->solved, in->i, in->i, in->b,
                                      vbs_unmoved(vbs_step_at(at->work, in->solved, in->i, in->b)));

    return add_sum(at, VBS_CHOICE_BLOCK, whole.part.first_layer, &whole, 1, in->bytes);
}

/* Adds the algorithms of one layer, or the block. */
static enum vbs_status add_item(const struct cut_reasons *at, const struct rectangle *in)
{
    const struct vbs_item *item = &in->solved->chain->items[in->i];

    return item->layer ? vbs_reasons_add_rows(at->to, item->layer, in->b,
                                              vbs_item_bytes(item, in->b), in->bytes)
                       : add_block(at, in);
}

/* Makes the points of a curve. */
static enum vbs_status points_of(const struct cut_reasons *at, const struct vbs_curve *curve,
                                 const struct vbs_frontier_point **points)
{
    struct vbs_frontier_point *made =
        vbs_arena_alloc(&at->to->arena, (size_t)curve->n + 1, sizeof *made);

    if (!made)
        return vbs_no_memory(at->to->ctx);
    for (int p = 0; p < curve->n; p++)
        made[p] = (struct vbs_frontier_point){curve->bytes[p],
                                              vbs_task_us(at->work->task, curve->ticks[p])};
    *points = made;
    return VBS_OK;
}

/* Begins a decision about what a curve has. */
static enum vbs_status begin(const struct cut_reasons *at, int parent,
                             const struct vbs_decision *decision, const struct vbs_curve *curve,
                             int *index)
{
    const struct vbs_frontier_point *points;

    VBS_TRY(vbs_reasons_begin(at->to, parent, decision, index));
    if (!at->with_curves)
        return VBS_OK;
    VBS_TRY(points_of(at, curve, &points));
    return vbs_reasons_curve(at->to, *index, points, curve->n);
}

static enum vbs_status explain(const struct cut_reasons *at, const struct rectangle *in,
                               int parent);

/* Explains the parts that a special layer leaves to decide: its branches. */
static enum vbs_status explain_branches(const struct cut_reasons *at, const struct rectangle *in,
                                        int parent)
{
    const struct vbs_item *item = &in->solved->chain->items[in->i];

    for (int branch = 0; branch < item->n_branches; branch++) {
        const struct solved *one = &in->solved->inside[in->i][branch];

        VBS_TRY(explain(at,
                        &(struct rectangle){one, 0, one->chain->n_items - 1, in->b,
                                            in->bytes - vbs_item_bytes(item, in->b),
                                            in->planned_bytes - vbs_item_bytes(item, in->b)},
                        parent));
    }
    return VBS_OK;
}

static struct vbs_decision decision_on(const struct rectangle *in)
{
    const struct vbs_chain *chain = in->solved->chain;

    return (struct vbs_decision){.first_layer = vbs_item_first(&chain->items[in->i]),
                                 .last_layer = vbs_item_last(&chain->items[in->j]),
                                 .n_layers = vbs_chain_count(chain, in->i, in->j),
                                 .samples = in->b,
                                 .memory_bytes = in->bytes};
}

/* Ends the decision for one item that runs all samples at once, and explains what it leaves. */
static enum vbs_status end_item(const struct cut_reasons *at, const struct rectangle *in, int index)
{
    const struct vbs_item *item = &in->solved->chain->items[in->i];
    const struct vbs_profile_row *row;

    if (!item->layer) {
        VBS_TRY(vbs_reasons_end(at->to, index, VBS_CHOICE_BLOCK, vbs_item_first(item)));
        return explain_branches(at, in, index);
    }
    row = vbs_task_row(at->work->task, item->layer, in->b, vbs_item_bytes(item, in->b),
                       in->planned_bytes);
    return vbs_reasons_end(at->to, index, VBS_CHOICE_STEP, row ? row->algorithm : -1);
}

/* Explains EXACT[k, k, b]. */
static enum vbs_status explain_item(const struct cut_reasons *at, const struct rectangle *in,
                                    int parent)
{
    struct vbs_decision decision = decision_on(in);
    int index;

    decision.is_exact = true;
    VBS_TRY(begin(at, parent, &decision, vbs_step_at(at->work, in->solved, in->i, in->b), &index));
    VBS_TRY(add_item(at, in));
    return end_item(at, in, index);
}

static enum vbs_status explain_split(const struct cut_reasons *at, const struct rectangle *in,
                                     int b1, int index)
{
    struct vbs_moved parts[2];

    vbs_split_parts(at->work, in->solved, in->i, in->j, in->b, b1, parts);
    VBS_TRY(vbs_reasons_end(at->to, index, VBS_CHOICE_SPLIT, b1));
    VBS_TRY(explain(at,
                    &(struct rectangle){in->solved, in->i, in->j, b1, in->bytes - parts[0].by_bytes,
                                        in->planned_bytes - parts[0].by_bytes},
                    index));
    return explain(at,
                   &(struct rectangle){in->solved, in->i, in->j, in->b - b1,
                                       in->bytes - parts[1].by_bytes,
                                       in->planned_bytes - parts[1].by_bytes},
                   index);
}

static enum vbs_status explain_barrier(const struct cut_reasons *at, const struct rectangle *in,
                                       int c, int index)
{
    VBS_TRY(vbs_reasons_end(at->to, index, VBS_CHOICE_BARRIER,
                            vbs_item_last(&in->solved->chain->items[c])));
    VBS_TRY(explain(
        at, &(struct rectangle){in->solved, in->i, c, in->b, in->bytes, in->planned_bytes}, index));
    return explain(
        at, &(struct rectangle){in->solved, c + 1, in->j, in->b, in->bytes, in->planned_bytes},
        index);
}

static enum vbs_status explain_pivot(const struct cut_reasons *at, const struct rectangle *in,
                                     int k, int index)
{
    VBS_TRY(vbs_reasons_end(at->to, index, VBS_CHOICE_PIVOT,
                            vbs_item_first(&in->solved->chain->items[k])));
    if (k > in->i)
        VBS_TRY(explain(
            at, &(struct rectangle){in->solved, in->i, k - 1, in->b, in->bytes, in->planned_bytes},
            index));
    VBS_TRY(explain_item(
        at, &(struct rectangle){in->solved, k, k, in->b, in->bytes, in->planned_bytes}, index));
    if (k == in->j)
        return VBS_OK;
    return explain(
        at, &(struct rectangle){in->solved, k + 1, in->j, in->b, in->bytes, in->planned_bytes},
        index);
}

/* Explains O[i, j, b] at a memory. */
static enum vbs_status explain(const struct cut_reasons *at, const struct rectangle *given,
                               int parent)
{
    struct rectangle tight = *given, *in = &tight;
    const struct vbs_item *item = &in->solved->chain->items[in->i];
    const struct vbs_curve *curve = vbs_opt_at(at->work, in->solved, in->i, in->j, in->b);
    struct vbs_decision decision = decision_on(in);
    int point = vbs_curve_at(curve, in->bytes), index, cut;

    if (in->i == in->j && item->subchain)
        return explain(at,
                       &(struct rectangle){in->solved->inside[in->i], 0,
                                           item->subchain->n_items - 1, in->b, in->bytes,
                                           in->planned_bytes},
                       parent);
    VBS_TRY(begin(at, parent, &decision, curve, &index));
    if (in->i == in->j)
        VBS_TRY(add_item(at, in));
    else if (at->work->rule == VBS_CUT_PIVOT)
        VBS_TRY(add_pivots(at, in));
    else
        VBS_TRY(add_barriers(at, in));
    VBS_TRY(add_splits(at, in));
    VBS_TRY(add_segments(at, in));
    if (point < 0)
        return vbs_reasons_end(at->to, index, VBS_CHOICE_STEP, -1);
    tight.planned_bytes = curve->bytes[point];
    cut = curve->cut[point];
    if (cut < 0 && in->b == 1)
        return vbs_reasons_end(at->to, index, VBS_CHOICE_ROWS,
                               last_height(&at->work->segments.list[-1 - cut]));
    if (cut < 0)
        return explain_split(at, in, -cut, index);
    if (in->i == in->j)
        return end_item(at, in, index);
    return at->work->rule == VBS_CUT_PIVOT ? explain_pivot(at, in, cut, index)
                                           : explain_barrier(at, in, cut, index);
}

/* Adds the curve of the explained part. */
static enum vbs_status add_points(const struct cut_reasons *at, const struct vbs_curve *curve)
{
    struct vbs_explanation *made = &at->to->made;

    VBS_TRY(points_of(at, curve, &made->points));
    made->n_points = curve->n;
    return VBS_OK;
}

/* Adds the decision where the next chunk of `left` samples ends. */
static enum vbs_status add_chunks(const struct cut_reasons *at, int left, int64_t bytes, int *index)
{
    const struct solved *whole = &at->work->whole;
    struct rectangle in = {whole, 0, whole->chain->n_items - 1, left, bytes, bytes};
    struct vbs_decision decision = decision_on(&in);

    VBS_TRY(begin(at, *index, &decision, &at->work->chunks[left], index));
    for (int b = left; b >= 1; b--) {
        struct curve_part parts[2] = {
            part_of(whole, 0, in.j, b, vbs_unmoved(vbs_opt_at(at->work, whole, 0, in.j, b))),
            part_of(whole, 0, in.j, left - b, vbs_unmoved(&at->work->chunks[left - b]))};

        parts[0].late_ticks = at->work->task->latency_ticks;
        VBS_TRY(add_sum(at, VBS_CHOICE_CHUNK, b, parts, b < left ? 2 : 1, bytes));
    }
    return VBS_OK;
}

/* Explains a request that the latency may divide into chunks. */
static enum vbs_status explain_chunks(const struct cut_reasons *at, int64_t bytes)
{
    const struct solved *whole = &at->work->whole;
    int last = whole->chain->n_items - 1, index = -1;
    bool bounded =
        at->work->task->latency_ticks != INT64_MAX && at->work->task->problem.io == VBS_IO_EXTERNAL;

    int64_t planned;

    planned = at->work->chunks[at->work->task->request]
                  .bytes[vbs_curve_at(&at->work->chunks[at->work->task->request], bytes)];
    for (int left = at->work->task->request; left > 0;) {
        const struct vbs_curve *curve = &at->work->chunks[left];
        int b = curve->cut[vbs_curve_at(curve, bytes)];

        if (bounded) {
            VBS_TRY(add_chunks(at, left, bytes, &index));
            VBS_TRY(vbs_reasons_end(at->to, index, VBS_CHOICE_CHUNK, b));
        }
        VBS_TRY(explain(at, &(struct rectangle){whole, 0, last, b, bytes, planned}, index));
        left -= b;
    }
    return VBS_OK;
}

/* Explains the plan if the curves have it in these bytes. */
static enum vbs_status explain_plan(const struct cut_reasons *at,
                                    const struct vbs_question *question, bool *found)
{
    const struct vbs_curve *curve = &at->work->chunks[at->work->task->request];
    struct vbs_step_list steps = {0};
    enum vbs_status status;

    if (vbs_curve_at(curve, question->memory_bytes) < 0)
        return VBS_OK;
    status = vbs_guillotine_emit(at->work, question->memory_bytes, &steps);
    *found =
        status == VBS_OK && vbs_step_list_same_batches(&steps, question->steps, question->n_steps);
    vbs_step_list_clear(&steps);
    if (*found)
        status = explain_chunks(at, question->memory_bytes);
    if (status == VBS_OK && *found)
        status = add_points(at, curve);
    return status;
}

/* Finds the items i..j of a chain, or of one inside it, whose layers are those of the question. */
static bool find_part(const struct solved *solved, const struct vbs_question *question,
                      struct rectangle *in)
{
    const struct vbs_chain *chain = solved->chain;

    for (int i = 0; i < chain->n_items; i++) {
        const struct vbs_item *item = &chain->items[i];
        int n_inside = item->subchain ? 1 : item->n_branches;

        for (int j = i; vbs_item_first(item) == question->first_layer && j < chain->n_items; j++)
            if (vbs_item_last(&chain->items[j]) == question->last_layer) {
                *in = (struct rectangle){solved,
                                         i,
                                         j,
                                         question->samples,
                                         question->memory_bytes,
                                         question->memory_bytes};
                return true;
            }
        for (int c = 0; c < n_inside; c++)
            if (find_part(&solved->inside[i][c], question, in))
                return true;
    }
    return false;
}

static enum vbs_status explain_part(const struct cut_reasons *at,
                                    const struct vbs_question *question, bool *found)
{
    struct rectangle in;

    if (at->work->counts.index[question->samples] < 0 ||
        !find_part(&at->work->whole, question, &in))
        return VBS_OK;
    *found = true;
    VBS_TRY(explain(at, &in, -1));
    return add_points(at, vbs_opt_at(at->work, in.solved, in.i, in.j, in.b));
}

enum vbs_status vbs_chain_explain_order(struct vbs_reasons *reasons, const struct vbs_chain *chain)
{
    int n = reasons->task->n_layers, place = 0;
    int *order = vbs_arena_alloc(&reasons->arena, (size_t)n, sizeof *order);

    if (!order)
        return vbs_no_memory(reasons->ctx);
    vbs_chain_layers(chain, order);
    while (place < n && order[place] == place + 1)
        place++;
    reasons->made.order = place < n ? order : NULL;
    return VBS_OK;
}

enum vbs_status vbs_guillotine_explain(struct vbs_reasons *reasons, const struct vbs_chain *chain,
                                       enum vbs_cut_rule rule, const struct vbs_question *question,
                                       bool *found)
{
    struct guillotine work = {.ctx = reasons->ctx, .task = reasons->task, .rule = rule};
    struct cut_reasons at = {.to = reasons, .work = &work, .with_curves = question->with_curves};
    enum vbs_status status = vbs_guillotine_open(&work, chain);

    *found = false;
    if (status == VBS_OK && !work.is_late)
        status = question->steps ? vbs_guillotine_compose(&work) : VBS_OK;
    if (status == VBS_OK && !work.is_late)
        status = question->steps ? explain_plan(&at, question, found)
                                 : explain_part(&at, question, found);
    if (status == VBS_OK && *found)
        status = vbs_chain_explain_order(reasons, chain);
    vbs_guillotine_close(&work);
    return status;
}
