/* The judge: the replay's verdict on an answer, by the limits of its exercise. */
#include "teach/teach.h"

#include "base/fail.h"
#include "vbslab/replay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- whether it is an answer to this exercise ---- */

static enum vbs_status check_origin(struct vbs_ctx *ctx, const struct vbs_exercise *exercise,
                                    const struct vbs_schedule *answer)
{
    char hash[VBS_PROFILE_HASH_SIZE];
    int level;
    int64_t seed;

    VBS_TRY(vbs_exercise_of(ctx, answer, &level, &seed));
    if (level != exercise->level || seed != exercise->seed)
        return vbs_fail(ctx, VBS_INVALID,
                        "it answers level %d, seed %" PRId64 ", not level %d, seed %" PRId64, level,
                        seed, exercise->level, exercise->seed);
    vbs_profile_hash(exercise->profile, hash);
    if (answer->provenance.hash && strcmp(answer->provenance.hash, hash) != 0)
        return vbs_fail(ctx, VBS_INVALID,
                        "its 'hash' is that of another problem: another version of vbslab may have "
                        "another problem of level %d, seed %" PRId64,
                        level, seed);
    return VBS_OK;
}

static enum vbs_status check_limits(struct vbs_ctx *ctx, const struct vbs_exercise *exercise,
                                    const struct vbs_schedule *answer)
{
    if (answer->request != exercise->request)
        return vbs_fail(ctx, VBS_INVALID,
                        "its request is %" PRId64 ", that of the exercise is %" PRId64,
                        answer->request, exercise->request);
    if (answer->memory_bytes != exercise->memory_bytes)
        return vbs_fail(ctx, VBS_INVALID,
                        "its memory_bytes is %" PRId64 ", that of the exercise is %" PRId64,
                        answer->memory_bytes, exercise->memory_bytes);
    if (answer->io != exercise->io)
        return vbs_fail(ctx, VBS_INVALID, "its io is %s, that of the exercise is %s",
                        vbs_io_word(answer->io), vbs_io_word(exercise->io));
    if (answer->weights != exercise->weights)
        return vbs_fail(ctx, VBS_INVALID, "its weights are %s, those of the exercise are %s",
                        vbs_weights_word(answer->weights), vbs_weights_word(exercise->weights));
    return VBS_OK;
}

/* ---- the verdict ---- */

static void find_wrong_step(const struct teach_answer *answer, struct vbs_exercise_verdict *verdict)
{
    struct teach_state state;
    unsigned residents;
    int64_t n = vbs_teach_run(answer, answer->n_steps, INT64_MAX, &state, &residents);

    verdict->step = n < answer->n_steps ? n + 1 : 0;
}

/* Tells the parts of the memory of the step that breaks the budget. */
static void explain_budget(const struct teach_answer *answer, const struct vbs_replay *replay,
                           struct vbs_exercise_verdict *verdict)
{
    const struct vbs_replay_step *record = &replay->steps[replay->violation_step];
    const struct vbs_step *step = &answer->steps[replay->violation_step];
    char batch[32] = "", parts[120] = "", weights[48] = "";

    if (step->op == VBS_STEP_COMPUTE) {
        snprintf(batch, sizeof batch, " at batch %d", step->batch);
        snprintf(parts, sizeof parts, ", %" PRId64 " of its output, %" PRId64 " of workspace",
                 record->added_bytes, record->ws_bytes);
    }
    if (answer->exercise->weights == VBS_WEIGHTS_INCLUDED)
        snprintf(weights, sizeof weights, ", %" PRId64 " of weights", record->weight_bytes);
    snprintf(verdict->reason, sizeof verdict->reason,
             "step %" PRId64 " of %" PRId64 ", %slayer %d%s, needs %" PRId64 " units: %" PRId64
             " of samples before the step%s%s; the memory has %" PRId64,
             replay->violation_step + 1, answer->n_steps,
             step->op == VBS_STEP_LOAD ? "load of " : "", step->layer, batch, record->memory_bytes,
             record->live_bytes, parts, weights, replay->memory_bytes);
}

/* Judges an answer that the replay could run. */
static enum vbs_status judge_replayed(struct vbs_ctx *ctx, const struct teach_answer *answer,
                                      const struct vbs_replay *replay,
                                      struct vbs_exercise_verdict *verdict)
{
    verdict->is_schedule = true;
    verdict->fits = replay->fits;
    verdict->time_us = replay->time_us;
    verdict->peak_bytes = replay->peak_bytes;
    if (replay->fits)
        return vbs_teach_hint(ctx, answer, verdict);
    verdict->step = replay->violation_step + 1;
    explain_budget(answer, replay, verdict);
    vbs_teach_hint_budget(answer, verdict);
    return VBS_OK;
}

static enum vbs_status judge(struct vbs_ctx *ctx, const struct teach_answer *answer,
                             const struct vbs_schedule *schedule,
                             struct vbs_exercise_verdict *verdict)
{
    struct vbs_schedule bounded = *schedule;
    struct vbs_replay *replay = NULL;
    enum vbs_status status;

    bounded.copy = answer->exercise->copy;
    bounded.latency_us = 0;
    status = vbs_replay_run(ctx, answer->exercise->profile, &bounded,
                            answer->exercise->memory_bytes, true, &replay);
    if (status == VBS_INVALID) {
        snprintf(verdict->reason, sizeof verdict->reason, "%s", vbs_detail(ctx));
        find_wrong_step(answer, verdict);
        vbs_teach_hint_order(answer, verdict);
        return VBS_OK;
    }
    if (status == VBS_OK)
        status = judge_replayed(ctx, answer, replay, verdict);
    vbs_replay_free(replay);
    return status;
}

enum vbs_status vbs_exercise_judge(struct vbs_ctx *ctx, const struct vbs_exercise *exercise,
                                   const struct vbs_schedule *schedule,
                                   struct vbs_exercise_verdict *verdict)
{
    struct vbs_exercise_verdict made = {0};
    struct vbs_step *steps;
    enum vbs_status status;

    VBS_TRY(check_origin(ctx, exercise, schedule));
    VBS_TRY(check_limits(ctx, exercise, schedule));
    steps = malloc(((size_t)schedule->n_steps + 1) * sizeof *steps);
    if (!steps)
        return vbs_no_memory(ctx);
    for (int64_t i = 0; i < schedule->n_steps; i++) {
        steps[i] = schedule->steps[i];
        if (steps[i].op == VBS_STEP_COMPUTE)
            steps[i].algorithm = vbs_profile_algorithm(
                exercise->profile, schedule->algorithms[schedule->steps[i].algorithm]);
    }
    status = judge(
        ctx,
        &(struct teach_answer){.exercise = exercise, .steps = steps, .n_steps = schedule->n_steps},
        schedule, &made);
    free(steps);
    if (status == VBS_OK)
        *verdict = made;
    return status;
}
