/*
 * fbs: every layer at one batch B, the largest that fits (VBS IV, "Baseline"). The request runs in
 * chunks of B, and the rest in the largest batches that it takes.
 *
 * fbs-best: of all B that fit, the one with the least time (COMP VI).
 *
 * Memory is the exact accounting, so that with resident io a chunk's steps also count the inputs
 * that wait and the outputs that are done. A batch whose latency exceeds the bound does not fit.
 * O(batches x layers x chunks) to open, O(steps x algorithms) a budget, times batches where a
 * latency is given.
 */
#include "plan/uniform/uniform.h"
#include "plan/uniform/fixed.h"
#include "plan/problem/problem.h"

#include "base/fail.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

struct fbs {
    const struct vbs_task *task;
    struct vbs_fixed *candidates; /* [task->n_batches] ascending by batch */
};

struct chunk_walk {
    struct vbs_walk walk;
    struct vbs_fixed *fixed;
};

static enum vbs_status run_chunk(struct vbs_ctx *ctx, void *self, int chunk)
{
    struct chunk_walk *at = self;
    const struct vbs_task *task = at->walk.task;

    for (int k = 1; k <= task->n_layers; k++) {
        if (vbs_cancelled(ctx))
            return vbs_fail(ctx, VBS_INTERRUPTED, "interrupted");
        VBS_TRY(vbs_fixed_add(ctx, task, at->fixed, k, chunk, vbs_walk_step(&at->walk, k, chunk)));
    }
    return VBS_OK;
}

static enum vbs_status make_candidate(struct vbs_ctx *ctx, const struct vbs_task *task, int batch,
                                      struct vbs_fixed *fixed)
{
    struct chunk_walk at = {.fixed = fixed};
    enum vbs_status status;

    VBS_TRY(vbs_walk_init(ctx, &at.walk, task));
    status = vbs_fixed_chunks(ctx, task, batch, run_chunk, &at);
    vbs_walk_clear(&at.walk);
    return status;
}

static void fbs_close(void *self)
{
    struct fbs *fbs = self;

    if (!fbs)
        return;
    for (int c = 0; fbs->candidates && c < fbs->task->n_batches; c++)
        vbs_fixed_clear(&fbs->candidates[c]);
    free(fbs->candidates);
    free(fbs);
}

static enum vbs_status fbs_open(struct vbs_ctx *ctx, const struct vbs_task *task, void **self)
{
    struct fbs *fbs = calloc(1, sizeof *fbs);
    enum vbs_status status = VBS_OK;

    if (!fbs)
        return vbs_no_memory(ctx);
    fbs->task = task;
    fbs->candidates = calloc((size_t)task->n_batches, sizeof *fbs->candidates);
    if (!fbs->candidates)
        status = vbs_no_memory(ctx);
    for (int c = 0; status == VBS_OK && c < fbs->task->n_batches; c++)
        status = make_candidate(ctx, task, task->profile->batches[c], &fbs->candidates[c]);
    if (status != VBS_OK) {
        fbs_close(fbs);
        return status;
    }
    *self = fbs;
    return VBS_OK;
}

/* Gives whether a step begins a chunk: the first step of every chunk is that of layer 1. */
static bool begins_chunk(const struct vbs_fixed_step *step)
{
    return step->layer == 1;
}

static bool fits(const struct fbs *fbs, const struct vbs_fixed *fixed, int64_t memory_bytes)
{
    return fixed->least_bytes <= memory_bytes &&
           vbs_fixed_in_time(fbs->task, fixed, memory_bytes, begins_chunk);
}

static const struct vbs_fixed *largest(const struct fbs *fbs, int64_t memory_bytes)
{
    for (int c = fbs->task->n_batches - 1; c >= 0; c--)
        if (fits(fbs, &fbs->candidates[c], memory_bytes))
            return &fbs->candidates[c];
    return NULL;
}

/* Finds the fastest candidate; of equally fast ones, that with the smallest batch. */
static const struct vbs_fixed *fastest(const struct fbs *fbs, int64_t memory_bytes)
{
    const struct vbs_fixed *best = NULL;
    double best_us = HUGE_VAL;

    for (int c = 0; c < fbs->task->n_batches; c++) {
        double time_us = vbs_fixed_us(fbs->task, &fbs->candidates[c], memory_bytes);

        if (time_us < best_us && fits(fbs, &fbs->candidates[c], memory_bytes)) {
            best = &fbs->candidates[c];
            best_us = time_us;
        }
    }
    return best;
}

