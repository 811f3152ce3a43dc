/*
 * joint: from a cutting of the priced profile to schedules with transfers.
 *
 * Where the request consists of many equal chunks, schedules are tried on few of them. Which gaps
 * are kept and when loads end repeats from chunk to chunk, so that each further chunk takes as long
 * as the second of three. Only the best of these estimates become schedules of the whole request,
 * with their exact times and bytes.
 */
#include "plan/weights/joint.h"
#include "plan/weights/stream.h"
#include "plan/weights/trial.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/grow.h"

#include <math.h>
#include <stdlib.h>

#define REPORT_S        0.1
#define MOST_GRID_BYTES ((int64_t)1 << 60)
#define MOST_SEARCHED   256 /* visits of a stream for which gaps to keep are searched */

/* Shares of a budget for the cutting. Small ones leave the budget to weights that stay. */
static const double SHARES[] = {1, 0.75, 0.5, 0.25, 0.1, 0.04};

#define N_SHARES ((int)(sizeof SHARES / sizeof SHARES[0]))

/* True where steps of one layer follow each other, so that a slice may run all of them. */
static bool has_runs(const struct vbs_step_list *steps)
{
    for (int64_t s = 1; s < steps->n_steps; s++)
        if (steps->steps[s].layer == steps->steps[s - 1].layer)
            return true;
    return false;
}

/* Adds the steps of a chunk in the task's own rows, and cuts each layer's weights as finely as
 * these steps need. VBS_INFEASIBLE: an algorithm has no row for the samples of a unit that is not
 * whole. */
static enum vbs_status translate_chunk(struct joint *joint, const struct vbs_step *cutting,
                                       int64_t n_steps, struct vbs_step_list *steps,
                                       struct vbs_slicing *slicing)
{
    const struct vbs_task *task = joint->place.task;
    int *done = calloc((size_t)task->n_layers + 1, sizeof *done);
    enum vbs_status status = done ? VBS_OK : vbs_no_memory(joint->ctx);

    for (int64_t s = 0; status == VBS_OK && s < n_steps; s++) {
        const struct vbs_step *step = &cutting[s];
        const struct row_kind *kind;
        int layer = step->layer, n_slices, most, samples = step->batch * joint->grain;
        struct vbs_profile_row row;
        int *cut;

        if (step->rows > 0) { /* it is in the task's own rows, and reads all weights */
            status = vbs_step_list_append(joint->ctx, steps, step);
            done[layer] +=
                step->row + step->rows == task->profile->layers[layer].rows ? step->batch : 0;
            continue;
        }
        kind = &joint->kinds[step->algorithm];
        if (samples > joint->chunk - done[layer]) /* the last unit may be less than whole */
            samples = joint->chunk - done[layer];
        done[layer] += samples;
        most = vbs_joint_most_samples(samples, kind->halvings);
        if (!vbs_joint_compose(task, layer, samples, most, kind->algorithm, &row)) {
            status = VBS_INFEASIBLE; /* for the last samples, which other algorithms can run */
            break;
        }
        for (int left = samples, b; status == VBS_OK && left > 0; left -= b) {
            b = vbs_trial_batch(task, left < most ? left : most);
            status = vbs_step_list_add(
                joint->ctx, steps, layer, b,
                vbs_joint_piece(task, layer, b, kind->algorithm, row.format)->algorithm);
        }
        cut = vbs_slicing_at(slicing, layer, row.format);
        n_slices = row.weight_bytes > 0 ? vbs_joint_slices(joint, layer, &row, kind->doublings) : 0;
        if (n_slices > *cut)
            *cut = n_slices;
    }
    free(done);
    return status;
}

/* A cutting in the task's own rows. */
struct translation {
    struct vbs_arena arena;
    struct vbs_slicing slicing;
    struct vbs_step_list steps; /* of all samples that are tried */
    double chunk_us;            /* computing, of the first chunk */
};

/* The whole request, chunk after chunk. VBS_INFEASIBLE: as translate_chunk, or the rest does not
 * fit where a chunk does. */
static enum vbs_status translate(struct joint *joint, const struct vbs_pareto_plan *cutting,
                                 struct translation *to)
{
    struct vbs_draft rest = {0};
    enum vbs_status status = VBS_OK;

