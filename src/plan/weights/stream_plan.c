/*
 * Plans the transfers of a stream within a budget: which gaps are kept, and the places of the
 * loads.
 */
#include "plan/weights/stream.h"

#include "base/fail.h"
#include "plan/weights/range_min_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The slots with the fewest free bytes, one in each stretch of slots. Most gaps that cannot be kept
 * fail at one of them, without a search. */
#define N_TIGHT 8

struct tight {
    int slot;
    int64_t free_bytes;
};

struct loading {
    struct vbs_ctx *ctx;
    const struct vbs_stream *stream;
    const struct vbs_stream_rule *rule;
    int n_slots;
    int64_t *free_bytes; /* [n_slots] bytes free during each step */
    bool *kept;          /* [n_visits] the gap after a visit */
    int *load_slot;      /* [n_visits] slot before which the visit's load is placed; -1: it needs
                            none */
    struct vbs_streamed *streamed;
    int n_tight;
    struct tight tight[N_TIGHT];
};

static void find_tight(struct loading *loading)
{
    int n = loading->n_slots;

    for (int t = 0; t < N_TIGHT; t++) {
        int from = (int)((int64_t)n * t / N_TIGHT), to = (int)((int64_t)n * (t + 1) / N_TIGHT);
        struct tight tight = {from, INT64_MAX};

        for (int s = from; s < to; s++)
            if (loading->free_bytes[s] < tight.free_bytes)
                tight = (struct tight){s, loading->free_bytes[s]};
        if (from < to)
            loading->tight[loading->n_tight++] = tight;
    }
}

/* The gap after visit v as slots: first..last, and, across the end of the request,
 * 0..wrapped_last. */
struct slot_range {
    int first, last, wrapped_last;
};

static struct slot_range span_of(const struct loading *loading, int v)
{
    const struct vbs_visit *visits = loading->stream->visits;
    int next = visits[v].next;

    if (next > v)
        return (struct slot_range){visits[v].slot + 1, visits[next].slot - 1, -1};
    return (struct slot_range){visits[v].slot + 1, loading->n_slots - 1, visits[next].slot - 1};
}

static bool covers(const struct slot_range *span, int slot)
{
    return (slot >= span->first && slot <= span->last) || slot <= span->wrapped_last;
}

static bool fits_where_tight(const struct loading *loading, const struct slot_range *span,
                             int64_t bytes)
{
    for (int t = 0; t < loading->n_tight; t++)
        if (loading->tight[t].free_bytes < bytes && covers(span, loading->tight[t].slot))
            return false;
    return true;
}

static void keep_gap(struct loading *loading, struct vbs_range_min_tree *tree, int v)
{
    struct slot_range span = span_of(loading, v);
    int64_t bytes = loading->stream->blocks[loading->stream->visits[v].block].bytes;
    int64_t needed = bytes;

    if (span.first <= span.last || span.wrapped_last >= 0)
        needed += loading->rule->reserved_bytes;
    if (!fits_where_tight(loading, &span, needed) ||
        vbs_range_min_tree_least(tree, span.first, span.last) < needed ||
        vbs_range_min_tree_least(tree, 0, span.wrapped_last) < needed)
        return;
    vbs_range_min_tree_subtract(tree, span.first, span.last, bytes);
    vbs_range_min_tree_subtract(tree, 0, span.wrapped_last, bytes);
    for (int t = 0; t < loading->n_tight; t++)
        if (covers(&span, loading->tight[t].slot))
            loading->tight[t].free_bytes -= bytes;
    loading->kept[v] = true;
}

/* Finds the free bytes beside the blocks that each step reads; then keeps gaps, shortest first. */
static enum vbs_status keep_gaps(struct loading *loading, int64_t memory_bytes)
{
    const struct vbs_stream *stream = loading->stream;
    struct vbs_range_min_tree tree;

