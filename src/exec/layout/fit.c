/*
 * Finding offsets: first for the schedule as it is, without moves; then by windowed repacking,
 * which moves buffers, and with loads that begin later. Of several layouts that fit, the one that
 * moves the fewest bytes is taken; a layout that moves so much that a schedule for less memory
 * would be faster counts as none. Where nothing fits, layouts of a few heights above the load are
 * searched for, which depend on the schedule alone, so that mostly as much memory as a refusal
 * names is enough.
 */
#include "exec/layout/layout.h"

#include "base/clock.h"
#include "base/fail.h"
#include "exec/layout/repack.h"
#include "exec/layout/delay.h"
#include "vbslab/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHORT_STEPS 1000000 /* of a search without moves */
#define SHORT_S     2       /* fewer of them where the limit of time is shorter */
/* Share of the time limit that is spent on fewer moves once there is a layout. */
#define MORE_SHARE 0.2
/* Share of the schedule's time: moving less is not worth another search. */
#define FEW_MOVED 0.002
/* Share of the schedule's time: moving more makes a layout count as none. */
#define MOST_MOVED 0.1
#define COPY_SPEED 5000 /* bytes moved per microsecond */
/* Alignment costs mostly less than load / NEARLY bytes, or less than NEAR_BYTES. */
#define NEARLY     4096
#define NEAR_BYTES 1024
#define ALIGNMENT  64 /* of blocks that direct reads do not need more of */

/*
 * The strategies, which are tried in this order until an allocation fits and moves few bytes. Cheap
 * and certain ones come first: loads exactly as the schedule says, and no moves. Where only some
 * bytes are missing, samples and weights lie at any values, without and with moves. Then come loads
 * that begin as late as their deadlines allow, with a generous slack for slow copies before a tight
 * one. Windows of a middle size, which place most problems, come before small ones, which move
 * more, and large ones, which search longer. Where only some bytes are missing still, resident
 * weights at any values lie on top: workspace begins at a multiple of 64 bytes, as the bottom of
 * the memory does and the end of such weights does not. The numbers were found on the schedules of
 * experiments/.
 */
static const struct strategy {
    double slack; /* loads begin later, so that copies may take so many times as long as by the
                     schedule (delay.h); 0: as the schedule says */
    int window;   /* of windowed repacking (repack.h); 0: one allocation for all steps, no moves */
    enum {
        ONCE,
        AGAIN,  /* also tried for the heights that a refusal names */
        DENSE,  /* only where alignment may be all that lacks: buffers are dense (buffers.h) */
        ON_TOP, /* the same, with resident weights at the end of the memory */
    } use;
} STRATEGIES[] = {
    {0, 0, ONCE},     /* the schedule as it is */
    {0, 0, DENSE},    /* the same with samples and weights at any values */
    {0, 48, DENSE},   /* the same, and buffers move */
    {8, 0, ONCE},     /* loads later, by deadlines that hold for copies eight times as slow */
    {8, 48, AGAIN},   /* the same, and buffers move */
    {3, 0, ONCE},     /* loads later still */
    {3, 48, AGAIN},   /* the same, and buffers move */
    {0, 48, AGAIN},   /* loads as the schedule says, and buffers move */
    {0, 12, AGAIN},   /* the same in short windows, for schedules of large buffers */
    {1.25, 48, ONCE}, /* loads at the last moment */
    {3, 12, ONCE},    /* later loads in short windows */
    {1.25, 12, ONCE}, /* the same at the last moment */
    {0, 200, ONCE},   /* long windows, for schedules of many small buffers */
    {3, 200, ONCE},   /* the same with later loads */
    {1.25, 200, ONCE}, {0, 24, ONCE},   /* other sizes, for the time that is left */
    {0, 6, ONCE},      {0, 48, ON_TOP}, /* little is missing still */
};
#define N_STRATEGIES ((int)(sizeof STRATEGIES / sizeof STRATEGIES[0]))

/* Returns whether a strategy has dense buffers. */
static bool is_dense(const struct strategy *strategy)
{
    return strategy->use == DENSE || strategy->use == ON_TOP;
}

struct fitting {
    struct vbs_ctx *ctx;
    struct vbs_exec_fit *fit;
    const struct vbs_exec_fit_options *options;
    double start_s; /* processor time of this thread, so that a busy machine refuses nothing */
    int64_t *load;  /* [n_slots] living bytes */
    int64_t n_slots;
    int64_t peak_bytes;  /* the largest of load */
    int64_t least_bytes; /* the lowest height of all layouts; -1: there is none so far */
    bool has_buffers;
    double slack;  /* of the loads in the current buffers */
    bool is_dense; /* they are */
    /* The layout within the memory that moves the fewest bytes so far. */
    bool has_best;
    struct vbs_exec_layout best;
    double best_slack;
    bool is_best_dense;
    int64_t best_moved;
    int64_t few_bytes;  /* moving fewer is not worth a search */
    int64_t most_bytes; /* moving more is dearer than a schedule for less memory */
};

