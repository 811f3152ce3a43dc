/*
 * Finding a placement: first of what the schedule says, without moves; then by sweeps over time
 * that move buffers, and with loads that begin later. What is done last depends on the schedule
 * alone and not on the room, so that as much room as a refusal names is enough.
 */
#include "exec/exec_fit.h"

#include "base/clock.h"
#include "base/fail.h"
#include "exec/exec_sweep.h"
#include "exec/weights_delay.h"
#include "vbslab/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHORT_S     0.5 /* of a search without moves */
#define SHORT_STEPS 1000000

/* What is tried, in this order. */
static const struct attempt {
    double slack; /* of loads that begin later (weights_delay.h); 0: as the schedule says */
    int horizon;  /* of sweeps; 0: no moves */
} ATTEMPTS[] = {
    {0, 0},     {8, 0},  {8, 48},    {3, 0},   {3, 48},  {0, 48},     {0, 12},
    {1.25, 48}, {3, 12}, {1.25, 12}, {0, 200}, {3, 200}, {1.25, 200},
};
#define N_ATTEMPTS ((int)(sizeof ATTEMPTS / sizeof ATTEMPTS[0]))

struct fitting {
    struct vbs_ctx *ctx;
    struct vbs_exec_fit *fit;
    const struct vbs_exec_room *room;
    double start_s;
    int64_t *load; /* [n_slots] what lives */
    int64_t n_slots;
    int64_t peak_bytes;  /* of that */
    int64_t least_bytes; /* the lowest of all placements; -1: none so far */
    double slack;        /* of the loads now */
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

/* ---- one attempt ---- */

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

/* Without moves, as low as is found in a short time. */
static enum vbs_status place(struct fitting *f)
{
    double limit_s = f->room->limit_s / 4 < SHORT_S ? f->room->limit_s / 4 : SHORT_S;
    const struct vbs_place_options options = {.time_limit_s = limit_s, .step_limit = SHORT_STEPS};
    const struct vbs_exec_buffers *buffers = &f->fit->buffers;
    const struct vbs_place_problem problem = {.n_items = buffers->n_items,
                                              .items = buffers->items,
                                              .n_rects = buffers->n_rects,
                                              .rects = buffers->rects,
                                              .capacity = INT64_MAX};
    struct vbs_place_result *result;
    enum vbs_status status = vbs_place_lowest(f->ctx, &problem, &options, &result);

    if (status != VBS_OK)
        return status;
    for (int i = 0; i < buffers->n_items; i++)
        if (!vbs_exec_layout_add(&f->fit->layout, i, 0, result->offsets[i]))
            status = vbs_no_memory(f->ctx);
    vbs_place_free(result);
    return status == VBS_OK ? vbs_exec_layout_finish(f->ctx, &f->fit->layout, buffers) : status;
}

/* With moves. */
static enum vbs_status sweep(struct fitting *f, int horizon, int64_t target_bytes)
{
    const struct vbs_exec_sweep sweep = {
        .pieces = &f->fit->pieces,
        .buffers = &f->fit->buffers,
        .load = f->load,
        .n_slots = f->n_slots,
        .horizon = horizon,
        .target_bytes = target_bytes > f->peak_bytes ? target_bytes : f->peak_bytes,
        .limit_s = fmin(left_s(f), f->room->limit_s / 3)};

    return vbs_exec_sweep(f->ctx, &sweep, &f->fit->layout);
}

/* Pieces of weights as loads with this slack bring them. */
static enum vbs_status delay(struct fitting *f, double slack)
{
    struct vbs_exec_fit *fit = f->fit;
    enum vbs_status status = vbs_exec_delay(f->ctx, fit->walk, &fit->pieces, slack, fit->begins);

