/* Exercises: the first drawn problem that is worth solving, and schedules of it. */
#include "teach/teach.h"

#include "base/fail.h"
#include "vbslab/plan.h"
#include "vbslab/replay.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ATTEMPTS 100000
#define LEAST_GAIN    0.05 /* of the time of fbs-best, which the optimum saves */

/* Computes the time of a planner's plan; HUGE_VAL where it has none. */
static enum vbs_status plan_us(struct vbs_ctx *ctx, const struct vbs_exercise *exercise,
                               const char *name, double *time_us)
{
    const struct vbs_problem problem = {.profile = exercise->profile,
                                        .request = exercise->request,
                                        .io = exercise->io,
                                        .weights = exercise->weights,
                                        .copy = exercise->copy};
    const struct vbs_planner *planner;
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *schedule = NULL;
    enum vbs_status status = vbs_planner_find(ctx, name, &planner);

    if (status == VBS_OK)
        status = vbs_solver_new(ctx, planner, &problem, NULL, &solver);
    if (status == VBS_OK)
        status = vbs_solver_plan(ctx, solver, exercise->memory_bytes, &schedule);
    if (status == VBS_OK)
        *time_us = schedule->predicted.time_us;
    if (status == VBS_INFEASIBLE) {
        *time_us = HUGE_VAL;
        status = VBS_OK;
    }
    vbs_schedule_free(schedule);
    vbs_solver_free(solver);
    return status;
}

/* Finds the times of a drawn problem, and whether it is worth solving: the optimum saves something
 * beside fbs-best; beside greedy-vbs, where the level wants that; and beside all schedules whose
 * weights stay in memory. */
static enum vbs_status examine(struct vbs_ctx *ctx, struct vbs_exercise *exercise, bool *good)
{
    bool beats_greedy = vbs_teach_beats_greedy(exercise->level);
    double limit_us, resident_us = HUGE_VAL;

    *good = false;
    VBS_TRY(plan_us(ctx, exercise, "fbs-best", &exercise->fbs_best_us));
    if (exercise->fbs_best_us == HUGE_VAL)
        return VBS_OK;
    VBS_TRY(plan_us(ctx, exercise, "greedy-vbs", &exercise->greedy_us));
    if (beats_greedy && exercise->greedy_us == HUGE_VAL)
        return VBS_OK;
    if (exercise->weights == VBS_WEIGHTS_INCLUDED)
        VBS_TRY(plan_us(ctx, exercise, "optimal", &resident_us));
    limit_us = (1 - LEAST_GAIN) * exercise->fbs_best_us;
    VBS_TRY(vbs_teach_optimum(ctx, exercise, limit_us, &exercise->optimum_us, NULL));
    *good = exercise->optimum_us < HUGE_VAL && exercise->optimum_us < resident_us &&
            (!beats_greedy || exercise->optimum_us < exercise->greedy_us);
    return VBS_OK;
}

static enum vbs_status check_seed(struct vbs_ctx *ctx, int level, int64_t seed)
{
    if (level < 1 || level > VBS_EXERCISE_LEVELS)
        return vbs_fail(ctx, VBS_USAGE, "there is no level %d; levels go from 1 to %d", level,
                        VBS_EXERCISE_LEVELS);
    if (seed < 0 || seed > VBS_MAX_EXERCISE_SEED)
        return vbs_fail(ctx, VBS_USAGE,
                        "seed %" PRId64 " is out of range; it goes from 0 to %" PRId64, seed,
                        VBS_MAX_EXERCISE_SEED);
    return VBS_OK;
}

enum vbs_status vbs_exercise_new(struct vbs_ctx *ctx, int level, int64_t seed,
                                 struct vbs_exercise **exercise)
{
    struct vbs_exercise drawn = {0};
    bool good = false;
    enum vbs_status status = check_seed(ctx, level, seed);

    for (int attempt = 0; attempt < MOST_ATTEMPTS && status == VBS_OK && !good; attempt++) {
        vbs_profile_free(drawn.profile);
        drawn.profile = NULL;
        status = vbs_teach_draw(ctx, level, seed, attempt, &drawn);
        if (status == VBS_OK)
            status = examine(ctx, &drawn, &good);
    }
    if (status == VBS_OK && !good)
        status =
            vbs_fail(ctx, VBS_LIBRARY,
                     "no problem of level %d and seed %" PRId64 " is worth solving", level, seed);
    if (status == VBS_OK) {
        struct vbs_exercise *made = malloc(sizeof *made);

        if (made) {
            *made = drawn;
            *exercise = made;
            return VBS_OK;
        }
        status = vbs_no_memory(ctx);
    }
    vbs_profile_free(drawn.profile);
    return status;
}

void vbs_exercise_free(struct vbs_exercise *exercise)
{
    if (!exercise)
        return;
    vbs_profile_free(exercise->profile);
    free(exercise);
}

