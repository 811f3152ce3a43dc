/*
 * Finding a placement: first without moves, then by sweeps over time that cut it where more and
 * more lives. What sweeps do within the load depends on the schedule alone and not on the room, so
 * that as much room as a refusal names is enough.
 */
#include "exec/exec_fit.h"

#include "base/clock.h"
#include "base/fail.h"
#include "exec/exec_sweep.h"
#include "vbslab/units.h"

#include <stdlib.h>
#include <string.h>

#define SHORT_S     0.5 /* of the search without moves */
#define SHORT_STEPS 1000000

/* Where sweeps cut, in percent of the peak: with half of it all that lives can move at once. */
static const int CUT_PERCENT[] = {50, 65, 80, 90, 96};
#define N_CUTS ((int)(sizeof CUT_PERCENT / sizeof CUT_PERCENT[0]))

struct fitting {
    struct vbs_ctx *ctx;
    struct vbs_exec_fit *fit;
    const struct vbs_exec_room *room;
    double start_s;
    int64_t *load; /* [n_slots] what lives, without copies */
    int64_t n_slots;
    int64_t peak_bytes;   /* of that */
    int64_t height_bytes; /* of the fit's offsets */
    int64_t least_bytes;  /* the lowest of all placements; -1: none so far */
};

static double left_s(const struct fitting *f)
{
    return f->room->limit_s - (vbs_clock_s() - f->start_s);
}

bool vbs_exec_copies_input(const struct vbs_exec_walk *walk, int layer)
{
    const struct vbs_profile_layer *l = &walk->profile->layers[layer];

    return l->in_place && !walk->shares[layer] &&
           (l->inputs[0] > 0 || walk->schedule->io == VBS_IO_RESIDENT);
}

/* ---- one placement ---- */

/* Without moves; the result is there whatever comes out, the lowest or one that fits. */
static enum vbs_status place(struct fitting *f, int64_t capacity, double limit_s, int64_t n_steps)
{
    const struct vbs_place_options options = {.time_limit_s = limit_s > 1e-3 ? limit_s : 1e-3,
                                              .step_limit = n_steps};
    const struct vbs_exec_buffers *buffers = &f->fit->buffers;
    const struct vbs_place_problem problem = {.n_items = buffers->n_items,
                                              .items = buffers->items,
                                              .n_rects = buffers->n_rects,
                                              .rects = buffers->rects,
                                              .capacity = capacity};
    struct vbs_place_result *result = NULL;
    enum vbs_status status = capacity == INT64_MAX
                                 ? vbs_place_lowest(f->ctx, &problem, &options, &result)
                                 : vbs_place(f->ctx, &problem, &options, &result);

    if (!result)
        return status;
    if (f->least_bytes < 0 || result->height_bytes < f->least_bytes)
        f->least_bytes = result->height_bytes;
    free(f->fit->offsets);
    f->fit->offsets = result->offsets;
    f->height_bytes = result->height_bytes;
    result->offsets = NULL;
    vbs_place_free(result);
    return status;
}

/* The buffers of stacks that do not move. */
static enum vbs_status make_buffers(struct fitting *f)
{
    struct vbs_exec_fit *fit = f->fit;

    fit->moves.n = 0;
    fit->stacks.n_splits = 0;
    vbs_exec_splits_sort(&fit->stacks);
    return vbs_exec_buffers_make(f->ctx, &fit->buffers, &fit->stacks, &fit->pieces);
}

/* What lives in each slot, by the buffers. */
static void sum_load(struct fitting *f)
{
    const struct vbs_exec_buffers *buffers = &f->fit->buffers;

    memset(f->load, 0, (size_t)f->n_slots * sizeof *f->load);
    for (int i = 0; i < buffers->n_rects; i++) {
        const struct vbs_place_rect *rect = &buffers->rects[i];

        f->load[rect->lower] += rect->size;
        if (rect->upper < f->n_slots)
            f->load[rect->upper] -= rect->size;
    }
    f->peak_bytes = f->load[0];
    for (int64_t slot = 1; slot < f->n_slots; slot++) {
        f->load[slot] += f->load[slot - 1];
        f->peak_bytes = f->load[slot] > f->peak_bytes ? f->load[slot] : f->peak_bytes;
    }
}

static int64_t percent_of(int64_t bytes, int percent)
{
    return bytes / 100 * percent + bytes % 100 * percent / 100;
}

/* With moves. *fits: what came out is within the room. */
static enum vbs_status sweep(struct fitting *f, int percent, int64_t target_bytes, bool *fits)
{
    struct vbs_exec_fit *fit = f->fit;
    struct vbs_exec_swept swept;
    enum vbs_status status = make_buffers(f);

    if (status == VBS_OK)
        status =
            vbs_exec_sweep(f->ctx, &fit->stacks, &fit->pieces, &fit->buffers, f->load, f->n_slots,
                           percent_of(f->peak_bytes, percent), target_bytes, left_s(f), &swept);
    if (status == VBS_INFEASIBLE) /* of no use, or time is over */
        return VBS_OK;
    if (status != VBS_OK)
        return status;
    free(fit->offsets);
    free(fit->moves.moves);
    fit->offsets = swept.offsets;
    fit->moves = swept.moves;
    f->height_bytes = swept.height_bytes;
    if (swept.height_bytes < f->least_bytes)
        f->least_bytes = swept.height_bytes;
    *fits = swept.height_bytes <= f->room->bytes;
    return VBS_OK;
}