    if (status != VBS_OK)
        return status;
    vbs_exec_pieces_clear(&fit->pieces);
    f->slack = slack;
    return vbs_exec_pieces_init(f->ctx, &fit->pieces, fit->walk, fit->begins,
                                f->room->piece_alignment);
}

/* *fits: a placement within the room. */
static enum vbs_status try_attempt(struct fitting *f, const struct attempt *attempt,
                                   int64_t target_bytes, bool *fits)
{
    struct vbs_exec_fit *fit = f->fit;
    enum vbs_status status = VBS_OK;

    if (attempt->slack != f->slack)
        status = delay(f, attempt->slack);
    if (status == VBS_OK)
        status = vbs_exec_buffers_make(f->ctx, &fit->buffers, &fit->stacks, &fit->pieces);
    if (status != VBS_OK)
        return status;
    sum_load(f);
    if (attempt == ATTEMPTS)
        fit->placement.load_bytes = f->peak_bytes;
    vbs_exec_layout_clear(&fit->layout);
    status = attempt->horizon > 0 ? sweep(f, attempt->horizon, target_bytes) : place(f);
    if (status == VBS_INFEASIBLE) /* of no use, or time is over */
        return VBS_OK;
    if (status != VBS_OK)
        return status;
    *fits = fit->layout.height_bytes <= f->room->bytes;
    if (f->least_bytes < 0 || fit->layout.height_bytes < f->least_bytes)
        f->least_bytes = fit->layout.height_bytes;
    return VBS_OK;
}

/* ---- the whole ---- */

/* At first within the room, then within what lives. */
static enum vbs_status search(struct fitting *f)
{
    bool has_loads = f->fit->pieces.n_streamed > 0, fits = false;
    enum vbs_status status = VBS_OK;

    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < N_ATTEMPTS && status == VBS_OK && !fits; i++) {
            const struct attempt *attempt = &ATTEMPTS[i];
            bool is_first = pass == 0 && i == 0;

            if ((!is_first && left_s(f) <= 0) || (attempt->slack > 0 && !has_loads) ||
                (pass == 1 && attempt->horizon == 0))
                continue;
            status = try_attempt(f, attempt, pass == 0 ? f->room->bytes : 0, &fits);
        }
    return status == VBS_OK && !fits ? VBS_INFEASIBLE : status;
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

/* Moves at cuts, and of inputs of layers in place; loads that begin later. */
static void count_moves(struct vbs_exec_fit *fit)
{
    const struct vbs_exec_walk *walk = fit->walk;
    const struct vbs_exec_moves *moves = &fit->layout.moves;
    struct vbs_exec_placement *placement = &fit->placement;
    int n_loads = 0;

    placement->n_moves = moves->n;
    for (int i = 0; i < moves->n; i++)
        placement->moved_bytes += moves->moves[i].bytes;
    for (int64_t s = 0; s < walk->schedule->n_steps; s++) {
        const struct vbs_step *step = &walk->schedule->steps[s];

        if (step->op == VBS_STEP_LOAD)
            placement->n_delayed += fit->begins[n_loads++] > s;
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
        vbs_exec_pieces_init(f->ctx, &fit->pieces, walk, NULL, f->room->piece_alignment);

    if (status == VBS_OK)
        status = vbs_exec_stacks_init(f->ctx, &fit->stacks, walk);
    if (status != VBS_OK)
        return status;
    fit->begins = malloc((size_t)fit->pieces.n_loads * sizeof *fit->begins + 1);
    f->n_slots = 2 * walk->schedule->n_steps + 3;
    f->load = malloc((size_t)f->n_slots * sizeof *f->load);
    if (!fit->begins || !f->load)
        return vbs_no_memory(f->ctx);
    return vbs_exec_delay(f->ctx, walk, &fit->pieces, 0, fit->begins);
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
    fit->placement.placed_bytes = status == VBS_OK ? fit->layout.height_bytes : f.least_bytes;
    if (status == VBS_OK)
        count_moves(fit);
    return status == VBS_INFEASIBLE ? refuse(&f) : status;
}

void vbs_exec_fit_clear(struct vbs_exec_fit *fit)
{
    vbs_exec_layout_clear(&fit->layout);
    free(fit->begins);
    vbs_exec_buffers_clear(&fit->buffers);
    vbs_exec_pieces_clear(&fit->pieces);
    vbs_exec_stacks_clear(&fit->stacks);
    *fit = (struct vbs_exec_fit){0};
}
