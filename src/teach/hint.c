/*
 * Hints. For an answer that fits, the search finds the first step behind which no fastest schedule
 * can follow any more, and the steps that could stand there instead. The hint tells only their
 * kind: a larger batch, another layer. For a wrong answer it tells what could be done at the wrong
 * step.
 */
#include "teach/teach.h"

#include "base/fail.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>

/* Kinds of steps that could stand in the place of the one that loses time. */
enum teach_change {
    LARGER,
    ALGORITHM,
    SMALLER,
    LATER_LAYER,
    EARLIER_LAYER,
    LOAD,
    EVICT,
    COMPUTE,
    NO_CHANGE
};

static void write_hint(struct vbs_exercise_verdict *verdict, const char *format, ...)
    VBS_PRINTF(2, 3);

static void write_hint(struct vbs_exercise_verdict *verdict, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(verdict->hint, sizeof verdict->hint, format, args);
    va_end(args);
}

static const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

int64_t vbs_teach_run(const struct teach_answer *answer, int64_t n, int64_t memory_bytes,
                      struct teach_state *state, unsigned *residents)
{
    struct vbs_exercise bounded = *answer->exercise;
    bool at_start = true;
    int64_t i;

    bounded.memory_bytes = memory_bytes;
    *state = (struct teach_state){0};
    *residents = 0;
    for (i = 0; i < n; i++) {
        const struct vbs_step *step = &answer->steps[i];
        struct teach_state next = *state;

        at_start = at_start && step->resident;
        if ((step->resident && !at_start) || !vbs_teach_move(&bounded, &next, step))
            return i;
        *state = next;
        if (step->resident)
            *residents |= 1U << (step->layer - 1);
    }
    return i;
}

/* ---- answers that fit ---- */

/* Computes the least time of all schedules that begin with the first n steps of an answer that
 * fits; HUGE_VAL: above limit_us. */
static enum vbs_status finish_behind(struct vbs_ctx *ctx, const struct teach_answer *answer,
                                     int64_t n, double limit_us, double *time_us)
{
    struct teach_state state;
    unsigned residents, ignored;

    /* The last step knows all residents. */
    vbs_teach_run(answer, answer->n_steps, answer->exercise->memory_bytes, &state, &residents);
    vbs_teach_run(answer, n, answer->exercise->memory_bytes, &state, &ignored);
    return vbs_teach_finish(ctx, answer->exercise, &state, residents, limit_us, time_us, NULL);
}

/* Finds how many steps of an answer a fastest schedule can begin with: from low on, which is
 * one. */
static enum vbs_status count_good(struct vbs_ctx *ctx, const struct teach_answer *answer,
                                  int64_t low, int64_t *n_good)
{
    int64_t high = answer->n_steps;

    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        double time_us;

        VBS_TRY(finish_behind(ctx, answer, middle, answer->exercise->optimum_us, &time_us));
        if (time_us < HUGE_VAL)
            low = middle;
        else
            high = middle;
    }
    *n_good = low;
    return VBS_OK;
}

static enum teach_change compare(const struct vbs_step *step, const struct vbs_step *better)
{
    if (better->op != VBS_STEP_COMPUTE)
        return better->op == VBS_STEP_LOAD ? LOAD : EVICT;
    if (step->op != VBS_STEP_COMPUTE)
        return COMPUTE;
    if (better->layer != step->layer)
        return better->layer > step->layer ? LATER_LAYER : EARLIER_LAYER;
    if (better->batch != step->batch)
        return better->batch > step->batch ? LARGER : SMALLER;
    return ALGORITHM;
}

/* Finds the change that leads on to a fastest schedule, the simplest of several. */
static enum vbs_status find_change(struct vbs_ctx *ctx, const struct teach_answer *answer,
                                   int64_t index, enum teach_change *change)
{
    const struct vbs_exercise *exercise = answer->exercise;
    struct vbs_step moves[TEACH_MOVES];
    struct teach_state state;
    unsigned residents, ignored;
    int n;

    vbs_teach_run(answer, answer->n_steps, exercise->memory_bytes, &state, &residents);
    vbs_teach_run(answer, index, exercise->memory_bytes, &state, &ignored);
    n = vbs_teach_moves(exercise, &state, moves);
    *change = NO_CHANGE;
    for (int i = 0; i < n; i++) {
        enum teach_change found = compare(&answer->steps[index], &moves[i]);
        struct teach_state next = state;
        double time_us;

        if (found >= *change || !vbs_teach_move(exercise, &next, &moves[i]))
            continue;
        VBS_TRY(vbs_teach_finish(ctx, exercise, &next, residents, exercise->optimum_us, &time_us,
                                 NULL));
        if (time_us < HUGE_VAL)
            *change = found;
    }
    return VBS_OK;
}

