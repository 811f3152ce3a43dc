/*
 * The two clocks of schedule.h without the memory, which no draw changes: who waits for whom is the
 * same in all draws, only how long. So each step is looked at once and then moves a whole row of
 * clocks on. A load starts when the load and the compute steps before it have ended; a compute step
 * when the one before it has and the latest load has of those that it reads, for loads end in
 * their order.
 */
#include "report/plot/clocks.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

#define LOOK_EVERY 1024 /* steps between looks at the wish to stop */

/* Weights that were loaded in the request and not dropped since. */
struct piece {
    int next; /* in the list of its layer, or of free ones; -1: none */
    uint8_t form;
    bool waited;      /* a compute step did already: no later one need */
    int64_t order;    /* of its load */
    int64_t from, to; /* channels, or bytes where they are not known */
    double *end_us;   /* [n_draws] of its load */
};

struct clocks {
    const struct vbs_profile *profile;
    const struct vbs_link *channel;
    int n_draws;
    double *compute_us, *copy_us; /* [n_draws] ends of the last steps */
    int *first;                   /* [n_layers + 1] piece of each layer, -1: none */
    struct piece *pieces;
    int n_pieces, capacity, free; /* free: a piece that can be used again, -1: none */
    int64_t n_loads;
};

static void release(struct clocks *clocks)
{
    for (int i = 0; i < clocks->n_pieces; i++)
        free(clocks->pieces[i].end_us);
    free(clocks->pieces);
    free(clocks->first);
    free(clocks->copy_us);
}

static enum vbs_status init(struct vbs_ctx *ctx, struct clocks *clocks, double *time_us)
{
    int n_layers = clocks->profile->n_layers;

    clocks->compute_us = time_us;
    memset(time_us, 0, (size_t)clocks->n_draws * sizeof *time_us);
    clocks->copy_us = calloc((size_t)clocks->n_draws, sizeof *clocks->copy_us);
    clocks->first = calloc((size_t)n_layers + 1, sizeof *clocks->first);
    if (!clocks->copy_us || !clocks->first)
        return vbs_no_memory(ctx);
    for (int k = 0; k <= n_layers; k++)
        clocks->first[k] = -1;
    clocks->free = -1;
    return VBS_OK;
}

/* floor(part * total / parts) */
static int64_t share_of(int64_t total, int part, int parts)
{
    return total / parts * part + total % parts * part / parts;
}

/* What a step is about, in channels, or in bytes of total where they are not known. */
static void set_span(const struct vbs_profile *profile, const struct vbs_step *step,
                     int64_t total_bytes, int64_t *from, int64_t *to)
{
    int channels = profile->layers[step->layer].channels;
    int64_t total = channels > 0 ? channels : total_bytes;
    int parts = step->n_slices > 0 ? step->n_slices : 1,
        part = step->n_slices > 0 ? step->slice : 1;

    *from = share_of(total, part - 1, parts);
    *to = share_of(total, part, parts);
}

/* The index of a piece that is in no list; -1: out of memory. */
static int take_piece(struct clocks *clocks)
{
    int index = clocks->free;

    if (index >= 0) {
        clocks->free = clocks->pieces[index].next;
        return index;
    }
    if (clocks->n_pieces == clocks->capacity) {
        int capacity = clocks->capacity ? 2 * clocks->capacity : 16;
        struct piece *pieces = realloc(clocks->pieces, (size_t)capacity * sizeof *pieces);

        if (!pieces)
            return -1;
        clocks->pieces = pieces;
        clocks->capacity = capacity;
    }
    index = clocks->n_pieces;
    clocks->pieces[index] =
        (struct piece){.end_us = calloc((size_t)clocks->n_draws, sizeof(double))};
    if (!clocks->pieces[index].end_us)
        return -1;
    clocks->n_pieces++;
    return index;
}

static enum vbs_status load(struct vbs_ctx *ctx, struct clocks *clocks, const struct vbs_step *step)
{
    double took_us =
        clocks->channel->latency_us + (double)step->bytes / clocks->channel->bytes_per_us;
    int index = take_piece(clocks);
    struct piece *piece;

    if (index < 0)
        return vbs_no_memory(ctx);
    piece = &clocks->pieces[index];
    for (int r = 0; r < clocks->n_draws; r++) {
        double start_us =
            clocks->copy_us[r] > clocks->compute_us[r] ? clocks->copy_us[r] : clocks->compute_us[r];

        clocks->copy_us[r] = piece->end_us[r] = start_us + took_us;
    }
    piece->form = step->format;
    piece->waited = false;
    piece->order = clocks->n_loads++;
    set_span(clocks->profile, step,
             vbs_profile_format_bytes(clocks->profile, step->layer, step->format), &piece->from,
             &piece->to);
    piece->next = clocks->first[step->layer];
    clocks->first[step->layer] = index;
    return VBS_OK;
}