static double left_s(const struct fitting *f)
{
    return f->options->limit_s - (vbs_thread_s() - f->start_s);
}

static void report(const struct fitting *f)
{
    const struct vbs_progress *progress = &f->options->progress;
    double left = fmax(left_s(f), 0);

    if (progress->report)
        progress->report(progress->self, 1 - fmin(left / f->options->limit_s, 1), left,
                         "searching for offsets");
}

bool vbs_exec_copies_input(const struct vbs_exec_checked *checked, const struct vbs_step *step)
{
    const struct vbs_profile_layer *l = &checked->profile->layers[step->layer];

    return l->in_place && !checked->shares[step->layer] &&
           !vbs_exec_is_stripe(checked->profile, step) &&
           (l->inputs[0] > 0 || checked->schedule->io == VBS_IO_RESIDENT);
}

/* ---- one attempt ---- */

/* Sums the bytes of the buffers that live in each slot. */
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

/* Places the buffers without moves, as low as a short search can. Its time does not count: what is
 * tried next does not depend on it. */
static enum vbs_status place_buffers(struct fitting *f)
{
    double share = fmin(f->options->limit_s / SHORT_S, 1), begun_s = vbs_thread_s();
    const struct vbs_place_options options = {.struct_size = sizeof(struct vbs_place_options),
                                              .time_limit_s = -1,
                                              .step_limit = 1 + (int64_t)(share * SHORT_STEPS)};
    const struct vbs_exec_buffers *buffers = &f->fit->buffers;
    const struct vbs_place_problem problem = {.n_items = buffers->n_items,
                                              .items = buffers->items,
                                              .n_rects = buffers->n_rects,
                                              .rects = buffers->rects,
                                              .capacity = INT64_MAX};
    struct vbs_place_result *result;
    enum vbs_status status = vbs_place_lowest(f->ctx, &problem, &options, &result);

    f->start_s += vbs_thread_s() - begun_s;
    if (status != VBS_OK)
        return status;
    for (int i = 0; i < buffers->n_items && !result->interrupted; i++)
        if (!vbs_exec_layout_add(&f->fit->layout, i, 0, result->offsets[i]))
            status = vbs_no_memory(f->ctx);
    if (result->interrupted)
        status = vbs_fail(f->ctx, VBS_INTERRUPTED, "interrupted");
    vbs_place_free(result);
    return status == VBS_OK ? vbs_exec_layout_finish(f->ctx, &f->fit->layout, buffers) : status;
}

/* Places the buffers with moves. */
static enum vbs_status repack(struct fitting *f, const struct strategy *strategy,
                              int64_t target_bytes)
{
    const struct vbs_exec_repack_options options = {
        .blocks = &f->fit->blocks,
        .buffers = &f->fit->buffers,
        .load = f->load,
        .n_slots = f->n_slots,
        .window = strategy->window,
        .target_bytes = target_bytes > f->peak_bytes ? target_bytes : f->peak_bytes,
        .residents_on_top = strategy->use == ON_TOP,
        .limit_s = fmin(left_s(f), f->options->limit_s / 3)};

    return vbs_exec_repack(f->ctx, &options, &f->fit->layout);
}

/* Makes the blocks of weights for loads that begin with this slack. */
static enum vbs_status delay(struct fitting *f, double slack)
{
    struct vbs_exec_fit *fit = f->fit;

    VBS_TRY(vbs_exec_delay(f->ctx, fit->checked, &fit->blocks, slack, fit->begins));
    vbs_exec_blocks_clear(&fit->blocks);
    f->slack = slack;
    return vbs_exec_blocks_init(f->ctx, &fit->blocks, fit->checked, fit->begins);
}

/* Keeps the layout if it is within the memory and moves fewer bytes than the best. */
static void judge_attempt(struct fitting *f)
{
    struct vbs_exec_layout *layout = &f->fit->layout;
    int64_t moved = 0;

    for (int i = 0; i < layout->moves.n; i++)
        moved += layout->moves.moves[i].bytes;
    if (moved > f->most_bytes)
        return;
    if (f->least_bytes < 0 || layout->height_bytes < f->least_bytes)
        f->least_bytes = layout->height_bytes;
    if (layout->height_bytes > f->options->bytes || (f->has_best && moved >= f->best_moved))
        return;
    vbs_exec_layout_clear(&f->best);
    f->best = *layout;
    *layout = (struct vbs_exec_layout){0};
    f->has_best = true;
    f->best_slack = f->slack;
    f->is_best_dense = f->is_dense;
    f->best_moved = moved;
}

