#include "plan/search/known.h"
#include "plan/search/clock.h"

#include "base/fail.h"
#include "base/grow.h"
#include "plan/problem/problem.h"
#include "plan/search/pattern_database.h"
#include "plan/search/prove.h"

#include <math.h>
#include <stdlib.h>

static int64_t ticks_of(const struct vbs_task *task, const struct vbs_step_list *steps)
{
    int64_t ticks = 0;

    for (int64_t s = 0; s < steps->n_steps; s++)
        ticks += vbs_task_ticks(task, vbs_task_step_row(task, &steps->steps[s])->time_us);
    return ticks;
}

struct vbs_known vbs_chunk_known(const struct vbs_chunk *chunk, int64_t memory_bytes)
{
    struct vbs_known known = {.best_ticks = VBS_NEVER_TICKS};

    for (int f = 0; f < chunk->n_facts; f++) {
        const struct vbs_fact *fact = &chunk->facts[f];

        if (fact->high_bytes >= memory_bytes && fact->bound_ticks > known.bound_ticks)
            known.bound_ticks = fact->bound_ticks;
        if (fact->low_bytes <= memory_bytes && fact->best_ticks < known.best_ticks) {
            known.best_ticks = fact->best_ticks;
            known.steps = &fact->steps;
        }
        if (fact->high_bytes == memory_bytes && fact->limit > known.searched)
            known.searched = fact->limit;
        if (fact->high_bytes == memory_bytes) {
            known.n_states += fact->n_states;
            known.n_groups = fact->n_groups;
            known.largest_group = fact->largest_group;
        }
    }
    return known;
}

/* Begins a proof with the best schedule known for the budget, or with a better one of the
 * guillotine cuttings. */
static enum vbs_status start_proof(struct vbs_ctx *ctx, struct vbs_chunk *chunk,
                                   int64_t memory_bytes, const struct vbs_known *known,
                                   struct vbs_proof *proof)
{
    struct vbs_draft draft = {0};
    enum vbs_status status = vbs_pareto_plan_within(ctx, &chunk->cuttings, memory_bytes, &draft);

    *proof = (struct vbs_proof){
        .best_ticks = VBS_NEVER_TICKS, .bound_ticks = known->bound_ticks, .steps = draft.steps};
    if (status == VBS_OK)
        proof->best_ticks = ticks_of(&chunk->task, &proof->steps);
    else if (status != VBS_INFEASIBLE)
        return status;
    if (known->best_ticks >= proof->best_ticks)
        return VBS_OK;
    proof->best_ticks = known->best_ticks;
    proof->steps.n_steps = 0;
    return vbs_step_list_copy(ctx, known->steps->steps, known->steps->n_steps, &proof->steps);
}

/* Appends the result of a proof to the facts, and takes over its steps. */
static enum vbs_status add_fact(struct vbs_ctx *ctx, struct vbs_chunk *chunk, int64_t memory_bytes,
                                double limit, int64_t n_states, struct vbs_proof *proof)
{
    struct vbs_timeline timeline = {.peak_bytes = INT64_MAX};

    VBS_TRY(
        vbs_grow(ctx, &chunk->facts, &chunk->capacity, chunk->n_facts + 1, sizeof *chunk->facts));
    if (proof->best_ticks < VBS_NEVER_TICKS)
        VBS_TRY(vbs_timeline_find(ctx, &chunk->task, &proof->steps, &timeline));
    chunk->facts[chunk->n_facts++] = (struct vbs_fact){.low_bytes = timeline.peak_bytes,
                                                       .high_bytes = memory_bytes,
                                                       .best_ticks = proof->best_ticks,
                                                       .bound_ticks = proof->bound_ticks,
                                                       .limit = fmax(limit, 1e-9),
                                                       .n_states = n_states,
                                                       .n_groups = proof->n_groups,
                                                       .largest_group = proof->largest_group,
                                                       .steps = proof->steps};
    proof->steps = (struct vbs_step_list){0};
    return VBS_OK;
}

