/*
 * The plans of a race: solvers, the executors of the schedules, and the plans of the baselines, of
 * which the fastest is a contender.
 */
#include "learn/race.h"

#include "base/fail.h"
#include "base/grow.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#define MOST_OPEN  3      /* executors, each of which packs its weights */
#define SPARED     0.25   /* of the free memory for the packed weights of an executor */
#define MOST_STEPS 200000 /* of a schedule: times of steps are kept */

/* ---- Contenders ---- */

/* Returns how many executors may be open at once. */
static int most_open(const struct race *race)
{
    double free_bytes = (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    double bytes = (double)vbs_profile_weight_bytes(race->l->profile) + (double)race->memory_bytes;

    if (race->l->backend->device) /* what is free of its memory is not known */
        return 2;
    return free_bytes > 0 && bytes > SPARED * free_bytes ? 2 : MOST_OPEN;
}

/* Closes executors, the slowest first, until one more may be opened. The first contender and the
 * best two stay. */
static enum vbs_status make_room(struct race *race)
{
    int most = most_open(race), n_open = 0, best, baseline;

    for (int i = 0; i < race->n; i++)
        n_open += race->contenders[i].exec != NULL;
    VBS_TRY(race_find_best(race, false, &best));
    VBS_TRY(race_find_best(race, true, &baseline));
    for (bool closed = true; n_open >= most && closed;) {
        double worst = 0, multiple;
        int which = -1;

        for (int i = 1; i < race->n; i++) {
            if (!race->contenders[i].exec || (most > 2 && (i == best || i == baseline)))
                continue;
            VBS_TRY(race_score(race, i, &multiple));
            if (multiple >= worst) {
                worst = multiple;
                which = i;
            }
        }
        closed = which >= 0;
        if (closed) {
            learn_contender_close(&race->contenders[which]);
            n_open--;
        }
    }
    return VBS_OK;
}

static struct vbs_exec_options exec_options(const struct race *race)
{
    return (struct vbs_exec_options){.struct_size = sizeof(struct vbs_exec_options),
                                     .threads = race->l->options.threads,
                                     .memory_bytes = race->memory_bytes,
                                     .place_limit_s = VBS_REPLAN_PLACE_S,
                                     .folder = race->l->options.folder,
                                     .direct = race->l->options.direct,
                                     .trace = !race->l->backend->device};
}

enum vbs_status race_open_again(struct race *race, int which)
{
    struct contender *contender = &race->contenders[which];
    struct vbs_exec_options options = exec_options(race);

    if (contender->exec)
        return VBS_OK;
    options.placed = contender->placed;
    VBS_TRY(make_room(race));
    VBS_TRY(vbs_exec_new(race->l->ctx, race->l->network, race->l->backend, race->l->profile,
                         contender->schedule, &options, NULL, &contender->exec));
    return learn_contender_run(race->l->ctx, contender, 0, false);
}

/* Returns the number of the contender with these steps, or -1. */
static int find_same(const struct race *race, const struct vbs_schedule *schedule)
{
    for (int i = 0; i < race->n; i++)
        if (vbs_schedule_same_steps(race->contenders[i].schedule, schedule))
            return i;
    return -1;
}

/* A planner's solver on a profile. */
struct race_plan {
    const struct vbs_planner *planner;
    const struct vbs_profile *profile;
    struct vbs_solver *solver;
    double time_us; /* of the first plan */
};

/* Returns the planner if it is one of the baselines, else null. */
static const struct vbs_planner *as_baseline(const struct race *race,
                                             const struct vbs_planner *planner)
{
    for (int i = 0; i < race->l->n_baselines; i++)
        if (race->l->baselines[i] == planner)
            return planner;
    return NULL;
}

/* Notes that a contender is a plan of this planner, too. */
static void mark(struct race *race, int which, const struct vbs_planner *planner)
{
    if (!race->contenders[which].baseline)
        race->contenders[which].baseline = as_baseline(race, planner);
}

static enum vbs_status add(struct race *race, struct vbs_replanned *made,
                           const struct vbs_planner *planner)
{
    struct contender contender = {.schedule = made->schedule,
                                  .exec = made->exec,
                                  .placed = made->placed,
                                  .baseline = as_baseline(race, planner)};
    enum vbs_status status = vbs_grow(race->l->ctx, &race->contenders, &race->capacity,
                                      (int64_t)race->n + 1, sizeof *race->contenders);

    if (status == VBS_OK && race->l->backend->device)
        status = learn_profile_steps(race->l->ctx, race->l->profile, &contender);
    if (status == VBS_OK)
        status = learn_contender_run(race->l->ctx, &contender, 0, false);
    if (status != VBS_OK) {
        learn_contender_clear(&contender);
        return status;
    }
    race->contenders[race->n++] = contender;
    return VBS_OK;
}

static enum vbs_status make_solver(struct race *race, struct race_plan *planning)
{
    const struct vbs_problem problem = learn_problem(race->l, planning->profile);
    const struct vbs_solver_options how = {.struct_size = sizeof how,
                                           .most_bytes = race->memory_bytes};

    return vbs_solver_new(race->l->ctx, planning->planner, &problem, &how, &planning->solver);
}

/* Makes the planner's first plan. *same: the number of the contender with its steps, or -1.
 * VBS_INFEASIBLE: there is none, or it has too many steps. */
static enum vbs_status plan_first(struct race *race, struct race_plan *planning, int *same)
{
    struct vbs_schedule *schedule = NULL;

    VBS_TRY(make_solver(race, planning));
    VBS_TRY(vbs_solver_plan(race->l->ctx, planning->solver, race->memory_bytes, &schedule));
    planning->time_us = schedule->predicted.time_us;
    *same = schedule->n_steps <= MOST_STEPS ? find_same(race, schedule) : race->n;
    vbs_schedule_free(schedule);
    return *same == race->n ? VBS_INFEASIBLE : VBS_OK;
}

/* Keeps the predictions of the newest contender and of the first. */
static enum vbs_status predict(struct race *race)
{
    const struct learning *l = race->l;
    const struct observations *settled = &l->settled;
    struct contender *newest = &race->contenders[race->n - 1];
    struct observations executed = {.n_rows = race->seen.n_rows + settled->n_rows};

    if (race->n == 1 || l->options.weights == VBS_WEIGHTS_INCLUDED)
        return VBS_OK;
    executed.rows = malloc(((size_t)executed.n_rows + 1) * sizeof *executed.rows);
    if (!executed.rows)
        return vbs_no_memory(l->ctx);
    for (int i = 0; i < executed.n_rows; i++)
        executed.rows[i] =
            i < race->seen.n_rows ? race->seen.rows[i] : settled->rows[i - race->seen.n_rows];
    learn_sort_executed(&executed);
    newest->predicted = learn_predict(l->posterior, newest->schedule, &executed, l->unproven);
    newest->predicted_base =
        learn_predict(l->posterior, race->contenders[0].schedule, &executed, l->unproven);
    free(executed.rows);
    return VBS_OK;
}

/* Executes the first plan, which is new, or one for less memory that can be placed. */
static enum vbs_status execute_plan(struct race *race, const struct race_plan *planning,
                                    int *outcome, bool *is_new)
{
    struct vbs_exec_options options = exec_options(race);
    struct vbs_replanned made = {0};

    VBS_TRY(make_room(race));
    VBS_TRY(vbs_replan_exec(race->l->ctx, planning->solver, race->l->network, race->l->backend,
                            race->l->profile, &options, &made));
    *outcome = find_same(race, made.schedule);
    if (*outcome >= 0) {
        mark(race, *outcome, planning->planner);
        vbs_exec_free(made.exec);
        vbs_exec_placed_free(made.placed);
        vbs_schedule_free(made.schedule);
        return VBS_OK;
    }
    VBS_TRY(add(race, &made, planning->planner));
    if (planning->profile == race->l->posterior)
        VBS_TRY(predict(race));
    *outcome = race->n - 1;
    *is_new = true;
    return VBS_OK;
}

/* Takes an answer to the question for a plan: there may be none, or none that can be executed, or
 * none for which a device has enough memory beside the other open executors. */
static enum vbs_status accept(const struct race *race, enum vbs_status status, int *outcome)
{
    bool is_full = status == VBS_NO_MEMORY && race->l->backend->device;

    if (status != VBS_INFEASIBLE && status != VBS_UNSUPPORTED && !is_full)
        return status;
    *outcome = -1;
    return VBS_OK;
}

enum vbs_status race_plan(struct race *race, const struct vbs_profile *profile, int *outcome,
                          bool *is_new)
{
    struct race_plan planning = {.planner = race->l->planner, .profile = profile};
    double begin_s = race_now_s(race);
    enum vbs_status status;

    race_report(race, "planning");
    status = plan_first(race, &planning, outcome);
    if (race->first_predicted_us == 0)
        race->first_predicted_us = planning.time_us;
    if (status == VBS_OK && *outcome >= 0)
        mark(race, *outcome, planning.planner);
    else if (status == VBS_OK)
        status = execute_plan(race, &planning, outcome, is_new);
    vbs_solver_free(planning.solver);
    race->planning_s = fmax(race->planning_s, race_now_s(race) - begin_s);
    return accept(race, status, outcome);
}

/* ---- Baselines ---- */

/* The plans of the baselines that have one. */
struct baselines {
    struct race_plan made[LEARN_BASELINES];
    int same[LEARN_BASELINES]; /* the contenders of these plans; -1: none yet */
    int n;
};

/* Makes the first plans of all baselines, the fastest first. */
static enum vbs_status plan_baselines(struct race *race, struct baselines *baselines)
{
    for (int i = 0; i < race->l->n_baselines; i++) {
        struct race_plan own = {.planner = race->l->baselines[i], .profile = race->l->posterior};
        int same = -1, at = baselines->n;
        enum vbs_status status = plan_first(race, &own, &same);

        if (status != VBS_OK) {
            vbs_solver_free(own.solver);
            VBS_TRY(accept(race, status, &same));
            continue;
        }
        for (; at > 0 && baselines->made[at - 1].time_us > own.time_us; at--) {
            baselines->made[at] = baselines->made[at - 1];
            baselines->same[at] = baselines->same[at - 1];
        }
        baselines->made[at] = own;
        baselines->same[at] = same;
        baselines->n++;
    }
    return VBS_OK;
}

enum vbs_status race_plan_baseline(struct race *race, bool *is_new)
{
    struct baselines baselines = {.n = 0};
    double begin_s = race_now_s(race);
    int outcome = -1;
    enum vbs_status status;

    race_report(race, "planning baselines");
    status = plan_baselines(race, &baselines);
    for (int i = 0; i < baselines.n && status == VBS_OK && outcome < 0; i++) {
        outcome = baselines.same[i];
        if (outcome >= 0)
            mark(race, outcome, baselines.made[i].planner);
        else
            status =
                accept(race, execute_plan(race, &baselines.made[i], &outcome, is_new), &outcome);
    }
    for (int i = 0; i < baselines.n; i++)
        vbs_solver_free(baselines.made[i].solver);
    race->planning_s = fmax(race->planning_s, race_now_s(race) - begin_s);
    return status;
}