/* ---- schedules of an exercise ---- */

/* The names of the layers of a schedule, [1..n_layers]. */
struct layer_names {
    const char *of[TEACH_LAYERS + 1];
};

/* Makes the schedule of an exercise from steps with the profile's algorithms. */
static enum vbs_status make(struct vbs_ctx *ctx, const struct vbs_exercise *exercise,
                            const char *planner, const struct teach_path *path,
                            struct vbs_schedule **schedule)
{
    const struct vbs_profile *profile = exercise->profile;
    struct layer_names names = {{NULL}};
    char hash[VBS_PROFILE_HASH_SIZE];
    struct vbs_schedule draft = {
        .model = profile->provenance.model,
        .planner = planner,
        .request = exercise->request,
        .memory_bytes = exercise->memory_bytes,
        .io = exercise->io,
        .weights = exercise->weights,
        .copy = exercise->copy,
        .n_layers = profile->n_layers,
        .layer_names = names.of,
        .n_algorithms = profile->n_algorithms,
        .algorithms = profile->algorithms,
        .n_steps = path->n_steps,
        .steps = path->steps,
        .provenance = {.hash = hash},
    };

    struct vbs_replay *replay = NULL;

    VBS_TRY(vbs_replay_run(ctx, profile, &draft, exercise->memory_bytes, false, &replay));
    draft.predicted.time_us = replay->time_us;
    draft.predicted.latency_us = replay->latency_us;
    draft.predicted.peak_bytes = draft.predicted.reserved_bytes = replay->peak_bytes;
    draft.predicted.copy_us = replay->copy_us;
    draft.predicted.copied_bytes = replay->copied_bytes;
    draft.predicted.resident_bytes = replay->resident_bytes;
    vbs_replay_free(replay);
    vbs_profile_hash(profile, hash);
    for (int k = 1; k <= profile->n_layers; k++)
        names.of[k] = profile->layers[k].name;
    return vbs_schedule_copy(ctx, &draft, schedule);
}

enum vbs_status vbs_exercise_start(struct vbs_ctx *ctx, const struct vbs_exercise *exercise,
                                   struct vbs_schedule **schedule)
{
    struct teach_path path = {0};
    unsigned weighted = vbs_teach_weighted(exercise);

    for (int k = 1; k <= exercise->profile->n_layers; k++)
        if (weighted & 1U << (k - 1))
            path.steps[path.n_steps++] = vbs_teach_transfer(exercise, VBS_STEP_LOAD, k, true);
    for (int64_t sample = 0; sample < exercise->request; sample++)
        for (int k = 1; k <= exercise->profile->n_layers; k++)
            path.steps[path.n_steps++] = (struct vbs_step){.layer = k, .batch = 1};
    return make(ctx, exercise, "start", &path, schedule);
}

enum vbs_status vbs_exercise_solution(struct vbs_ctx *ctx, const struct vbs_exercise *exercise,
                                      struct vbs_schedule **schedule)
{
    struct teach_path path = {0};
    double time_us;

    VBS_TRY(vbs_teach_optimum(ctx, exercise, HUGE_VAL, &time_us, &path));
    return make(ctx, exercise, "solution", &path, schedule);
}

/* Reads digits at *text, without zeros before them, and moves *text behind them. */
static bool read_number(const char **text, int64_t most, int64_t *number)
{
    const char *at = *text;
    int64_t value = 0;

    if (*at < '0' || *at > '9' || (*at == '0' && at[1] >= '0' && at[1] <= '9'))
        return false;
    for (; *at >= '0' && *at <= '9'; at++) {
        value = 10 * value + (*at - '0');
        if (value > most)
            return false;
    }
    *text = at;
    *number = value;
    return true;
}

enum vbs_status vbs_exercise_of(struct vbs_ctx *ctx, const struct vbs_schedule *schedule,
                                int *level, int64_t *seed)
{
    static const char PREFIX[] = "exercise-";
    const char *at = schedule->model ? schedule->model : "";
    int64_t level_read = 0, seed_read = 0;

    if (strncmp(at, PREFIX, sizeof PREFIX - 1) == 0) {
        at += sizeof PREFIX - 1;
        if (read_number(&at, VBS_EXERCISE_LEVELS, &level_read) && level_read > 0 && *at++ == '-' &&
            read_number(&at, VBS_MAX_EXERCISE_SEED, &seed_read) && *at == '\0') {
            *level = (int)level_read;
            *seed = seed_read;
            return VBS_OK;
        }
    }
    return vbs_fail(ctx, VBS_INVALID,
                    "it answers no exercise: its 'model' is \"%.100s\", that of an answer is "
                    "\"exercise-LEVEL-SEED\"",
                    schedule->model ? schedule->model : "");
}