static enum vbs_status emit(struct vbs_ctx *ctx, const struct fbs *fbs,
                            const struct vbs_fixed *chosen, int64_t memory_bytes,
                            struct vbs_draft *draft)
{
    if (!chosen)
        return VBS_INFEASIBLE;
    return vbs_fixed_emit(ctx, fbs->task, chosen, memory_bytes, draft);
}

static enum vbs_status fbs_plan(struct vbs_ctx *ctx, void *self, int64_t memory_bytes,
                                struct vbs_draft *draft)
{
    return emit(ctx, self, largest(self, memory_bytes), memory_bytes, draft);
}

static enum vbs_status fbs_best_plan(struct vbs_ctx *ctx, void *self, int64_t memory_bytes,
                                     struct vbs_draft *draft)
{
    return emit(ctx, self, fastest(self, memory_bytes), memory_bytes, draft);
}

static int64_t fbs_least_bytes(const void *self)
{
    const struct fbs *fbs = self;
    int64_t least = INT64_MAX;

    for (int c = 0; c < fbs->task->n_batches; c++) {
        int64_t bytes = vbs_fixed_least_bytes(fbs->task, &fbs->candidates[c], begins_chunk);

        if (bytes < least)
            least = bytes;
    }
    return least;
}

static size_t fbs_peak_bytes(const void *self)
{
    const struct fbs *fbs = self;

    return vbs_fixed_bytes(fbs->candidates, fbs->task->n_batches);
}

static enum vbs_status fbs_thresholds(struct vbs_ctx *ctx, const void *self, int64_t **bytes,
                                      int *n)
{
    const struct fbs *fbs = self;

    return vbs_fixed_thresholds(ctx, fbs->task, fbs->candidates, fbs->task->n_batches, bytes, n);
}

/* Adds the batches, from the largest down. */
static enum vbs_status explain(struct vbs_reasons *reasons, const struct fbs *fbs,
                               const struct vbs_question *question, const struct vbs_fixed *chosen)
{
    const struct vbs_task *task = fbs->task;
    struct vbs_decision decision = {.first_layer = 1,
                                    .last_layer = task->n_layers,
                                    .n_layers = task->n_layers,
                                    .samples = task->request,
                                    .memory_bytes = question->memory_bytes};
    int index, batch = 0;

    VBS_TRY(vbs_reasons_begin(reasons, -1, &decision, &index));
    for (int c = task->n_batches - 1; c >= 0; c--) {
        VBS_TRY(vbs_fixed_explain(reasons, &fbs->candidates[c], task->profile->batches[c],
                                  question->memory_bytes, begins_chunk));
        if (&fbs->candidates[c] == chosen)
            batch = task->profile->batches[c];
    }
    return vbs_reasons_end(reasons, index, VBS_CHOICE_BATCH, batch);
}

static enum vbs_status fbs_explain(struct vbs_reasons *reasons, void *self,
                                   const struct vbs_question *question)
{
    return explain(reasons, self, question, largest(self, question->memory_bytes));
}

static enum vbs_status fbs_best_explain(struct vbs_reasons *reasons, void *self,
                                        const struct vbs_question *question)
{
    return explain(reasons, self, question, fastest(self, question->memory_bytes));
}

const struct vbs_planner vbs_planner_fbs = {
    .name = "fbs",
    .baseline = true,
    .compared_beside_weights = true,
    .may_slow_down = true,
    .summary = "every layer at one batch, the largest that fits",
    .source = "VBS IV",
    .cost = "steps x algorithms a budget",
    .open = fbs_open,
    .plan = fbs_plan,
    .least_bytes = fbs_least_bytes,
    .thresholds = fbs_thresholds,
    .peak_bytes = fbs_peak_bytes,
    .explain = fbs_explain,
    .close = fbs_close,
};

const struct vbs_planner vbs_planner_fbs_best = {
    .name = "fbs-best",
    .baseline = true,
    .compared_beside_weights = true,
    .summary = "every layer at one batch, the fastest that fits",
    .source = "COMP VI",
    .cost = "steps x algorithms a budget",
    .open = fbs_open,
    .plan = fbs_best_plan,
    .least_bytes = fbs_least_bytes,
    .thresholds = fbs_thresholds,
    .peak_bytes = fbs_peak_bytes,
    .explain = fbs_best_explain,
    .close = fbs_close,
};
