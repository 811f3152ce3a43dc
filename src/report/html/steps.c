/*
 * The steps of plans, as numbers of their kinds. A network has few kinds of steps beside the many
 * steps of all its plans. What a kind does not tell (progress, live samples, clocks) follows from
 * the order of the steps; report.js computes it, and checks its peak and its time against those of
 * the replay here.
 */
#include "report/html/html.h"

#include "base/arith.h"
#include "base/fail.h"
#include "base/grow.h"
#include "vbslab/replay.h"

#include <stdlib.h>
#include <string.h>

void vbs_page_steps_clear(struct vbs_page_steps *steps)
{
    free(steps->kinds);
    free(steps->table);
    free(steps->list);
    *steps = (struct vbs_page_steps){0};
}

static uint64_t hash_of(const struct vbs_page_kind *kind)
{
    uint64_t hash = VBS_MIX_FIRST;

    for (int i = 0; i < VBS_PAGE_KEYS; i++)
        hash = vbs_mix(hash, (uint64_t)kind->key[i]);
    return hash;
}

/* Finds the place of a kind in the table, or the free place where it belongs. */
static int32_t *find_place(const struct vbs_page_steps *steps, const struct vbs_page_kind *kind)
{
    uint64_t mask = (uint64_t)steps->table_size - 1, at = hash_of(kind) & mask;

    while (steps->table[at] &&
           memcmp(steps->kinds[steps->table[at] - 1].key, kind->key, sizeof kind->key) != 0)
        at = (at + 1) & mask;
    return &steps->table[at];
}

/* Keeps the table at most half full. */
static enum vbs_status grow_table(struct vbs_ctx *ctx, struct vbs_page_steps *steps)
{
    int64_t size = steps->table_size ? 2 * steps->table_size : 1024;
    int32_t *table;

    if (2 * (steps->n_kinds + 1) <= steps->table_size)
        return VBS_OK;
    table = calloc((size_t)size, sizeof *table);
    if (!table)
        return vbs_no_memory(ctx);
    free(steps->table);
    steps->table = table;
    steps->table_size = size;
    for (int64_t k = 0; k < steps->n_kinds; k++)
        *find_place(steps, &steps->kinds[k]) = (int32_t)k + 1;
    return VBS_OK;
}

/* Gives the number of a kind, which is new where no step had it. */
static enum vbs_status number_of(struct vbs_ctx *ctx, struct vbs_page_steps *steps,
                                 const struct vbs_page_kind *kind, int32_t *number)
{
    int32_t *place;

    VBS_TRY(grow_table(ctx, steps));
    place = find_place(steps, kind);
    if (!*place) {
        VBS_TRY(vbs_grow(ctx, &steps->kinds, &steps->kinds_capacity, steps->n_kinds + 1,
                         sizeof *steps->kinds));
        steps->kinds[steps->n_kinds++] = *kind;
        *place = (int32_t)steps->n_kinds;
    }
    *number = *place - 1;
    return VBS_OK;
}

/* The state of the replay of one plan. */
struct vbs_page_watch {
    struct vbs_page_steps *steps;
    int64_t n_loads;     /* so far, without resident ones */
    int64_t after_bytes; /* of samples that are live after the latest step */
    bool is_resident;    /* inputs and outputs are inside */
};

static enum vbs_status add_step(struct vbs_ctx *ctx, void *self,
                                const struct vbs_replay_event *event)
{
    struct vbs_page_watch *watch = self;
    struct vbs_page_steps *steps = watch->steps;
    const struct vbs_step *step = event->step;
    bool computes = step->op == VBS_STEP_COMPUTE;
    struct vbs_page_kind kind = {
        .key = {[VBS_PAGE_OP] = step->op,
                [VBS_PAGE_LAYER] = step->layer,
                [VBS_PAGE_BATCH] = step->batch,
                [VBS_PAGE_ALGORITHM] = computes ? event->row->algorithm : 0,
                [VBS_PAGE_SLICE] = step->n_slices > 1 ? step->slice : 1,
                [VBS_PAGE_N_SLICES] = step->n_slices > 1 ? step->n_slices : 1,
                [VBS_PAGE_BYTES] = step->bytes,
                [VBS_PAGE_FORMAT] = step->format,
                [VBS_PAGE_RESIDENT] = step->resident,
                [VBS_PAGE_WAITS] = computes && event->load >= 0 ? watch->n_loads - event->load : 0,
                [VBS_PAGE_ROW] = step->row,
                [VBS_PAGE_ROWS] = step->rows,
                [VBS_PAGE_WINDOW] = step->window},
        .time_us = computes ? event->row->time_us * event->share : 0,
        .ws_bytes = event->record->ws_bytes,
    };

    if (step->rows > 0) {
        kind.added_bytes = event->record->added_bytes;
        kind.outside_bytes =
            watch->is_resident ? 0 : event->record->live_bytes - watch->after_bytes;
    }
    watch->after_bytes = event->record->after_bytes;
    if (step->op == VBS_STEP_LOAD && !step->resident)
        watch->n_loads++;
    VBS_TRY(vbs_grow(ctx, &steps->list, &steps->capacity, steps->n + 1, sizeof *steps->list));
    VBS_TRY(number_of(ctx, steps, &kind, &steps->list[steps->n]));
    steps->n++;
    return VBS_OK;
}

static void describe(const struct vbs_schedule *schedule, const struct vbs_replay *replay,
                     int64_t first_step, struct vbs_page_plan *plan)
{
    *plan = (struct vbs_page_plan){
        .memory_bytes = schedule->memory_bytes,
        .first_step = first_step,
        .n_steps = schedule->n_steps,
        .time_us = replay->time_us,
        .compute_us = replay->compute_us,
        .copy_us = replay->copy_us,
        .latency_us = replay->latency_us,
        .peak_bytes = replay->peak_bytes,
        .peak_step = replay->peak_step,
        .copied_bytes = replay->copied_bytes,
        .resident_bytes = replay->resident_bytes,
        .reserved_bytes = schedule->predicted.reserved_bytes,
        .bound_us = schedule->bound.time_us,
        .gap_percent = schedule->bound.gap_percent,
    };
}

enum vbs_status vbs_page_steps_add(struct vbs_ctx *ctx, struct vbs_page_steps *steps,
                                   const struct vbs_profile *profile,
                                   const struct vbs_schedule *schedule, struct vbs_page_plan *plan,
                                   bool *accepted)
{
    struct vbs_page_watch watch = {.steps = steps, .is_resident = schedule->io == VBS_IO_RESIDENT};
    struct vbs_replay *replay = NULL;
    int64_t n_before = steps->n;
    enum vbs_status status = vbs_replay_observe(ctx, profile, schedule, schedule->memory_bytes,
                                                add_step, &watch, &replay);

    if (status == VBS_OK) {
        describe(schedule, replay, n_before, plan);
        *accepted = replay->fits && replay->in_time;
    } else
        steps->n = n_before;
    vbs_replay_free(replay);
    return status;
}