enum vbs_status vbs_chunk_search(struct vbs_ctx *ctx, struct vbs_chunk *chunk,
                                 const struct vbs_order_ideals *ideals, int64_t memory_bytes,
                                 double limit, int64_t below_ticks, struct vbs_known *known)
{
    const struct vbs_prove_limits limits = {.until = vbs_search_now(&chunk->task) + limit,
                                            .below_ticks = below_ticks,
                                            .seeds = &chunk->cuttings};
    int64_t from_states = chunk->task.clock ? chunk->task.clock->n_nodes : 0;
    struct vbs_proof proof = {0};
    enum vbs_status status;

    *known = vbs_chunk_known(chunk, memory_bytes);
    /* The search is repeated where an earlier one had less than half of this limit, as those of
     * vbs_chunk_find_least have. */
    if ((known->searched > 0 && 2 * known->searched > limit) ||
        known->bound_ticks >= known->best_ticks)
        return VBS_OK;
    status = start_proof(ctx, chunk, memory_bytes, known, &proof);
    if (status == VBS_OK)
        status = vbs_check_cancel(ctx);
    if (status == VBS_OK)
        status = vbs_prove(ctx, &chunk->task, ideals, memory_bytes, &limits, &proof);
    if (status == VBS_INTERRUPTED && proof.best_ticks < VBS_NEVER_TICKS && chunk->task.clock) {
        chunk->task.clock->interrupted = true; /* the best schedule so far is still valid */
        limit = 0;                             /* a later call searches again */
        status = VBS_OK;
    }
    if (status == VBS_OK)
        status = add_fact(ctx, chunk, memory_bytes, limit,
                          chunk->task.clock ? chunk->task.clock->n_nodes - from_states : 0, &proof);
    if (proof.peak_bytes > chunk->search_bytes)
        chunk->search_bytes = proof.peak_bytes;
    vbs_step_list_clear(&proof.steps);
    *known = vbs_chunk_known(chunk, memory_bytes);
    return status;
}

static bool layers_fit(const struct vbs_task *task, int64_t memory_bytes, int64_t *togo)
{
    for (int k = 1; k <= task->n_layers; k++) {
        vbs_task_to_go(task, k, memory_bytes, task->request, togo);
        if (togo[0] >= VBS_NEVER_TICKS)
            return false;
    }
    return true;
}

enum vbs_status vbs_least_by_layers(struct vbs_ctx *ctx, const struct vbs_task *task, int64_t high,
                                    int64_t *least_bytes)
{
    int64_t *togo = malloc(((size_t)task->request + 1) * sizeof *togo), low = -1;
    enum vbs_status status = togo ? VBS_OK : vbs_no_memory(ctx);

    while (status == VBS_OK && high - low > 1) {
        int64_t middle = low + (high - low) / 2;

        if (layers_fit(task, middle, togo))
            high = middle;
        else
            low = middle;
        status = vbs_check_cancel(ctx);
    }
    free(togo);
    if (status == VBS_OK)
        *least_bytes = high;
    return status;
}

enum vbs_status vbs_chunk_find_least(struct vbs_ctx *ctx, struct vbs_chunk *chunk,
                                     const struct vbs_order_ideals *ideals, double limit)
{
    double until = vbs_search_now(&chunk->task) + limit;
    int64_t floor = 0;
    enum vbs_status status;

    chunk->least_bytes = vbs_pareto_least_bytes(&chunk->cuttings);
    status = vbs_least_by_layers(ctx, &chunk->task, chunk->least_bytes, &floor);
    if (status != VBS_OK)
        return status;
    while (status == VBS_OK && !vbs_cancelled(ctx) && chunk->least_bytes > floor &&
           vbs_search_now(&chunk->task) < until) {
        struct vbs_timeline timeline;
        struct vbs_known known;

        status = vbs_chunk_search(ctx, chunk, ideals, chunk->least_bytes - 1,
                                  until - vbs_search_now(&chunk->task), VBS_NEVER_TICKS, &known);
        if (status != VBS_OK || !known.steps)
            break;
        status = vbs_timeline_find(ctx, &chunk->task, known.steps, &timeline);
        chunk->least_bytes = timeline.peak_bytes;
    }
    return status;
}

void vbs_chunk_clear(struct vbs_chunk *chunk)
{
    for (int f = 0; f < chunk->n_facts; f++)
        vbs_step_list_clear(&chunk->facts[f].steps);
    free(chunk->facts);
    vbs_pareto_clear(&chunk->cuttings);
}