    for (int left = joint->place.task->request; left >= joint->chunk; left -= joint->chunk) {
        status = translate_chunk(joint, cutting->steps, cutting->n_steps, &to->steps, &to->slicing);
        if (status != VBS_OK)
            return status;
        if (to->chunk_us == 0)
            to->chunk_us = vbs_step_list_us(joint->task, &to->steps);
    }
    if (joint->rest) {
        status = vbs_pareto_plan_within(joint->ctx, (void *)(uintptr_t)joint->rest, cutting->bytes,
                                        &rest);
        if (status == VBS_OK)
            status = translate_chunk(joint, rest.steps.steps, rest.steps.n_steps, &to->steps,
                                     &to->slicing);
        vbs_step_list_clear(&rest.steps);
    }
    return status;
}

static void translation_clear(struct translation *translation)
{
    vbs_step_list_clear(&translation->steps);
    vbs_arena_clear(&translation->arena);
}

/* Errors as of translate; *translation is cleared by the caller all the same. */
static enum vbs_status translation_init(struct joint *joint, int cutting,
                                        struct translation *translation)
{
    *translation = (struct translation){0};
    VBS_TRY(vbs_slicing_init(joint->ctx, joint->task, &translation->arena, &translation->slicing));
    return translate(joint, &joint->cuttings->list[cutting], translation);
}

static enum vbs_status stream_init(struct joint *joint, const struct translation *translation,
                                   const struct vbs_stream_order *order, struct vbs_stream *stream)
{
    const struct vbs_step_list *steps = &translation->steps;

    VBS_TRY(vbs_stream_init(joint->ctx, joint->place.task, steps->steps, steps->n_steps,
                            &translation->slicing, order, stream));
    if (joint->place.n_repeats > 0)
        vbs_stream_repeat(stream, joint->chunk, joint->place.n_repeats);
    return VBS_OK;
}

enum vbs_status vbs_joint_choose_cut_budgets(struct joint *joint)
{
    struct vbs_budget_list budgets = {0};
    int64_t most_bytes = joint->task->options.most_bytes;
    enum vbs_status status =
        vbs_budget_list_add(joint->ctx, &budgets, most_bytes > 0 ? most_bytes : 1);

    if (status == VBS_OK)
        status = vbs_budget_list_add_grid(joint->ctx, &budgets, 1, MOST_GRID_BYTES);
    for (int s = 0; s < N_SHARES; s++)
        for (int i = 0; status == VBS_OK && i < budgets.n; i++)
            status = vbs_budget_list_add(joint->ctx, &joint->cut_budgets,
                                         (int64_t)(SHARES[s] * (double)budgets.bytes[i]));
    vbs_budget_list_sort(&joint->cut_budgets);
    vbs_budget_list_clear(&budgets);
    return status;
}

/* The trial of one cutting, in all budgets of which it takes the largest possible of the shares. */
struct cutting_trial {
    int cutting;
    int64_t from_bytes, to_bytes; /* of the cutting's own budget: it is the best from..to */
};

static bool takes_share(const struct cutting_trial *trial, int64_t memory_bytes)
{
    for (int s = 0; s < N_SHARES; s++) {
        int64_t bytes = (int64_t)(SHARES[s] * (double)memory_bytes);

        if (bytes >= trial->from_bytes && bytes < trial->to_bytes)
            return true;
    }
    return false;
}

/* True when the cutting is tried in some budget; most cuttings are too near to the next one. */
static bool is_tried(const struct cutting_trial *trial, const struct vbs_budget_list *budgets)
{
    for (int i = 0; i < budgets->n; i++)
        if (takes_share(trial, budgets->bytes[i]))
            return true;
    return false;
}

bool vbs_joint_is_late(const struct joint *joint)
{
    /* Until there is a plan, the first pass of a long network goes on, and all of a short one. */
    bool waits = joint->pareto->n == 0 && (!joint->is_long || joint->most_items > 0);

    return joint->is_proven || (joint->until_s > 0 && !waits && vbs_clock_s() > joint->until_s);
}

