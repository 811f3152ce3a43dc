/*
 * Finding a placement: first of what the schedule says, without moves; then by sweeps over time
 * that move buffers, and with loads that begin later. Of several that fit the one that moves least
 * is taken; one that moves so much that a schedule for less memory would be faster counts for
 * none. Where nothing fits, placements of a few heights above the load are sought, which depend on
 * the schedule alone, so that mostly as much room as a refusal names is enough.
 */
#include "exec/layout/fit.h"

#include "base/clock.h"
#include "base/fail.h"
#include "exec/layout/repack.h"
#include "exec/layout/delay.h"
#include "vbslab/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHORT_S     0.5 /* of a search without moves */
#define SHORT_STEPS 1000000
#define MORE_SHARE  0.2   /* of the limit of time: for fewer moves, once there is a placement */
#define FEW_MOVED   0.002 /* of the schedule's time: not worth another search */
#define MOST_MOVED  0.1   /* likewise: too much */
#define COPY_SPEED  5000  /* bytes moved in a microsecond */
#define NEARLY      4096  /* what alignment takes is no more than this part of the load */

/* What is tried, in this order. */
static const struct attempt {
    double slack; /* of loads that begin later (weights_delay.h); 0: as the schedule says */
    int horizon;  /* of sweeps; 0: no moves */
} ATTEMPTS[] = {
    {0, 0},  {8, 0},     {8, 48},  {3, 0},   {3, 48},     {0, 48}, {0, 12}, {1.25, 48},
    {3, 12}, {1.25, 12}, {0, 200}, {3, 200}, {1.25, 200}, {0, 24}, {0, 6},
};
#define N_ATTEMPTS ((int)(sizeof ATTEMPTS / sizeof ATTEMPTS[0]))
#define N_AGAIN    7 /* of them, for other heights */

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
    /* The placement within the room that moves the fewest bytes so far. */
    bool has_best;
    struct vbs_exec_layout best;
    double best_slack;
    int64_t best_moved;
    int64_t few_bytes;  /* fewer are not worth a search */
    int64_t most_bytes; /* more are dearer than a schedule for less memory */
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

/* Keeps the layout if it is within the room and moves fewer bytes than the best. */
static void judge(struct fitting *f)
{
    struct vbs_exec_layout *layout = &f->fit->layout;
    int64_t moved = 0;

    for (int i = 0; i < layout->moves.n; i++)
        moved += layout->moves.moves[i].bytes;
    if (moved > f->most_bytes)
        return;
    if (f->least_bytes < 0 || layout->height_bytes < f->least_bytes)
        f->least_bytes = layout->height_bytes;
    if (layout->height_bytes > f->room->bytes || (f->has_best && moved >= f->best_moved))
        return;
    vbs_exec_layout_clear(&f->best);
    f->best = *layout;
    *layout = (struct vbs_exec_layout){0};
    f->has_best = true;
    f->best_slack = f->slack;
    f->best_moved = moved;
}

static enum vbs_status make_buffers(struct fitting *f, double slack)
{
    struct vbs_exec_fit *fit = f->fit;
    enum vbs_status status = VBS_OK;

    if (slack != f->slack)
        status = delay(f, slack);
    if (status == VBS_OK)
        status = vbs_exec_buffers_make(f->ctx, &fit->buffers, &fit->stacks, &fit->pieces);
    if (status == VBS_OK)
        sum_load(f);
    return status;
}

static enum vbs_status try_attempt(struct fitting *f, const struct attempt *attempt,
                                   int64_t target_bytes)
{
    struct vbs_exec_fit *fit = f->fit;
    enum vbs_status status = make_buffers(f, attempt->slack);

    if (status != VBS_OK)
        return status;
    if (attempt == ATTEMPTS)
        fit->placement.load_bytes = f->peak_bytes;
    vbs_exec_layout_clear(&fit->layout);
    status = attempt->horizon > 0 ? sweep(f, attempt->horizon, target_bytes) : place(f);
    if (status == VBS_OK)
        judge(f);
    /* Of no use, too much at once, or time is over. */
    return status == VBS_INFEASIBLE || status == VBS_UNSUPPORTED ? VBS_OK : status;
}

/* ---- the whole ---- */

/* Nothing is left to be won, or not in the time that it is worth. */
static bool is_done(const struct fitting *f, int64_t target_bytes)
{
    int64_t load = f->fit->placement.load_bytes;

    if (f->has_best)
        return f->best_moved <= f->few_bytes || left_s(f) < f->room->limit_s * (1 - MORE_SHARE);
    if (f->least_bytes < 0)
        return false;
    if (target_bytes > f->room->bytes) /* only to name a height */
        return f->least_bytes <= target_bytes;
    return f->least_bytes - load <= load / NEARLY && f->room->bytes < f->least_bytes;
}

/* All attempts with one height in mind. */
static enum vbs_status search_within(struct fitting *f, int64_t target_bytes, bool is_first)
{
    bool has_loads = f->fit->pieces.n_streamed > 0;
    int n = is_first ? N_ATTEMPTS : N_AGAIN;
    double kept_s = is_first ? f->room->limit_s / 2 : 0; /* for other heights */
    enum vbs_status status = VBS_OK;

    for (int i = 0; i < n && status == VBS_OK && !is_done(f, target_bytes); i++) {
        const struct attempt *attempt = &ATTEMPTS[i];

        if (((!is_first || i > 0) && left_s(f) <= kept_s) || (attempt->slack > 0 && !has_loads) ||
            (!is_first && attempt->horizon == 0))
            continue;
        status = try_attempt(f, attempt, target_bytes);
    }
    return status;
}

/* Within the room; where that is not found, for the refusal, as low as it can be. */
static enum vbs_status search(struct fitting *f)
{
    static const double HEIGHTS[] = {1, 1.1, 1.05, 1.2}; /* times what lives; the surest first */
    enum vbs_status status = search_within(f, f->room->bytes, true);

    for (size_t h = 0; h < sizeof HEIGHTS / sizeof HEIGHTS[0] && status == VBS_OK; h++) {
        int64_t height = (int64_t)fmin(HEIGHTS[h] * (double)f->fit->placement.load_bytes, 9e18);

        if (!f->has_best && height > f->room->bytes &&
            (f->least_bytes < 0 || f->least_bytes > height))
            status = search_within(f, height, false);
    }
    if (status != VBS_OK || !f->has_best)
        return status == VBS_OK ? VBS_INFEASIBLE : status;
    vbs_exec_layout_clear(&f->fit->layout);
    f->fit->layout = f->best;
    f->best = (struct vbs_exec_layout){0};
    return make_buffers(f, f->best_slack);
}

static enum vbs_status refuse(const struct fitting *f)
{
    char room[48], load[48], best[48];

    if (f->least_bytes < 0)
        return vbs_fail(f->ctx, VBS_USAGE,
                        "the schedule is too large to be executed: more than %lld pairs of buffers "
                        "share a step",
                        (long long)VBS_MAX_PLACE_PAIRS);
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

/* Of all compute steps. */
static double time_us(const struct vbs_exec_walk *walk)
{
    double us = 0;

    for (int64_t s = 0; s < walk->schedule->n_steps; s++)
        if (walk->steps[s].kernel >= 0)
            us += walk->kernels[walk->steps[s].kernel].time_us;
    return us;
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
    f->few_bytes = (int64_t)fmin(FEW_MOVED * COPY_SPEED * time_us(walk), 1e18);
    f->most_bytes = (int64_t)fmin(MOST_MOVED * COPY_SPEED * time_us(walk), 1e18);
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
    vbs_exec_layout_clear(&f.best);
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
