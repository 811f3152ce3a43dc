#include "plan/problem/pareto.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Number of answers that need at most bytes. */
static int count_at(const struct vbs_answers *answers, int64_t bytes)
{
    int low = 0, high = answers->n;

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (answers->list[middle].bytes <= bytes)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static enum vbs_status make_room(struct vbs_ctx *ctx, struct vbs_answers *answers)
{
    int capacity = answers->capacity ? 2 * answers->capacity : 64;
    struct vbs_answer *list;

    if (answers->n < answers->capacity)
        return VBS_OK;
    list = realloc(answers->list, (size_t)capacity * sizeof *list);
    if (!list)
        return vbs_no_memory(ctx);
    answers->list = list;
    answers->capacity = capacity;
    return VBS_OK;
}

/* Puts answer at place from and drops those up to to, which it beats. */
static void replace(struct vbs_answers *answers, int from, int to, const struct vbs_answer *answer)
{
    memmove(&answers->list[from + 1], &answers->list[to],
            (size_t)(answers->n - to) * sizeof *answers->list);
    answers->list[from] = *answer;
    answers->n += from + 1 - to;
}

bool vbs_answers_want(const struct vbs_answers *answers, int64_t bytes, double time_us)
{
    int n = count_at(answers, bytes);

    return n == 0 || time_us < answers->list[n - 1].time_us * (1 - VBS_TIME_NOISE);
}

enum vbs_status vbs_answers_offer(struct vbs_ctx *ctx, struct vbs_answers *answers, int64_t bytes,
                                  const struct vbs_step_list *steps)
{
    return vbs_answers_offer_timed(ctx, answers, bytes, vbs_step_list_us(answers->task, steps),
                                   steps);
}

enum vbs_status vbs_answers_offer_timed(struct vbs_ctx *ctx, struct vbs_answers *answers,
                                        int64_t bytes, double time_us,
                                        const struct vbs_step_list *steps)
{
    struct vbs_answer made = {.bytes = bytes, .time_us = time_us, .n_steps = steps->n_steps};
    int from = count_at(answers, bytes), to = from;
    struct vbs_step *copy;
    enum vbs_status status;

    if (!vbs_answers_want(answers, bytes, time_us))
        return VBS_OK;
    status = make_room(ctx, answers);
    if (status != VBS_OK)
        return status;
    copy = vbs_arena_alloc(&answers->arena, (size_t)steps->n_steps, sizeof *copy);
    if (!copy)
        return vbs_no_memory(ctx);
    memcpy(copy, steps->steps, (size_t)steps->n_steps * sizeof *copy);
    made.steps = copy;
    if (from > 0 && answers->list[from - 1].bytes == bytes)
        from--;
    while (to < answers->n && answers->list[to].time_us >= made.time_us * (1 - VBS_TIME_NOISE))
        to++;
    replace(answers, from, to, &made);
    return VBS_OK;
}

void vbs_answers_clear(struct vbs_answers *answers)
{
    free(answers->list);
    vbs_arena_clear(&answers->arena);
    *answers = (struct vbs_answers){0};
}

enum vbs_status vbs_answers_plan(struct vbs_ctx *ctx, void *self, int64_t memory_bytes,
                                 struct vbs_draft *draft)
{
    const struct vbs_answers *answers = self;
    int n = count_at(answers, memory_bytes);
    const struct vbs_answer *answer;

    if (n == 0)
        return VBS_INFEASIBLE;
    answer = &answers->list[n - 1];
    draft->reserved_bytes = answer->bytes;
    return vbs_step_list_copy(ctx, answer->steps, answer->n_steps, &draft->steps);
}

int64_t vbs_answers_least_bytes(const void *self)
{
    const struct vbs_answers *answers = self;

    return answers->n > 0 ? answers->list[0].bytes : INT64_MAX;
}

size_t vbs_answers_peak_bytes(const void *self)
{
    const struct vbs_answers *answers = self;

    return answers->solving_bytes + answers->arena.total_bytes +
           (size_t)answers->capacity * sizeof *answers->list;
}

enum vbs_status vbs_answers_thresholds(struct vbs_ctx *ctx, const void *self, int64_t **bytes,
                                       int *n)
{
    const struct vbs_answers *answers = self;

    *bytes = malloc(((size_t)answers->n + 1) * sizeof **bytes);
    if (!*bytes)
        return vbs_no_memory(ctx);
    for (int i = 0; i < answers->n; i++)
        (*bytes)[i] = answers->list[i].bytes;
    *n = answers->n;
    return VBS_OK;
}

void vbs_answers_close(void *self)
{
    if (!self)
        return;
    vbs_answers_clear(self);
    free(self);
}