/* Plans the transfers of a trial and offers the schedule to joint->place.found. */
static enum vbs_status try_transfers(struct joint *joint, const struct vbs_stream *stream,
                                     const struct trial *trial)
{
    struct vbs_stream_rule rule = {.keeps = true, .reserved_bytes = trial->reserved_bytes};
    struct trial_list *trials = &joint->trials;

    if (joint->place.n_repeats > 0) {
        VBS_TRY(vbs_grow(joint->ctx, &trials->list, &trials->capacity, (int64_t)trials->n + 1,
                         sizeof *trials->list));
        joint->place.found->tag = trials->n;
        trials->list[trials->n++] = *trial;
    }
    return vbs_trial_stream(joint->ctx, stream, &rule, trial->memory_bytes, joint->place.found);
}

/* Tries the stream in a budget by the rule, and searches better gaps to keep. A search for few of
 * many chunks would have to be repeated for all of them, and one of many visits takes long. */
static enum vbs_status try_budget(struct joint *joint, const struct vbs_stream *stream,
                                  int64_t largest_block, struct trial *trial)
{
    /* Delayed layers read many slices between two steps of others. */
    int most = trial->order.delayed_from > 0 ? 2 * VBS_MOST_RESERVES : 1;

    for (int reserves = 0; reserves <= most; reserves = vbs_more_reserves(reserves)) {
        trial->reserved_bytes = reserves * largest_block;
        VBS_TRY(try_transfers(joint, stream, trial));
    }
    if (joint->place.n_repeats > 0 || stream->n_visits > MOST_SEARCHED)
        return VBS_OK;
    return vbs_trial_search(joint->ctx, stream, trial->memory_bytes, joint->place.found, NULL);
}

static enum vbs_status try_stream(struct joint *joint, const struct cutting_trial *cutting,
                                  const struct vbs_stream_order *order,
                                  const struct vbs_stream *stream,
                                  const struct vbs_budget_list *budgets)
{
    struct trial trial = {.cutting = cutting->cutting, .order = *order};
    int64_t largest = vbs_stream_largest_block(stream);

    trial.memory_bytes = stream->least_bytes;
    VBS_TRY(try_transfers(joint, stream, &trial));
    trial.memory_bytes = cutting->to_bytes;
    if (cutting->to_bytes < INT64_MAX)
        VBS_TRY(try_transfers(joint, stream, &trial));
    for (int i = 0; i < budgets->n && !vbs_joint_is_late(joint); i++) {
        int64_t bytes = budgets->bytes[joint->hurries ? budgets->n - 1 - i : i];

        if (!takes_share(cutting, bytes))
            continue;
        trial.memory_bytes = bytes;
        VBS_TRY(try_budget(joint, stream, largest, &trial));
    }
    return VBS_OK;
}

static enum vbs_status try_cutting(struct joint *joint, const struct cutting_trial *trial,
                                   const struct vbs_budget_list *budgets)
{
    struct translation translation;
    enum vbs_status status = translation_init(joint, trial->cutting, &translation);
    double compute_us = vbs_step_list_us(joint->task, &translation.steps) +
                        joint->place.n_repeats * translation.chunk_us;

    if (status == VBS_OK && !vbs_pareto_wants(joint->place.found, trial->from_bytes, compute_us))
        goto clean_up; /* computing alone takes longer than known plans in all these budgets */
    for (int joins_steps = has_runs(&translation.steps);
         status == VBS_OK && joins_steps >= 0 && !vbs_joint_is_late(joint); joins_steps--) {
        const struct vbs_stream_order order = {joins_steps, joint->delayed_from};
        struct vbs_stream stream;

        status = stream_init(joint, &translation, &order, &stream);
        if (status != VBS_OK)
            break;
        status = try_stream(joint, trial, &order, &stream, budgets);
        vbs_stream_clear(&stream);
    }
clean_up:
    translation_clear(&translation);
    return status == VBS_INFEASIBLE ? VBS_OK : status;
}

/* Makes the schedule of a trial for the task. */
static enum vbs_status make_schedule(struct joint *joint, const struct trial *trial)
{
    struct translation translation;
    struct vbs_stream stream;
    enum vbs_status status = translation_init(joint, trial->cutting, &translation);