static enum vbs_status sweep_all(struct fitting *f, int64_t target_bytes, bool *fits)
{
    enum vbs_status status = VBS_OK;

    for (int i = 0; i < N_CUTS && status == VBS_OK && !*fits && left_s(f) > 0; i++)
        status = sweep(f, CUT_PERCENT[i], target_bytes, fits);
    return status;
}

/* ---- the whole ---- */

static enum vbs_status search(struct fitting *f)
{
    double limit_s = f->room->limit_s / 4 < SHORT_S ? f->room->limit_s / 4 : SHORT_S;
    bool fits = false;
    enum vbs_status status = make_buffers(f);

    if (status == VBS_OK)
        status = place(f, INT64_MAX, limit_s, SHORT_STEPS);
    if (status != VBS_OK)
        return status;
    sum_load(f);
    f->fit->placement.load_bytes = f->peak_bytes;
    if (f->height_bytes <= f->room->bytes)
        return VBS_OK;
    if (f->room->bytes > f->peak_bytes)
        status = sweep_all(f, f->room->bytes, &fits);
    if (status == VBS_OK && !fits)
        status = sweep_all(f, f->peak_bytes, &fits);
    if (status != VBS_OK || fits)
        return status;
    if (f->peak_bytes > f->room->bytes)
        return VBS_INFEASIBLE;
    status = make_buffers(f); /* at last a long search, without moves */
    return status == VBS_OK ? place(f, f->room->bytes, left_s(f), 0) : status;
}

static enum vbs_status refuse(const struct fitting *f)
{
    char room[48], load[48], best[48];

    return vbs_fail(f->ctx, VBS_INFEASIBLE,
                    "no placement within %s was found; what lives at once takes %s, the best "
                    "placement %s",
                    vbs_format_exact(f->room->bytes, room, sizeof room),
                    vbs_format_exact(f->fit->placement.load_bytes, load, sizeof load),
                    vbs_format_exact(f->least_bytes, best, sizeof best));
}

/* Moves of stacks, and of inputs of layers in place. */
static void count_moves(struct vbs_exec_fit *fit)
{
    const struct vbs_exec_walk *walk = fit->walk;
    struct vbs_exec_placement *placement = &fit->placement;

    placement->n_moves = fit->moves.n;
    for (int i = 0; i < fit->moves.n; i++)
        placement->moved_bytes += fit->moves.moves[i].bytes;
    for (int64_t s = 0; s < walk->schedule->n_steps; s++) {
        const struct vbs_step *step = &walk->schedule->steps[s];

        if (walk->steps[s].kernel < 0 || !vbs_exec_copies_input(walk, step->layer))
            continue;
        placement->n_moves++;
        placement->moved_bytes += step->batch * walk->profile->layers[step->layer].out_bytes;
    }
}

static enum vbs_status begin(struct fitting *f, const struct vbs_exec_walk *walk)
{
    struct vbs_exec_fit *fit = f->fit;
    enum vbs_status status =
        vbs_exec_pieces_init(f->ctx, &fit->pieces, walk, f->room->piece_alignment);

    if (status == VBS_OK)
        status = vbs_exec_stacks_init(f->ctx, &fit->stacks, walk);
    if (status != VBS_OK)
        return status;
    f->n_slots = 2 * walk->schedule->n_steps + 3;
    f->load = malloc((size_t)f->n_slots * sizeof *f->load);
    return f->load ? VBS_OK : vbs_no_memory(f->ctx);
}

enum vbs_status vbs_exec_fit(struct vbs_ctx *ctx, struct vbs_exec_fit *fit,
                             const struct vbs_exec_walk *walk, const struct vbs_exec_room *room)
{
    struct fitting f = {
        .ctx = ctx, .fit = fit, .room = room, .start_s = vbs_clock_s(), .least_bytes = -1};
    enum vbs_status status;

    fit->walk = walk;
    if (room->progress.report)
        room->progress.report(room->progress.self, 0, -1, "placing buffers");
    fit->placement.live_bytes = walk->live_bytes;
    status = begin(&f, walk);
    if (status == VBS_OK)
        status = search(&f);
    free(f.load);
    fit->placement.place_s = vbs_clock_s() - f.start_s;
    fit->placement.n_buffers = fit->buffers.n_items;
    fit->placement.placed_bytes = status == VBS_OK ? f.height_bytes : f.least_bytes;
    if (status == VBS_OK)
        count_moves(fit);
    return status == VBS_INFEASIBLE ? refuse(&f) : status;
}

void vbs_exec_fit_clear(struct vbs_exec_fit *fit)
{
    free(fit->offsets);
    free(fit->moves.moves);
    vbs_exec_buffers_clear(&fit->buffers);
    vbs_exec_pieces_clear(&fit->pieces);
    vbs_exec_stacks_clear(&fit->stacks);
    *fit = (struct vbs_exec_fit){0};
}
