/*
 * The schedules of one budget. First those of the planner and of the baselines are executed by
 * turns, and both plan anew on the corrected profile, until neither has a schedule that was not
 * executed. Of several baselines, that one plans whose plan takes the least time by the profile as
 * it is then known. Then plans on times that are drawn from their distribution are tried, which are
 * other schedules only where much is uncertain (Thompson sampling: Thompson 1933; of combinations:
 * Chen, Wang, Yuan 2013). In the end the fastest and the fastest baseline race until it is clear
 * which is faster.
 */
#include "learn/learn.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/grow.h"
#include "vbslab/units.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TURNS_EACH     3   /* of all open contenders after each new one */
#define LEAST_S        1.0 /* of the last two, whose requests then meet the states of the machine */
#define LEAST_TURNS    6   /* of the last two: fewer times have no interval */
#define MOST_OPEN      3   /* executors, each of which packs its weights */
#define MOST_SCHEDULES 24
#define EXPLORED       0.7    /* share of the budget's time after which no schedule is added */
#define MOST_DRAWS     4      /* that lead to no new schedule, one after the other */
#define TELLING        0.005  /* half of an interval of a ratio that needs no more turns */
#define SPARED         0.25   /* of the free memory for the packed weights of an executor */
#define MOST_STEPS     200000 /* of a schedule: times of steps are kept */

struct race {
    struct learning *l;
    int64_t memory_bytes;
    struct contender *contenders; /* number 0 stays open as long as others are */
    int n;
    int64_t capacity, apart_capacity;
    int turn;
    bool *apart; /* [turn + 1] */
    double begin_s, end_s;
    double planning_s; /* the longest planning and preparing of a schedule */
    double first_predicted_us;
    bool stands;
};

static double now_s(const struct race *race)
{
    return vbs_clock_s() - race->l->start_s;
}

/* Tells that share of the budget's time has passed. */
static void report(const struct race *race, const char *what)
{
    const struct vbs_progress *progress = &race->l->options.progress;
    double now = now_s(race), limit = race->l->options.time_limit_s;
    char text[VBS_DETAIL_SIZE], budget[32];

    if (!progress->report)
        return;
    snprintf(text, sizeof text, "%s in %s: %s", race->l->profile->provenance.model,
             vbs_format_bytes(race->memory_bytes, budget, sizeof budget), what);
    progress->report(progress->self, fmin(1, now / limit), fmax(0, limit - now), text);
}

/* ---- Which is faster ---- */

/* Returns the contender's time as a multiple of that of number 0, from the turns of both; where
 * there are none, that of the medians. */
static enum vbs_status score(const struct race *race, int which, double *multiple)
{
    struct vbs_profile_row ratio = {0}, time = {0}, other = {0};
    const struct contender *contender = &race->contenders[which];

    VBS_TRY(learn_contender_ratio(race->l->ctx, contender, &race->contenders[0], &ratio));
    *multiple = ratio.time_us;
    if (ratio.n_runs > 0)
        return VBS_OK;
    VBS_TRY(learn_contender_time(race->l->ctx, contender, &time));
    VBS_TRY(learn_contender_time(race->l->ctx, &race->contenders[0], &other));
    *multiple = time.n_runs > 0 && other.time_us > 0 ? time.time_us / other.time_us : HUGE_VAL;
    return VBS_OK;
}

/* Finds the fastest contender, or the fastest baseline; -1: there is none. */
static enum vbs_status find_best(const struct race *race, bool baselines_only, int *best)
{
    double least = HUGE_VAL;

    *best = -1;
    for (int i = 0; i < race->n; i++) {
        double multiple;

        if ((baselines_only && !race->contenders[i].baseline) || race->contenders[i].n_runs == 0)
            continue;
        VBS_TRY(score(race, i, &multiple));
        if (multiple < least) {
            least = multiple;
            *best = i;
        }
    }
    return VBS_OK;
}

/* ---- Contenders ---- */