enum vbs_status vbs_exec_fit_buffers(struct vbs_ctx *ctx, struct vbs_exec_fit *fit, bool is_dense)
{
    bool are_blocks_dense = is_dense && fit->block_alignment <= ALIGNMENT;

    fit->is_dense = is_dense;
    vbs_exec_blocks_align(&fit->blocks, fit->checked,
                          are_blocks_dense ? VBS_EXEC_DENSE : fit->block_alignment);
    return vbs_exec_buffers_make(ctx, &fit->buffers, &fit->groups, &fit->blocks, is_dense);
}

/* Makes the buffers for loads with this slack, dense or not, unless these are the current ones. */
static enum vbs_status make_buffers(struct fitting *f, double slack, bool is_dense)
{
    struct vbs_exec_fit *fit = f->fit;

    if (f->has_buffers && slack == f->slack && is_dense == f->is_dense)
        return VBS_OK;
    f->has_buffers = false;
    if (slack != f->slack)
        VBS_TRY(delay(f, slack));
    VBS_TRY(vbs_exec_fit_buffers(f->ctx, fit, is_dense));
    f->is_dense = is_dense;
    sum_load(f);
    f->has_buffers = true;
    return VBS_OK;
}

static enum vbs_status try_strategy(struct fitting *f, const struct strategy *strategy,
                                    int64_t target_bytes)
{
    enum vbs_status status;

    VBS_TRY(make_buffers(f, strategy->slack, is_dense(strategy)));
    vbs_exec_layout_clear(&f->fit->layout);
    status = strategy->window > 0 ? repack(f, strategy, target_bytes) : place_buffers(f);
    if (status == VBS_OK)
        judge_attempt(f);
    /* A strategy that finds nothing, needs too much at once, or runs out of time is no failure. */
    return status == VBS_INFEASIBLE || status == VBS_UNSUPPORTED ? VBS_OK : status;
}

/* ---- the whole ---- */

/* Gives whether to end: no better layout is possible, or finding one would take more time than it
 * is worth. */
static bool is_done(const struct fitting *f, int64_t target_bytes)
{
    if (f->has_best)
        return f->best_moved <= f->few_bytes || left_s(f) < f->options->limit_s * (1 - MORE_SHARE);
    /* above the memory, the search only serves to name a height */
    return target_bytes > f->options->bytes && f->least_bytes >= 0 &&
           f->least_bytes <= target_bytes;
}

/* Returns whether another search for aligned buffers would take more time than it is worth, because
 * the lowest layout is hardly above what lives at once. */
static bool is_near(const struct fitting *f)
{
    int64_t load = f->fit->placement.load_bytes;

    return f->least_bytes >= 0 && f->least_bytes - load <= load / NEARLY &&
           f->options->bytes < f->least_bytes;
}

/* Returns whether the lowest layout is so little above the memory that alignment may be why. */
static bool lacks_little(const struct fitting *f)
{
    int64_t load = f->fit->placement.load_bytes;
    int64_t little = load / NEARLY > NEAR_BYTES ? load / NEARLY : NEAR_BYTES;

    return !f->has_best && f->least_bytes >= 0 && f->options->bytes >= load &&
           f->least_bytes - f->options->bytes <= little;
}

/* Gives whether a strategy is tried. Strategies without moves always are for the first height: they
 * end soon, and take no time from the others. */
static bool suits(const struct fitting *f, const struct strategy *strategy, bool is_first_height)
{
    double kept_s = is_first_height ? f->options->limit_s / 2 : 0; /* time kept for the other
                                                                      heights */

    if (strategy->slack > 0 && f->fit->blocks.n_streamed == 0)
        return false;
    if (is_dense(strategy))
        return !f->options->on_device && is_first_height && lacks_little(f) &&
               (strategy->window == 0 || left_s(f) > kept_s);
    if (is_first_height && is_near(f))
        return false;
    if (is_first_height && strategy->window == 0)
        return true;
    return left_s(f) > kept_s && (is_first_height || strategy->use == AGAIN);
}

/* Tries all strategies for one height. */
static enum vbs_status search_within(struct fitting *f, int64_t target_bytes, bool is_first_height)
{
    for (int i = 0; i < N_STRATEGIES && !is_done(f, target_bytes); i++) {
        report(f);
        if (vbs_cancelled(f->ctx))
            return vbs_fail(f->ctx, VBS_INTERRUPTED, "interrupted");
        if (suits(f, &STRATEGIES[i], is_first_height))
            VBS_TRY(try_strategy(f, &STRATEGIES[i], target_bytes));
    }
    return VBS_OK;
}