    if (status == VBS_OK)
        status = stream_init(joint, &translation, &trial->order, &stream);
    if (status == VBS_OK) {
        status = try_transfers(joint, &stream, trial);
        vbs_stream_clear(&stream);
    }
    translation_clear(&translation);
    return status == VBS_INFEASIBLE ? VBS_OK : status;
}

void vbs_joint_try_whole(struct joint *joint)
{
    joint->place = (struct trial_place){.task = joint->task, .found = joint->pareto};
}

bool vbs_joint_is_above(const struct joint *joint, int64_t bytes)
{
    int64_t most_bytes = joint->task->options.most_bytes;

    return most_bytes > 0 && bytes > most_bytes;
}

enum vbs_status vbs_joint_make_schedules(struct joint *joint)
{
    const struct trial_place place = joint->place;
    struct vbs_pareto_set *found = place.found;
    int n = found->n, stride;
    bool has_made = false;
    enum vbs_status status = VBS_OK;

    while (n > 1 && vbs_joint_is_above(joint, found->list[n - 1].bytes))
        n--;
    stride = vbs_trial_stride(joint->task, n);
    vbs_joint_try_whole(joint);
    for (int i = n - 1; status == VBS_OK && i >= 0; i--) {
        const struct vbs_pareto_plan *plan = &found->list[i];

        if (plan->tag < 0 || !vbs_pareto_is_kept(i, n, stride) ||
            !vbs_pareto_wants(joint->pareto, plan->bytes, plan->time_us))
            continue;
        if (has_made && vbs_joint_is_late(joint))
            break;
        status = make_schedule(joint, &joint->trials.list[plan->tag]);
        has_made = true;
    }
    joint->place = place;
    for (int i = 0; i < found->n; i++)
        found->list[i].tag = -1;
    joint->trials.n = 0;
    return status;
}

void vbs_joint_report(struct joint *joint, double share)
{
    const struct vbs_progress *progress = &joint->task->options.progress;
    double now_s = vbs_clock_s(), elapsed_s = now_s - joint->from_s;
    double done = (joint->n_done + share) / joint->n_solves, left_s;

    if (!progress->report || now_s < joint->reported_s + REPORT_S)
        return;
    joint->reported_s = now_s;
    left_s = vbs_left_s(done, elapsed_s, elapsed_s);
    if (joint->until_s > 0)
        left_s = fmin(left_s < 0 ? HUGE_VAL : left_s, fmax(joint->until_s - now_s, 0));
    progress->report(progress->self, done, left_s, "schedules with transfers");
}

enum vbs_status vbs_joint_try_cuttings(struct joint *joint)
{
    const struct vbs_pareto_set *cuttings = joint->cuttings;
    struct vbs_budget_list budgets = {0};
    int64_t from_bytes, to_bytes, most_bytes = joint->task->options.most_bytes;
    bool fastest_first = joint->hurries || joint->is_coarse;
    enum vbs_status status = VBS_OK;

    if (cuttings->n > 0) {
        from_bytes = cuttings->list[0].bytes;
        to_bytes = cuttings->list[cuttings->n - 1].bytes + 2 * vbs_task_lightest_bytes(joint->task);
        if (fastest_first && most_bytes > from_bytes && most_bytes < to_bytes)
            to_bytes = most_bytes; /* larger ones do not matter */
        status = joint->is_coarse && most_bytes > from_bytes
                     ? vbs_budget_list_add(joint->ctx, &budgets, most_bytes)
                     : vbs_budget_list_add_grid(joint->ctx, &budgets, from_bytes, to_bytes);
    }
    for (int i = 0; status == VBS_OK && i < cuttings->n && !vbs_joint_is_late(joint); i++) {
        int c = fastest_first ? cuttings->n - 1 - i : i;
        struct cutting_trial trial = {.cutting = c,
                                      .from_bytes = cuttings->list[c].bytes,
                                      .to_bytes = c + 1 < cuttings->n ? cuttings->list[c + 1].bytes
                                                                      : INT64_MAX};

        vbs_joint_report(joint, (double)i / cuttings->n);
        if (is_tried(&trial, &budgets))
            status = try_cutting(joint, &trial, &budgets);
    }
    vbs_budget_list_clear(&budgets);
    return status;
}