/* Returns how many executors may be open at once. */
static int most_open(const struct race *race)
{
    double free_bytes = (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    double bytes = (double)vbs_profile_weight_bytes(race->l->profile) + (double)race->memory_bytes;

    return free_bytes > 0 && bytes > SPARED * free_bytes ? 2 : MOST_OPEN;
}

/* Closes executors, the slowest first, until one more may be opened. The first contender and the
 * best two stay. */
static enum vbs_status make_room(struct race *race)
{
    int most = most_open(race), n_open = 0, best, baseline;

    for (int i = 0; i < race->n; i++)
        n_open += race->contenders[i].exec != NULL;
    VBS_TRY(find_best(race, false, &best));
    VBS_TRY(find_best(race, true, &baseline));
    for (bool closed = true; n_open >= most && closed;) {
        double worst = 0, multiple;
        int which = -1;

        for (int i = 1; i < race->n; i++) {
            if (!race->contenders[i].exec || (most > 2 && (i == best || i == baseline)))
                continue;
            VBS_TRY(score(race, i, &multiple));
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
                                     .trace = true};
}

/* Opens the executor of a contender that was closed. */
static enum vbs_status open_again(struct race *race, int which)
{
    struct contender *contender = &race->contenders[which];
    struct vbs_exec_options options = exec_options(race);

    if (contender->exec)
        return VBS_OK;
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
    struct contender contender = {
        .schedule = made->schedule, .exec = made->exec, .baseline = as_baseline(race, planner)};
    enum vbs_status status = vbs_grow(race->l->ctx, &race->contenders, &race->capacity,
                                      (int64_t)race->n + 1, sizeof *race->contenders);

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

static enum vbs_status observe(const struct race *race, struct observations *observations)
{
    const struct turns turns = {.contenders = race->contenders,
                                .n = race->n,
                                .last = race->turn,
                                .apart = race->apart,
                                .number = race->l->n_races};

    return learn_observe(race->l->ctx, race->l->profile, &turns, observations);
}

/* Keeps the predictions of the newest contender and of the first. */
static enum vbs_status predict(struct race *race)
{
    const struct learning *l = race->l;
    struct contender *newest = &race->contenders[race->n - 1];
    struct observations executed = {0};
    enum vbs_status status;

    if (race->n == 1 || l->options.weights == VBS_WEIGHTS_INCLUDED)
        return VBS_OK;
    status = observe(race, &executed);
    if (status == VBS_OK)
        status = vbs_grow(l->ctx, &executed.rows, &executed.capacity,
                          (int64_t)executed.n_rows + l->settled.n_rows, sizeof *executed.rows);
    for (int i = 0; i < l->settled.n_rows && status == VBS_OK; i++)
        executed.rows[executed.n_rows++] = l->settled.rows[i];
    learn_sort_executed(&executed);
    if (status == VBS_OK) {
        const struct vbs_schedule *first = race->contenders[0].schedule;

        newest->predicted = learn_predict(l->posterior, newest->schedule, &executed, l->unproven);
        newest->predicted_base = learn_predict(l->posterior, first, &executed, l->unproven);
    }
    free(executed.rows);
    return status;
}

/* Executes the first plan, which is new, or one for less memory that can be placed. */
static enum vbs_status execute_plan(struct race *race, const struct race_plan *planning,
                                    int *outcome, bool *is_new)
{
    struct vbs_exec_options options = exec_options(race);
    struct vbs_replanned made = {0};

    VBS_TRY(make_room(race));
    VBS_TRY(vbs_replan_exec(race->l->ctx, planning->solver, race->l->network, race->l->backend,
                            planning->profile, &options, &made));
    *outcome = find_same(race, made.schedule);
    if (*outcome >= 0) {
        mark(race, *outcome, planning->planner);
        vbs_exec_free(made.exec);
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

/* Takes an answer to the question for a plan: there may be none, or none that can be executed. */
static enum vbs_status accept(enum vbs_status status, int *outcome)
{
    if (status != VBS_INFEASIBLE && status != VBS_UNSUPPORTED)
        return status;
    *outcome = -1;
    return VBS_OK;
}

/* Plans, and executes the plan where it is new. *outcome: the number of the plan's contender, or -1
 * where there is no plan that can be placed; *is_new: it was added. */
static enum vbs_status plan(struct race *race, const struct vbs_profile *profile, int *outcome,
                            bool *is_new)
{
    struct race_plan planning = {.planner = race->l->planner, .profile = profile};
    double begin_s = now_s(race);
    enum vbs_status status;

    report(race, "planning");
    status = plan_first(race, &planning, outcome);
    if (race->first_predicted_us == 0)
        race->first_predicted_us = planning.time_us;
    if (status == VBS_OK && *outcome >= 0)
        mark(race, *outcome, planning.planner);
    else if (status == VBS_OK)
        status = execute_plan(race, &planning, outcome, is_new);
    vbs_solver_free(planning.solver);
    race->planning_s = fmax(race->planning_s, now_s(race) - begin_s);
    return accept(status, outcome);
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
            VBS_TRY(accept(status, &same));
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

/* Executes the fastest plan of the baselines that can be placed, where it is new. */
static enum vbs_status plan_baseline(struct race *race, bool *is_new)
{
    struct baselines baselines = {.n = 0};
    double begin_s = now_s(race);
    int outcome = -1;
    enum vbs_status status;

    report(race, "planning baselines");
    status = plan_baselines(race, &baselines);
    for (int i = 0; i < baselines.n && status == VBS_OK && outcome < 0; i++) {
        outcome = baselines.same[i];
        if (outcome >= 0)
            mark(race, outcome, baselines.made[i].planner);
        else
            status = accept(execute_plan(race, &baselines.made[i], &outcome, is_new), &outcome);
    }
    for (int i = 0; i < baselines.n; i++)
        vbs_solver_free(baselines.made[i].solver);
    race->planning_s = fmax(race->planning_s, now_s(race) - begin_s);
    return status;
}

/* ---- Turns ---- */

/* Returns whether the machine is in another state than when the profile was measured. */
static bool is_apart(const struct race *race, int which)
{
    const struct vbs_session *session = vbs_exec_session(race->contenders[which].exec);

    return vbs_cache_watch_look(&race->l->cache, session) != VBS_CACHE_USUAL;
}

/* Begins a turn. */
static enum vbs_status begin_turn(struct race *race)
{
    race->turn++;
    VBS_TRY(vbs_grow(race->l->ctx, &race->apart, &race->apart_capacity, (int64_t)race->turn + 1,
                     sizeof *race->apart));
    race->apart[race->turn] = false;
    return VBS_OK;
}

/* Runs the open contenders once each, in an order by chance. */
static enum vbs_status run_turn(struct race *race)
{
    int order[MOST_SCHEDULES + 2], n = 0;

    for (int i = 0; i < race->n; i++)
        if (race->contenders[i].exec)
            order[n++] = i;
    gsl_ran_shuffle(&race->l->rng, order, (size_t)n, sizeof *order);
    VBS_TRY(begin_turn(race));
    for (int i = 0; i < n; i++) {
        bool *apart = &race->apart[race->turn];

        *apart = is_apart(race, order[i]) || *apart;
        VBS_TRY(learn_contender_run(race->l->ctx, &race->contenders[order[i]], race->turn, true));
        *apart = is_apart(race, order[i]) || *apart;
        race->l->result->n_runs++;
    }
    report(race, "running");
    return VBS_OK;
}

static enum vbs_status run_turns(struct race *race, int n)
{
    for (int i = 0; i < n; i++)
        VBS_TRY(run_turn(race));
    return VBS_OK;
}

/* ---- Learning ---- */

static enum vbs_status correct(struct race *race, bool draws, struct vbs_profile **made)
{
    struct observations more = {0};
    struct learn_outcomes outcomes = race->l->outcomes;
    enum vbs_status status = learn_add_outcomes(race->l->ctx, race->contenders, race->n, &outcomes);

    if (!draws)
        race->l->unproven = learn_unproven_factor(&outcomes);
    if (status == VBS_OK)
        status = observe(race, &more);
    if (status == VBS_OK)
        status = learn_posterior(race->l, &more, draws, made);
    free(more.rows);
    return status;
}

static enum vbs_status renew_posterior(struct race *race)
{
    struct vbs_profile *made;

    VBS_TRY(correct(race, false, &made));
    vbs_profile_free(race->l->posterior);
    race->l->posterior = made;
    return VBS_OK;
}

static bool may_add(const struct race *race)
{
    return race->n < MOST_SCHEDULES && now_s(race) + race->planning_s <
                                           race->begin_s + EXPLORED * (race->end_s - race->begin_s);
}

/* Plans until the plans stand. */
static enum vbs_status settle(struct race *race)
{
    bool is_new = true;

    while (is_new) {
        int own;

        is_new = false;
        VBS_TRY(plan_baseline(race, &is_new));
        VBS_TRY(plan(race, race->l->posterior, &own, &is_new));
        race->stands = !is_new && own >= 0;
        if (!is_new)
            break;
        VBS_TRY(run_turns(race, TURNS_EACH));
        if (!may_add(race))
            break;
        VBS_TRY(renew_posterior(race));
    }
    return VBS_OK;
}

/* Tries a plan on drawn times. */
static enum vbs_status try_draw(struct race *race, bool *is_new)
{
    struct vbs_profile *drawn;
    int outcome;
    enum vbs_status status;

    *is_new = false;
    VBS_TRY(correct(race, true, &drawn));
    status = plan(race, drawn, &outcome, is_new);
    vbs_profile_free(drawn);
    if (status != VBS_OK || !*is_new)
        return status;
    VBS_TRY(run_turns(race, TURNS_EACH));
    VBS_TRY(renew_posterior(race));
    return settle(race);
}

static enum vbs_status explore(struct race *race)
{
    for (int n_known = 0; n_known < MOST_DRAWS && may_add(race);) {
        bool is_new;

        VBS_TRY(try_draw(race, &is_new));
        n_known = is_new ? 0 : n_known + 1;
    }
    return VBS_OK;
}

/* Returns whether half of an interval is at most this share of the value. */
static bool is_within(const struct vbs_profile_row *row, double share)
{
    return row->high_us - row->low_us <= 2 * share * row->time_us;
}

/* Sets whether the best two have run enough: it is known which is faster, or, where a precision is
 * asked for, how much and how long. ratio: of the best to the baseline; where they are one, 1 with
 * the number of its runs. */
static enum vbs_status is_decided(const struct race *race, int best,
                                  const struct vbs_profile_row *ratio, bool *decided)
{
    double until = race->l->options.until;
    struct vbs_profile_row time;

    VBS_TRY(learn_contender_time(race->l->ctx, &race->contenders[best], &time));
    *decided = until > 0 ? is_within(ratio, until) && is_within(&time, until)
                         : ratio->high_us < 1 || ratio->low_us > 1 || is_within(ratio, TELLING);
    return VBS_OK;
}

/* Closes all but the best two, and opens these. */
static enum vbs_status keep_best(struct race *race, int best, int baseline)
{
    for (int i = 0; i < race->n; i++)
        if (i != best && i != baseline)
            learn_contender_close(&race->contenders[i]);
    VBS_TRY(open_again(race, best));
    return baseline >= 0 ? open_again(race, baseline) : VBS_OK;
}

/* Runs the best two by turns, until they have enough turns and it is clear which is faster, or the
 * time is up. */
static enum vbs_status decide(struct race *race)
{
    double begin_s = now_s(race);

    for (;;) {
        struct vbs_profile_row ratio = {.time_us = 1, .low_us = 1, .high_us = 1};
        int best, baseline;
        bool decided;

        VBS_TRY(find_best(race, false, &best));
        VBS_TRY(find_best(race, true, &baseline));
        if (best < 0)
            return VBS_OK;
        VBS_TRY(keep_best(race, best, baseline));
        if (baseline >= 0 && baseline != best)
            VBS_TRY(learn_contender_ratio(race->l->ctx, &race->contenders[best],
                                          &race->contenders[baseline], &ratio));
        else
            ratio.n_runs = race->contenders[best].n_runs;
        VBS_TRY(is_decided(race, best, &ratio, &decided));
        decided = decided && now_s(race) >= begin_s + LEAST_S;
        if (ratio.n_runs >= LEAST_TURNS && (decided || now_s(race) >= race->end_s))
            return VBS_OK;
        VBS_TRY(run_turn(race));
    }
}

/* ---- The result ---- */

/* Finds the answer and the fastest baseline; -1: there is none. The fastest is found by ratios to
 * number 0, which need not be that baseline: the two are compared at last, so that no answer is
 * slower than the baseline. */
static enum vbs_status find_answer(const struct race *race, int *best, int *baseline)
{
    struct vbs_profile_row ratio = {0};

    VBS_TRY(find_best(race, false, best));
    VBS_TRY(find_best(race, true, baseline));
    if (*baseline < 0 || *baseline == *best)
        return VBS_OK;
    VBS_TRY(learn_contender_ratio(race->l->ctx, &race->contenders[*best],
                                  &race->contenders[*baseline], &ratio));
    if (ratio.n_runs > 0 && ratio.time_us > 1)
        *best = *baseline;
    return VBS_OK;
}

static enum vbs_status describe(struct race *race, struct vbs_learned_budget *learned)
{
    struct vbs_profile_row time = {0}, other = {0},
                           ratio = {.time_us = 1, .low_us = 1, .high_us = 1};
    int best, baseline;

    VBS_TRY(find_answer(race, &best, &baseline));
    learned->n_schedules = race->n;
    learned->first_predicted_us = race->first_predicted_us;
    learned->stands = race->stands;
    if (best < 0)
        return VBS_OK;
    VBS_TRY(learn_contender_time(race->l->ctx, &race->contenders[best], &time));
    other.time_us = other.low_us = other.high_us = NAN;
    if (baseline >= 0)
        VBS_TRY(learn_contender_time(race->l->ctx, &race->contenders[baseline], &other));
    if (baseline >= 0 && baseline != best)
        VBS_TRY(learn_contender_ratio(race->l->ctx, &race->contenders[best],
                                      &race->contenders[baseline], &ratio));
    else if (baseline < 0)
        ratio.time_us = ratio.low_us = ratio.high_us = NAN;
    learned->n_turns = baseline >= 0 && baseline != best ? ratio.n_runs : time.n_runs;
    learned->is_baseline = race->contenders[best].baseline != NULL;
    learned->baseline = baseline >= 0 ? race->contenders[baseline].baseline : NULL;
    learned->time_us = time.time_us;
    learned->low_us = time.low_us;
    learned->high_us = time.high_us;
    learned->baseline_us = other.time_us;
    learned->baseline_low_us = other.low_us;
    learned->baseline_high_us = other.high_us;
    learned->ratio = ratio.time_us;
    learned->ratio_low = ratio.low_us;
    learned->ratio_high = ratio.high_us;
    learned->schedule = race->contenders[best].schedule;
    race->contenders[best].schedule = NULL;
    return VBS_OK;
}

static enum vbs_status run_race(struct race *race)
{
    VBS_TRY(settle(race));
    if (race->n == 0)
        return VBS_OK;
    VBS_TRY(explore(race));
    VBS_TRY(decide(race));
    VBS_TRY(renew_posterior(race));
    VBS_TRY(learn_add_outcomes(race->l->ctx, race->contenders, race->n, &race->l->outcomes));
    return observe(race, &race->l->settled);
}

enum vbs_status learn_race(struct learning *learning, double end_s,
                           struct vbs_learned_budget *learned)
{
    struct race race = {.l = learning, .memory_bytes = learned->memory_bytes, .end_s = end_s};
    enum vbs_status status;

    race.begin_s = now_s(&race);
    learned->tried = true;
    status = run_race(&race);
    if (status == VBS_OK)
        status = describe(&race, learned);
    learning->result->n_schedules += race.n;
    learning->n_races++;
    for (int i = 0; i < race.n; i++)
        learn_contender_clear(&race.contenders[i]);
    free(race.contenders);
    free(race.apart);
    return status;
}