    for (int s = 0; s < loading->n_slots; s++)
        loading->free_bytes[s] = memory_bytes - stream->step_bytes[s];
    for (int v = 0; v < stream->n_visits; v++)
        loading->free_bytes[stream->visits[v].slot] -=
            stream->blocks[stream->visits[v].block].bytes;
    if (!loading->rule->keeps) {
        for (int v = 0; v < stream->n_visits; v++)
            loading->kept[v] =
                stream->visits[v].next > v &&
                stream->visits[stream->visits[v].next].slot == stream->visits[v].slot + 1;
        return VBS_OK;
    }
    find_tight(loading);
    VBS_TRY(vbs_range_min_tree_init(loading->ctx, &tree, loading->free_bytes, loading->n_slots));
    for (int g = 0; g < stream->n_visits; g++)
        keep_gap(loading, &tree, loading->rule->gaps ? loading->rule->gaps[g] : stream->gaps[g]);
    vbs_range_min_tree_values(&tree, loading->free_bytes);
    vbs_range_min_tree_clear(&tree);
    return VBS_OK;
}

/* The clocks while loads are placed. */
struct load_clocks {
    double copy_us;   /* the end of the latest load; all loads end before the step that they are
                         placed for begins */
    double *ended_us; /* [n_slots + 1] end of the step before a slot */
    int load_slot;    /* of the latest load */
    /* The loads that follow each other without a pause, and the time by which loads have delayed
     * steps so far. */
    int queue_from;
    double waited_us;
    double spare_us; /* from then on copies could run beside steps */
};

/* Ends a queue of loads before visit v: each of its loads has delayed the steps that waited behind
 * it, by its own time at most. waited holds the time waited before the load. */
static void end_queue(const struct loading *loading, struct load_clocks *clocks, int v)
{
    double *waited = loading->rule->waited;

    for (int u = clocks->queue_from; waited && u < v; u++)
        if (loading->load_slot[u] >= 0) {
            double copy_us = loading->stream->blocks[loading->stream->visits[u].block].copy_us;

            waited[u] = copy_us > 0 ? fmin((clocks->waited_us - waited[u]) / copy_us, 1) : 0;
        }
    clocks->queue_from = v;
}

/* Estimates what the load of a block would cost that is kept: where there is time for it beside the
 * steps, next to other such loads, only what it slows them down. */
static void weigh_kept(const struct loading *loading, struct load_clocks *clocks, int v)
{
    const struct vbs_visit *visit = &loading->stream->visits[v];
    double copy_us = loading->stream->blocks[visit->block].copy_us;
    const struct vbs_step *steps = loading->stream->computes.steps;
    double from_us = fmax(clocks->copy_us, clocks->spare_us), late_us, late;

    if (!loading->rule->waited)
        return;
    late_us = from_us + copy_us - clocks->ended_us[visit->slot];
    late = copy_us > 0 ? fmax(fmin(late_us / copy_us, 1), 0) : 0;
    if (visit->slot > 0)
        late +=
            (1 - late) * vbs_task_hidden_price(loading->stream->task, steps[visit->slot - 1].layer);
    loading->rule->waited[v] = late;
    if (late_us <= 0)
        clocks->spare_us = clocks->ended_us[visit->slot];
}

/* Whether copying beside the step in a slot takes less time than copying and computing in turn. */
static bool pays_beside(const struct loading *loading, int slot)
{
    const struct vbs_task *task = loading->stream->task;

    return !task->problem.copy.beside ||
           vbs_task_hidden_price(task, loading->stream->computes.steps[slot].layer) < 1;
}

/*
 * Runs a load that takes time_us alone beside the steps from..to-1, before which all other loads
 * have ended and behind which nothing is placed yet. They slow each other down, so that these steps
 * end later.
 */
