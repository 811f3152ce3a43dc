#include "plan/problem/pareto.h"

#include "base/fail.h"
#include "base/grow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Counts the plans that need at most bytes. */
static int count_at(const struct vbs_pareto_set *pareto, int64_t bytes)
{
    int low = 0, high = pareto->n;

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (pareto->list[middle].bytes <= bytes)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Puts the plan at index from in the place of the plans from..to-1, which it dominates. */
static void replace(struct vbs_pareto_set *pareto, int from, int to,
                    const struct vbs_pareto_plan *plan)
{
    memmove(&pareto->list[from + 1], &pareto->list[to],
            (size_t)(pareto->n - to) * sizeof *pareto->list);
    pareto->list[from] = *plan;
    pareto->n += from + 1 - to;
}

const struct vbs_pareto_plan *vbs_pareto_within(const struct vbs_pareto_set *pareto, int64_t bytes)
{
    int n = count_at(pareto, bytes);

    return n > 0 ? &pareto->list[n - 1] : NULL;
}

bool vbs_pareto_wants(const struct vbs_pareto_set *pareto, int64_t bytes, double time_us)
{
    const struct vbs_pareto_plan *known = vbs_pareto_within(pareto, bytes);

    return !known || time_us < known->time_us * (1 - VBS_TIME_NOISE);
}

enum vbs_status vbs_pareto_offer(struct vbs_ctx *ctx, struct vbs_pareto_set *pareto, int64_t bytes,
                                 const struct vbs_step_list *steps)
{
    return vbs_pareto_offer_timed(ctx, pareto, bytes, vbs_step_list_us(pareto->task, steps), steps);
}

static enum vbs_status keep_steps(struct vbs_ctx *ctx, struct vbs_pareto_set *pareto,
                                  const struct vbs_step_list *steps, struct vbs_pareto_plan *plan)
{
    struct vbs_step *copy = vbs_arena_alloc(&pareto->arena, (size_t)steps->n_steps, sizeof *copy);

    if (!copy)
        return vbs_no_memory(ctx);
    memcpy(copy, steps->steps, (size_t)steps->n_steps * sizeof *copy);
    plan->n_steps = steps->n_steps;
    plan->steps = copy;
    return VBS_OK;
}

enum vbs_status vbs_pareto_offer_timed(struct vbs_ctx *ctx, struct vbs_pareto_set *pareto,
                                       int64_t bytes, double time_us,
                                       const struct vbs_step_list *steps)
{
    struct vbs_pareto_plan made = {.bytes = bytes, .time_us = time_us, .tag = pareto->tag};
    int from = count_at(pareto, bytes), to = from;

    if (!vbs_pareto_wants(pareto, bytes, time_us))
        return VBS_OK;
    VBS_TRY(vbs_grow(ctx, &pareto->list, &pareto->capacity, pareto->n + 1, sizeof *pareto->list));
    if (!pareto->has_totals_only)
        VBS_TRY(keep_steps(ctx, pareto, steps, &made));
    if (from > 0 && pareto->list[from - 1].bytes == bytes)
        from--;
    while (to < pareto->n && pareto->list[to].time_us >= made.time_us * (1 - VBS_TIME_NOISE))
        to++;
    replace(pareto, from, to, &made);
    return VBS_OK;
}

int vbs_pareto_stride(const struct vbs_task *task, int n, int64_t most_steps, int least)
{
    int64_t most = most_steps / task->n_layers / task->request;

    return (int)(n / (most > least ? most : least)) + 1;
}

bool vbs_pareto_is_kept(int i, int n, int stride)
{
    return i == 0 || (n - 1 - i) % stride == 0;
}

void vbs_pareto_clear(struct vbs_pareto_set *pareto)
{
    free(pareto->list);
    vbs_arena_clear(&pareto->arena);
    *pareto = (struct vbs_pareto_set){0};
}

enum vbs_status vbs_pareto_plan_within(struct vbs_ctx *ctx, void *self, int64_t memory_bytes,
                                       struct vbs_draft *draft)
{
    const struct vbs_pareto_set *pareto = self;
    const struct vbs_pareto_plan *plan = vbs_pareto_within(pareto, memory_bytes);

    if (!plan)
        return VBS_INFEASIBLE;
    draft->reserved_bytes = plan->bytes;
    draft->interrupted = pareto->interrupted;
    return vbs_step_list_copy(ctx, plan->steps, plan->n_steps, &draft->steps);
}

int64_t vbs_pareto_least_bytes(const void *self)
{
    const struct vbs_pareto_set *pareto = self;

    return pareto->n > 0 ? pareto->list[0].bytes : INT64_MAX;
}

size_t vbs_pareto_peak_bytes(const void *self)
{
    const struct vbs_pareto_set *pareto = self;

    return pareto->solving_bytes + pareto->arena.total_bytes +
           (size_t)pareto->capacity * sizeof *pareto->list;
}

enum vbs_status vbs_pareto_thresholds(struct vbs_ctx *ctx, const void *self, int64_t **bytes,
                                      int *n)
{
    const struct vbs_pareto_set *pareto = self;

    *bytes = malloc(((size_t)pareto->n + 1) * sizeof **bytes);
    if (!*bytes)
        return vbs_no_memory(ctx);
    for (int i = 0; i < pareto->n; i++)
        (*bytes)[i] = pareto->list[i].bytes;
    *n = pareto->n;
    return VBS_OK;
}

void vbs_pareto_close(void *self)
{
    if (!self)
        return;
    vbs_pareto_clear(self);
    free(self);
}