/* Gives the bytes that a compute step leaves unused. */
static int64_t unused_bytes(const struct teach_answer *answer, int64_t index)
{
    const struct vbs_exercise *exercise = answer->exercise;
    const struct vbs_step *step = &answer->steps[index];
    struct teach_state state;
    unsigned ignored;
    int n_rows;
    const struct vbs_profile_row *rows =
        vbs_profile_rows(exercise->profile, step->layer,
                         vbs_profile_batch_index(exercise->profile, step->batch), &n_rows);
    int64_t bytes;

    vbs_teach_run(answer, index, exercise->memory_bytes, &state, &ignored);
    bytes = vbs_teach_during_bytes(exercise, &state, step->layer, step->batch);
    for (int i = 0; i < n_rows; i++)
        if (rows[i].algorithm == step->algorithm)
            bytes += rows[i].ws_bytes;
    return exercise->memory_bytes - bytes;
}

static void describe_change(const struct teach_answer *answer, int64_t index,
                            enum teach_change change, char *text, size_t size)
{
    int layer = answer->steps[index].layer;
    int64_t unused;

    switch (change) {
    case LARGER:
        unused = unused_bytes(answer, index);
        snprintf(text, size,
                 "layer %d could take a larger batch there: the step leaves %" PRId64
                 " unit%s unused",
                 layer, unused, plural(unused));
        break;
    case ALGORITHM:
        snprintf(text, size, "another algorithm of layer %d is better there", layer);
        break;
    case SMALLER:
        snprintf(text, size, "a smaller batch of layer %d is better there", layer);
        break;
    case LATER_LAYER:
        snprintf(text, size,
                 "an earlier cut would help: before this step a layer behind layer %d should go on "
                 "with samples that wait",
                 layer);
        break;
    case EARLIER_LAYER:
        snprintf(text, size,
                 "it comes too early: before this step a layer in front of layer %d should run "
                 "again",
                 layer);
        break;
    case LOAD:
        snprintf(text, size, "weights should be loaded before this step");
        break;
    case EVICT:
        snprintf(text, size, "weights should be dropped before this step");
        break;
    default:
        snprintf(text, size, "this transfer comes too early, or is not needed");
    }
}

enum vbs_status vbs_teach_hint(struct vbs_ctx *ctx, const struct teach_answer *answer,
                               struct vbs_exercise_verdict *verdict)
{
    const struct vbs_exercise *exercise = answer->exercise;
    int64_t n_residents = 0, n_good;
    double time_us;
    enum teach_change change;
    char text[160];

    if (verdict->time_us <= exercise->optimum_us) {
        write_hint(verdict, "no schedule is faster");
        return VBS_OK;
    }
    while (n_residents < answer->n_steps && answer->steps[n_residents].resident)
        n_residents++;
    VBS_TRY(finish_behind(ctx, answer, n_residents, exercise->optimum_us, &time_us));
    if (time_us == HUGE_VAL) {
        write_hint(verdict, "the fastest schedules begin with other resident weights");
        return VBS_OK;
    }
    VBS_TRY(count_good(ctx, answer, n_residents, &n_good));
    VBS_TRY(finish_behind(ctx, answer, n_good + 1, HUGE_VAL, &time_us));
    VBS_TRY(find_change(ctx, answer, n_good, &change));
    describe_change(answer, n_good, change, text, sizeof text);
    write_hint(verdict, "step %" PRId64 " is the first that loses time (%.4g ms): %s", n_good + 1,
               (time_us - exercise->optimum_us) / TEACH_UNIT_US, text);
    return VBS_OK;
}

/* ---- answers that break an order ---- */

/* Gives the number of samples that a layer could take in a state. */
static int n_ready(const struct vbs_exercise *exercise, const struct teach_state *state, int layer)
{
    int n = 0;

    while (vbs_teach_is_ready(exercise, state, layer, n + 1))
        n++;
    return n;
}

static void hint_end(const struct vbs_exercise *exercise, const struct teach_state *state,
                     struct vbs_exercise_verdict *verdict)
{
    for (int k = 1; k <= exercise->profile->n_layers; k++)
        if (state->done[k] < exercise->request) {
            int64_t left = exercise->request - state->done[k];

            write_hint(verdict, "layer %d still has %" PRId64 " sample%s to do", k, left,
                       plural(left));
            return;
        }
    write_hint(verdict, "resident weights have to be in memory again at the end");
}

