/*
 * Every step becomes a box, also beside one that looks the same; neighbouring levels of memory that
 * are equal become one. Where there are more boxes or levels than a picture can show, time is cut
 * into slices of equal length. A slice of a lane shows the step that takes most of it, so that
 * steps are never joined; a slice of memory shows the most memory in use during it, so that no peak
 * is lost.
 */
#include "report/plot/gantt.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void vbs_gantt_clear(struct vbs_gantt *gantt)
{
    free(gantt->boxes);
    free(gantt->levels);
    *gantt = (struct vbs_gantt){0};
}

/* ---- Lanes ---- */

/* Appends a box that lasts some time. */
static void add_box(struct vbs_gantt *gantt, const struct vbs_gantt_box *box)
{
    if (box->to_us > box->from_us)
        gantt->boxes[gantt->n_boxes++] = *box;
}

static void add_lane(struct vbs_gantt *gantt, const struct vbs_schedule *schedule,
                     const struct vbs_replay *replay, int lane)
{
    double close_us = 1e-9 * replay->time_us, last_us = 0;

    for (int64_t s = 0; s < schedule->n_steps; s++) {
        const struct vbs_step *step = &schedule->steps[s];
        const struct vbs_replay_step *ran = &replay->steps[s];
        struct vbs_gantt_box box = {.from_us = ran->start_us,
                                    .to_us = ran->end_us,
                                    .lane = lane,
                                    .layer = step->layer,
                                    .batch = step->op == VBS_STEP_COMPUTE ? step->batch : 0};

        if (step->op != (lane == VBS_GANTT_COMPUTE ? VBS_STEP_COMPUTE : VBS_STEP_LOAD))
            continue;
        if (lane == VBS_GANTT_COMPUTE && box.from_us - last_us > close_us)
            add_box(gantt, &(struct vbs_gantt_box){
                               .from_us = last_us, .to_us = box.from_us, .lane = lane});
        add_box(gantt, &box);
        last_us = box.to_us;
    }
}

/* Gives the index of the box that takes most of slice, out of n boxes, of which *at is the first
 * one that reaches into it; -1: the time without any work is longer. *at becomes the first one that
 * reaches into the next slice. */
static int most_of(const struct vbs_gantt_box *boxes, int n, const struct vbs_gantt_box *slice,
                   int *at)
{
    double idle_us = slice->to_us - slice->from_us, most_us = 0;
    int most = -1;

    for (; *at < n && boxes[*at].from_us < slice->to_us; (*at)++) {
        const struct vbs_gantt_box *box = &boxes[*at];
        double share_us = fmin(box->to_us, slice->to_us) - fmax(box->from_us, slice->from_us);

        idle_us -= share_us;
        if (share_us > most_us) {
            most_us = share_us;
            most = *at;
        }
        if (box->to_us > slice->to_us)
            break;
    }
    return most_us >= idle_us ? most : -1;
}

/* Shows the n boxes of a lane, which were moved elsewhere, in slices from box first on. There are
 * more boxes than slices. The slices of one box are one box again; those of two never are. */
static void cut_lane(struct vbs_gantt *gantt, int first, const struct vbs_gantt_box *boxes, int n,
                     double time_us)
{
    double slice_us = time_us / VBS_GANTT_SLICES;
    int at = 0, last = -1;

    gantt->n_boxes = first;
    for (int i = 0; i < VBS_GANTT_SLICES; i++) {
        struct vbs_gantt_box slice = {.from_us = i * slice_us, .to_us = (i + 1) * slice_us};
        int most = most_of(boxes, n, &slice, &at);

        if (most >= 0 && most == last) {
            gantt->boxes[gantt->n_boxes - 1].to_us = slice.to_us;
        } else if (most >= 0) {
            gantt->boxes[gantt->n_boxes] = boxes[most];
            gantt->boxes[gantt->n_boxes].from_us = slice.from_us;
            gantt->boxes[gantt->n_boxes++].to_us = slice.to_us;
        }
        last = most;
    }
}

static enum vbs_status simplify_lane(struct vbs_ctx *ctx, struct vbs_gantt *gantt, int first,
                                     double time_us)
{
    int n = gantt->n_boxes - first;
    struct vbs_gantt_box *boxes;

    if (n <= VBS_GANTT_SLICES)
        return VBS_OK;
    boxes = malloc((size_t)n * sizeof *boxes);
    if (!boxes)
        return vbs_no_memory(ctx);
    memcpy(boxes, gantt->boxes + first, (size_t)n * sizeof *boxes);
    cut_lane(gantt, first, boxes, n, time_us);
    free(boxes);
    return VBS_OK;
}