/* What was there from the request before is in no list. Weights may be dropped in other parts than
 * they were loaded in: what is left of a piece is shorter, but in the middle nothing is noted; who
 * reads that later reads what was loaded later. */
static void drop(struct clocks *clocks, const struct vbs_step *step)
{
    int *at = &clocks->first[step->layer];
    int64_t from, to;

    set_span(clocks->profile, step,
             vbs_profile_format_bytes(clocks->profile, step->layer, step->format), &from, &to);
    while (*at >= 0) {
        int index = *at;
        struct piece *piece = &clocks->pieces[index];

        if (piece->form == step->format && from <= piece->from && piece->from < to)
            piece->from = to < piece->to ? to : piece->to;
        if (piece->form == step->format && from < piece->to && piece->to <= to)
            piece->to = from > piece->from ? from : piece->from;
        if (piece->from < piece->to) {
            at = &piece->next;
            continue;
        }
        *at = piece->next;
        piece->next = clocks->free;
        clocks->free = index;
    }
}

/* The last load of what the step reads, unless a step before waited for it or a later one. */
static struct piece *find_last(const struct clocks *clocks, const struct vbs_step *step,
                               const struct vbs_profile_row *row)
{
    struct piece *last = NULL;
    int64_t from, to;

    set_span(clocks->profile, step, row->weight_bytes, &from, &to);
    for (int i = clocks->first[step->layer]; i >= 0; i = clocks->pieces[i].next) {
        struct piece *piece = &clocks->pieces[i];

        if (piece->form == row->format && piece->from < to && from < piece->to &&
            (!last || piece->order > last->order))
            last = piece;
    }
    return last && !last->waited ? last : NULL;
}

static void compute(struct clocks *clocks, const struct vbs_step *step,
                    const struct vbs_profile_row *row, const float *draws)
{
    struct piece *last = find_last(clocks, step, row);
    int64_t from, to;
    double share = 1;

    if (step->n_slices > 0) {
        int channels = clocks->profile->layers[step->layer].channels;

        set_span(clocks->profile, step, 0, &from, &to);
        share = channels > 0 ? (double)(to - from) / channels : 1.0 / step->n_slices;
    }
    for (int r = 0; last && r < clocks->n_draws; r++)
        if (last->end_us[r] > clocks->compute_us[r])
            clocks->compute_us[r] = last->end_us[r];
    for (int r = 0; r < clocks->n_draws; r++)
        clocks->compute_us[r] += share * (row->time_us + (double)draws[r]);
    if (last)
        last->waited = true;
}

static enum vbs_status take_step(struct vbs_ctx *ctx, struct clocks *clocks,
                                 const struct vbs_step *step, const struct vbs_clock_rows *rows,
                                 bool *known)
{
    const struct vbs_profile_row *row;
    const float *draws;
    enum vbs_status status;

    if (step->op == VBS_STEP_LOAD)
        return step->resident ? VBS_OK : load(ctx, clocks, step);
    if (step->op == VBS_STEP_EVICT) {
        drop(clocks, step);
        return VBS_OK;
    }
    status = rows->find(ctx, rows->self, step, &row, &draws);
    if (status != VBS_OK)
        return status;
    *known = draws != NULL;
    if (draws)
        compute(clocks, step, row, draws);
    return VBS_OK;
}

enum vbs_status vbs_clocks_run(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                               const struct vbs_schedule *schedule, const struct vbs_link *channel,
                               const struct vbs_clock_rows *rows, int n_draws, double *time_us,
                               bool *known)
{
    struct clocks clocks = {.profile = profile, .channel = channel, .n_draws = n_draws};
    enum vbs_status status = init(ctx, &clocks, time_us);

    *known = schedule->n_steps <= VBS_CLOCKS_STEPS;
    for (int64_t s = 0; s < schedule->n_steps && *known && status == VBS_OK; s++) {
        if (s % LOOK_EVERY == 0 && vbs_cancelled(ctx))
            status = vbs_fail(ctx, VBS_INTERRUPTED, "interrupted");
        else
            status = take_step(ctx, &clocks, &schedule->steps[s], rows, known);
    }
    /* A load that nobody waits for counts too: the request ends with its last step. */
    for (int r = 0; r < n_draws && *known && status == VBS_OK; r++)
        if (clocks.copy_us[r] > clocks.compute_us[r])
            clocks.compute_us[r] = clocks.copy_us[r];
    release(&clocks);
    return status;
}