/* Searches within the memory. Where nothing is found, searches for a low height, which the refusal
 * names. */
static enum vbs_status search(struct fitting *f)
{
    static const double HEIGHTS[] = {1, 1.1, 1.05, 1.2}; /* factors of the load; the most likely
                                                            first */
    enum vbs_status status;

    VBS_TRY(make_buffers(f, 0, false));
    f->fit->placement.load_bytes = f->peak_bytes;
    status = search_within(f, f->options->bytes, true);

    for (size_t h = 0; h < sizeof HEIGHTS / sizeof HEIGHTS[0] && status == VBS_OK; h++) {
        int64_t height = (int64_t)fmin(HEIGHTS[h] * (double)f->fit->placement.load_bytes, 9e18);

        if (!f->has_best && height > f->options->bytes &&
            (f->least_bytes < 0 || f->least_bytes > height))
            status = search_within(f, height, false);
    }
    if (status != VBS_OK || !f->has_best)
        return status == VBS_OK ? VBS_INFEASIBLE : status;
    vbs_exec_layout_clear(&f->fit->layout);
    f->fit->layout = f->best;
    f->best = (struct vbs_exec_layout){0};
    return make_buffers(f, f->best_slack, f->is_best_dense);
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
                    vbs_format_exact(f->options->bytes, room, sizeof room),
                    vbs_format_exact(f->fit->placement.load_bytes, load, sizeof load),
                    vbs_format_exact(f->least_bytes, best, sizeof best));
}

/* Counts moves at cuts, copies of inputs of layers in place, and loads that begin later. */
static void count_moves(struct vbs_exec_fit *fit)
{
    const struct vbs_exec_checked *checked = fit->checked;
    const struct vbs_exec_moves *moves = &fit->layout.moves;
    struct vbs_exec_placement *placement = &fit->placement;
    int n_loads = 0;

    placement->n_moves = moves->n;
    for (int i = 0; i < moves->n; i++)
        placement->moved_bytes += moves->moves[i].bytes;
    for (int64_t s = 0; s < checked->schedule->n_steps; s++) {
        const struct vbs_step *step = &checked->schedule->steps[s];

        if (step->op == VBS_STEP_LOAD)
            placement->n_delayed += fit->begins[n_loads++] > s;
        if (checked->steps[s].kernel < 0 || !vbs_exec_copies_input(checked, step))
            continue;
        placement->n_moves++;
        placement->moved_bytes += step->batch * checked->profile->layers[step->layer].out_bytes;
    }
}

static enum vbs_status begin_fitting(struct fitting *f, const struct vbs_exec_checked *checked)
{
    struct vbs_exec_fit *fit = f->fit;

    VBS_TRY(vbs_exec_blocks_init(f->ctx, &fit->blocks, checked, NULL));
    VBS_TRY(vbs_exec_groups_init(f->ctx, &fit->groups, checked));
    fit->begins = malloc((size_t)fit->blocks.n_loads * sizeof *fit->begins + 1);
    f->few_bytes = (int64_t)fmin(FEW_MOVED * COPY_SPEED * checked->compute_us, 1e18);
    f->most_bytes = (int64_t)fmin(MOST_MOVED * COPY_SPEED * checked->compute_us, 1e18);
    f->n_slots = 2 * checked->schedule->n_steps + 3;
    f->load = malloc((size_t)f->n_slots * sizeof *f->load);
    if (!fit->begins || !f->load)
        return vbs_no_memory(f->ctx);
    return vbs_exec_delay(f->ctx, checked, &fit->blocks, 0, fit->begins);
}

enum vbs_status vbs_exec_fit(struct vbs_ctx *ctx, struct vbs_exec_fit *fit,
                             const struct vbs_exec_checked *checked,
                             const struct vbs_exec_fit_options *options)
{
    struct fitting f = {
        .ctx = ctx, .fit = fit, .options = options, .start_s = vbs_thread_s(), .least_bytes = -1};
    double begun_s = vbs_clock_s();
    enum vbs_status status;

    fit->checked = checked;
    fit->block_alignment = options->block_alignment;
    fit->placement.live_bytes = checked->live_bytes;
    status = begin_fitting(&f, checked);
    if (status == VBS_OK)
        status = search(&f);
    vbs_exec_layout_clear(&f.best);
    free(f.load);
    fit->placement.place_s = vbs_clock_s() - begun_s;
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
    vbs_exec_blocks_clear(&fit->blocks);
    vbs_exec_groups_clear(&fit->groups);
    *fit = (struct vbs_exec_fit){0};
}