static enum vbs_status make_boxes(struct vbs_ctx *ctx, const struct vbs_schedule *schedule,
                                  const struct vbs_replay *replay, struct vbs_gantt *gantt)
{
    /* Each step has a box, and may have a box of waiting before it. */
    gantt->boxes = calloc(2 * (size_t)schedule->n_steps, sizeof *gantt->boxes);
    if (!gantt->boxes)
        return vbs_no_memory(ctx);
    for (int lane = 0; lane < VBS_GANTT_LANES; lane++) {
        int first = gantt->n_boxes;

        add_lane(gantt, schedule, replay, lane);
        VBS_TRY(simplify_lane(ctx, gantt, first, replay->time_us));
    }
    return VBS_OK;
}

/* ---- Memory ---- */

static bool same_level(const struct vbs_gantt_level *a, const struct vbs_gantt_level *b)
{
    return a->weight_bytes == b->weight_bytes && a->live_bytes == b->live_bytes &&
           a->ws_bytes == b->ws_bytes;
}

static int64_t total_of(const struct vbs_gantt_level *level)
{
    return level->weight_bytes + level->live_bytes + level->ws_bytes;
}

/* Appends a level. It replaces one that would last no time, and nothing is appended where no memory
 * changes. */
static void add_level(struct vbs_gantt *gantt, const struct vbs_gantt_level *level)
{
    if (gantt->n_levels > 0 && !(level->from_us > gantt->levels[gantt->n_levels - 1].from_us))
        gantt->n_levels--;
    if (gantt->n_levels == 0 || !same_level(level, &gantt->levels[gantt->n_levels - 1]))
        gantt->levels[gantt->n_levels++] = *level;
}

/* Memory changes in the order of the list: a load's bytes count from the end of the compute step
 * before it, even if the copy has to wait longer. */
static void add_levels(struct vbs_gantt *gantt, const struct vbs_schedule *schedule,
                       const struct vbs_replay *replay)
{
    struct vbs_gantt_level rest = {0}; /* between compute steps */

    for (int64_t s = 0; s < schedule->n_steps; s++) {
        const struct vbs_replay_step *ran = &replay->steps[s];
        struct vbs_gantt_level level = {.from_us = rest.from_us,
                                        .weight_bytes = ran->weight_bytes,
                                        .live_bytes = ran->live_bytes + ran->added_bytes,
                                        .ws_bytes = ran->ws_bytes};

        rest.weight_bytes = ran->weight_bytes;
        rest.live_bytes = ran->after_bytes;
        if (schedule->steps[s].op == VBS_STEP_COMPUTE) {
            level.from_us = ran->start_us;
            rest.from_us = ran->end_us;
            add_level(gantt, &level);
        }
        add_level(gantt, &rest);
    }
}

/* Gives each slice the level with the most memory, of n levels that were moved elsewhere. */
static void cut_levels(struct vbs_gantt *gantt, const struct vbs_gantt_level *levels, int n,
                       double time_us)
{
    double slice_us = time_us / VBS_GANTT_SLICES;
    int at = 0;

    gantt->n_levels = 0;
    for (int i = 0; i < VBS_GANTT_SLICES; i++) {
        struct vbs_gantt_level most = levels[at];

        while (at + 1 < n && levels[at + 1].from_us < (i + 1) * slice_us)
            if (total_of(&levels[++at]) > total_of(&most))
                most = levels[at];
        most.from_us = i * slice_us;
        add_level(gantt, &most);
    }
}

static enum vbs_status make_levels(struct vbs_ctx *ctx, const struct vbs_schedule *schedule,
                                   const struct vbs_replay *replay, struct vbs_gantt *gantt)
{
    struct vbs_gantt_level *levels;
    int n;

    gantt->levels = calloc(2 * (size_t)schedule->n_steps, sizeof *gantt->levels);
    if (!gantt->levels)
        return vbs_no_memory(ctx);
    add_levels(gantt, schedule, replay);
    n = gantt->n_levels;
    if (n <= VBS_GANTT_SLICES)
        return VBS_OK;
    levels = malloc((size_t)n * sizeof *levels);
    if (!levels)
        return vbs_no_memory(ctx);
    memcpy(levels, gantt->levels, (size_t)n * sizeof *levels);
    cut_levels(gantt, levels, n, replay->time_us);
    free(levels);
    return VBS_OK;
}

enum vbs_status vbs_gantt_make(struct vbs_ctx *ctx, const struct vbs_schedule *schedule,
                               const struct vbs_replay *replay, struct vbs_gantt *gantt)
{
    enum vbs_status status;

    *gantt = (struct vbs_gantt){0};
    status = make_boxes(ctx, schedule, replay, gantt);
    if (status == VBS_OK)
        status = make_levels(ctx, schedule, replay, gantt);
    if (status != VBS_OK)
        vbs_gantt_clear(gantt);
    return status;
}