static void hint_compute(const struct vbs_exercise *exercise, const struct teach_state *state,
                         const struct vbs_step *step, struct vbs_exercise_verdict *verdict)
{
    unsigned needed = vbs_teach_weighted(exercise) & 1U << (step->layer - 1);
    int ready = n_ready(exercise, state, step->layer);

    if (vbs_profile_batch_index(exercise->profile, step->batch) < 0 || step->algorithm < 0 ||
        step->n_slices > 1)
        write_hint(verdict, "batch and algorithm have to be of the problem's table");
    else if (needed & ~state->loaded)
        write_hint(verdict, "load the weights of layer %d before this step", step->layer);
    else if (state->done[step->layer] == exercise->request)
        write_hint(verdict, "layer %d has finished all samples before this step", step->layer);
    else if (state->done[step->layer] + ready == exercise->request)
        write_hint(verdict, "layer %d has only %d sample%s left at this step", step->layer, ready,
                   plural(ready));
    else if (ready == 0)
        write_hint(verdict,
                   "no sample is ready for layer %d: a layer that it reads has to run "
                   "before this step",
                   step->layer);
    else
        write_hint(verdict,
                   "only %d sample%s ready for layer %d: take a smaller batch, or let the "
                   "layers that it reads run before this step",
                   ready, ready == 1 ? " is" : "s are", step->layer);
}

void vbs_teach_hint_order(const struct teach_answer *answer, struct vbs_exercise_verdict *verdict)
{
    const struct vbs_exercise *exercise = answer->exercise;
    struct teach_state state;
    unsigned residents;
    const struct vbs_step *step;

    vbs_teach_run(answer, verdict->step ? verdict->step - 1 : answer->n_steps, INT64_MAX, &state,
                  &residents);
    if (verdict->step == 0) {
        hint_end(exercise, &state, verdict);
        return;
    }
    step = &answer->steps[verdict->step - 1];
    if (step->layer > exercise->profile->n_layers)
        write_hint(verdict, "the layers go from 1 to %d", exercise->profile->n_layers);
    else if (step->op == VBS_STEP_COMPUTE)
        hint_compute(exercise, &state, step, verdict);
    else
        write_hint(verdict, "weights are loaded whole, where they are not in memory, and dropped "
                            "whole, where they are; resident loads stand before all other steps");
}

/* ---- answers that break the budget ---- */

/* Gives whether a row of the layer fits into a state: of a smaller batch, or of the same with
 * another algorithm. */
static bool fits(const struct vbs_exercise *exercise, const struct teach_state *state,
                 const struct vbs_step *step, bool smaller)
{
    const struct vbs_profile *profile = exercise->profile;

    for (int b = 0; b < profile->n_batches; b++)
        for (int a = 0; a < profile->n_algorithms; a++) {
            struct vbs_step other = {
                .layer = step->layer, .batch = profile->batches[b], .algorithm = a};
            struct teach_state next = *state;

            if ((smaller ? other.batch < step->batch : other.batch == step->batch) &&
                vbs_teach_move(exercise, &next, &other))
                return true;
        }
    return false;
}

/* Gives the bytes of weights in memory that a step does not read. */
static int64_t other_weights(const struct vbs_exercise *exercise, const struct teach_state *state,
                             int layer)
{
    int64_t bytes = 0;

    for (int k = 1; k <= exercise->profile->n_layers; k++)
        if (k != layer && state->loaded & 1U << (k - 1))
            bytes += exercise->profile->layers[k].weight_bytes;
    return bytes;
}

void vbs_teach_hint_budget(const struct teach_answer *answer, struct vbs_exercise_verdict *verdict)
{
    const struct vbs_exercise *exercise = answer->exercise;
    const struct vbs_step *step = &answer->steps[verdict->step - 1];
    struct teach_state state;
    unsigned residents;
    int64_t weights;

    vbs_teach_run(answer, verdict->step - 1, INT64_MAX, &state, &residents);
    weights = other_weights(exercise, &state, step->layer);
    if (step->op == VBS_STEP_COMPUTE && fits(exercise, &state, step, true))
        write_hint(verdict, "a smaller batch of layer %d fits at this step", step->layer);
    else if (step->op == VBS_STEP_COMPUTE && fits(exercise, &state, step, false))
        write_hint(verdict, "another algorithm of layer %d fits at this step", step->layer);
    else if (weights > 0)
        write_hint(verdict, "weights of other layers take %" PRId64 " unit%s at this step", weights,
                   plural(weights));
    else
        write_hint(verdict, "too many samples wait at this step: layers that read them should go "
                            "on first");
}