static void run_beside(const struct loading *loading, struct load_clocks *clocks, int from, int to,
                       double time_us)
{
    const double *beside = loading->stream->task->problem.copy.beside;
    double now_us = fmax(clocks->copy_us, clocks->ended_us[from]), delay_us = 0;
    double end_us = now_us + time_us; /* of the load, if no step ran from now on */
    bool has_ended = !beside || isinf(time_us);

    for (int s = from; s < to && !(has_ended && delay_us == 0); s++) {
        double factor = beside[loading->stream->computes.steps[s].layer], left_us, both_us;

        clocks->ended_us[s + 1] += delay_us;
        if (has_ended)
            continue;
        left_us = clocks->ended_us[s + 1] - now_us; /* of the step, if no load ran from now on */
        both_us = fmin(left_us * factor, (end_us - now_us) * beside[0]);
        has_ended = (end_us - now_us) * beside[0] <= left_us * factor;
        clocks->ended_us[s + 1] += both_us - both_us / factor;
        delay_us += both_us - both_us / factor;
        now_us += both_us;
        end_us = has_ended ? now_us : end_us + (both_us - both_us / beside[0]);
    }
    clocks->copy_us = end_us;
    clocks->waited_us += delay_us;
}

/* Places the load of visit v at the earliest slot that is of use. */
static void place_load(struct loading *loading, struct load_clocks *clocks, int v)
{
    const struct vbs_visit *visit = &loading->stream->visits[v];
    const struct vbs_weight_block *block = &loading->stream->blocks[visit->block];
    int least = clocks->load_slot, slot = visit->slot;

    if (visit->previous < v && least <= loading->stream->visits[visit->previous].slot)
        least = loading->stream->visits[visit->previous].slot + 1; /* until then the block is in
                                                                      memory */
    if (loading->rule->earliest && loading->rule->earliest[v] > least)
        least = loading->rule->earliest[v];
    while (slot > least && clocks->ended_us[slot] > clocks->copy_us &&
           loading->free_bytes[slot - 1] >= block->bytes && pays_beside(loading, slot - 1))
        loading->free_bytes[--slot] -= block->bytes;
    if (clocks->ended_us[slot] > clocks->copy_us)
        end_queue(loading, clocks, v);
    if (loading->rule->waited)
        loading->rule->waited[v] = clocks->waited_us;
    loading->load_slot[v] = clocks->load_slot = slot;
    run_beside(loading, clocks, slot, visit->slot, block->copy_us);
}

/* Runs both clocks over the steps and places the loads on the way. */
static enum vbs_status place_loads(struct loading *loading)
{
    const struct vbs_stream *stream = loading->stream;
    struct load_clocks clocks = {.ended_us =
                                     malloc(((size_t)loading->n_slots + 1) * sizeof(double))};
    int v = 0;

    if (!clocks.ended_us)
        return vbs_no_memory(loading->ctx);
    clocks.ended_us[0] = 0;
    for (int s = 0; s < loading->n_slots; s++) {
        double start_us;

        for (; v < stream->n_visits && stream->visits[v].slot == s; v++) {
            loading->load_slot[v] = -1;
            if (loading->kept[stream->visits[v].previous]) {
                weigh_kept(loading, &clocks, v);
                continue;
            }
            place_load(loading, &clocks, v);
        }
        start_us = fmax(clocks.ended_us[s], clocks.copy_us);
        clocks.waited_us += start_us - clocks.ended_us[s];
        clocks.ended_us[s + 1] = start_us + stream->step_us[s];
    }
    end_queue(loading, &clocks, stream->n_visits);
    loading->streamed->time_us = clocks.ended_us[loading->n_slots] +
                                 stream->n_repeats * (clocks.ended_us[stream->repeated_to] -
                                                      clocks.ended_us[stream->repeated_from]);
    free(clocks.ended_us);
    return isinf(loading->streamed->time_us) ? VBS_INFEASIBLE : VBS_OK;
}

static enum vbs_status emit(struct loading *loading, struct vbs_step_list *steps,
                            enum vbs_step_op op, int v, bool resident)
{
    const struct vbs_weight_block *block =
        &loading->stream->blocks[loading->stream->visits[v].block];
    struct vbs_step step = {.op = (uint8_t)op,
                            .layer = block->layer,
                            .slice = block->slice,
                            .n_slices = block->n_slices,
                            .format = (uint8_t)block->format,
                            .bytes = block->bytes,
                            .resident = resident};

    return vbs_step_list_append(loading->ctx, steps, &step);
}

/* Adds the resident loads: blocks for which the gap over the end of the request is kept. */
static enum vbs_status emit_residents(struct loading *loading, struct vbs_step_list *steps)
{
    const struct vbs_visit *visits = loading->stream->visits;

    for (int v = 0; v < loading->stream->n_visits; v++)
        if (visits[v].previous >= v && loading->kept[visits[v].previous])
            VBS_TRY(emit(loading, steps, VBS_STEP_LOAD, v, true));
    return VBS_OK;
}

/* Before each step, evicts the blocks that are no longer kept, and then adds the loads that are
 * placed there. */
static enum vbs_status emit_all(struct loading *loading, struct vbs_step_list *steps)
{
    const struct vbs_stream *stream = loading->stream;
    int used = 0, loaded = 0;

    VBS_TRY(emit_residents(loading, steps));
    for (int s = 0; s <= loading->n_slots; s++) {
        for (; used < stream->n_visits && stream->visits[used].slot < s; used++)
            if (!loading->kept[used])
                VBS_TRY(emit(loading, steps, VBS_STEP_EVICT, used, false));
        for (; loaded < stream->n_visits &&
               (loading->load_slot[loaded] < 0 || loading->load_slot[loaded] <= s);
             loaded++)
            if (loading->load_slot[loaded] >= 0)
                VBS_TRY(emit(loading, steps, VBS_STEP_LOAD, loaded, false));
        if (s < loading->n_slots)
            VBS_TRY(vbs_step_list_append(loading->ctx, steps, &stream->computes.steps[s]));
    }
    return VBS_OK;
}

static void find_peak(struct loading *loading, int64_t memory_bytes)
{
    int64_t least = INT64_MAX;

    for (int s = 0; s < loading->n_slots; s++)
        if (loading->free_bytes[s] < least)
            least = loading->free_bytes[s];
    loading->streamed->peak_bytes = memory_bytes - least;
}

enum vbs_status vbs_stream_plan(struct vbs_ctx *ctx, const struct vbs_stream *stream,
                                const struct vbs_stream_rule *rule, int64_t memory_bytes,
                                struct vbs_streamed *streamed, struct vbs_step_list *steps)
{
    struct loading loading = {.ctx = ctx,
                              .stream = stream,
                              .rule = rule,
                              .n_slots = (int)stream->computes.n_steps,
                              .streamed = streamed};
    size_t n_visits = (size_t)stream->n_visits + 1;
    enum vbs_status status = VBS_OK;

    if (memory_bytes < stream->least_bytes)
        return VBS_INFEASIBLE;
    loading.free_bytes = malloc((size_t)loading.n_slots * sizeof *loading.free_bytes);
    loading.kept = calloc(n_visits, sizeof *loading.kept);
    loading.load_slot = calloc(n_visits, sizeof *loading.load_slot);
    if (!loading.free_bytes || !loading.kept || !loading.load_slot) {
        status = vbs_no_memory(ctx);
        goto done;
    }
    status = keep_gaps(&loading, memory_bytes);
    if (status != VBS_OK)
        goto done;
    status = place_loads(&loading);
    if (status != VBS_OK)
        goto done;
    find_peak(&loading, memory_bytes);
    if (steps)
        status = emit_all(&loading, steps);
done:
    free(loading.free_bytes);
    free(loading.kept);
    free(loading.load_slot);
    return status;
}
