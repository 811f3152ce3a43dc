/*
 * The schedules of one budget. First those of the planner and of the baselines are executed by
 * turns, and both plan anew on the corrected profile, until neither has a schedule that was not
 * executed. Of several baselines, that one plans whose plan takes the least time by the profile as
 * it is then known. Then plans on times that are drawn from their distribution are tried, which are
 * other schedules only where much is uncertain (Thompson sampling: Thompson 1933; of combinations:
 * Chen, Wang, Yuan 2013). In the end the fastest and the fastest baseline race until it is clear
 * which is faster.
 */
#include "learn/race.h"

#include "base/fail.h"
#include "base/grow.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>

#define TURNS_EACH  3     /* of all open contenders after each new one */
#define LEAST_S     1.0   /* of the last two, whose requests then meet the states of the machine */
#define LEAST_TURNS 6     /* of the last two: fewer times have no interval */
#define EXPLORED    0.7   /* share of the budget's time after which no schedule is added */
#define MOST_DRAWS  4     /* that lead to no new schedule, one after the other */
#define TELLING     0.005 /* half of an interval of a ratio that needs no more turns */

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
    int order[RACE_SCHEDULES + 2], n = 0;

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
    race_report(race, "running");
    return VBS_OK;
}

static enum vbs_status run_turns(struct race *race, int n)
{
    for (int i = 0; i < n; i++)
        VBS_TRY(run_turn(race));
    return VBS_OK;
}

/* ---- Learning ---- */

static enum vbs_status observe(const struct race *race, struct observations *observations)
{
    const struct turns turns = {.contenders = race->contenders,
                                .n = race->n,
                                .last = race->turn,
                                .apart = race->apart,
                                .number = race->l->n_races};

    return learn_observe(race->l->ctx, race->l->profile, &turns, observations);
}

/* Makes the posterior profile anew, of all turns so far. */
static enum vbs_status renew_posterior(struct race *race)
{
    struct learn_outcomes outcomes = race->l->outcomes;
    struct vbs_profile *made;

    VBS_TRY(learn_add_outcomes(race->l->ctx, race->contenders, race->n, &outcomes));
    race->l->unproven = learn_unproven_factor(&outcomes);
    race->seen.n_rows = 0;
    VBS_TRY(observe(race, &race->seen));
    VBS_TRY(learn_posterior(race->l, &race->seen, false, &made));
    vbs_profile_free(race->l->posterior);
    race->l->posterior = made;
    return VBS_OK;
}

static bool may_add(const struct race *race)
{
    return race->n < RACE_SCHEDULES && race_now_s(race) + race->planning_s <
                                           race->begin_s + EXPLORED * (race->end_s - race->begin_s);
}

/* Plans until the plans stand. */
static enum vbs_status settle(struct race *race)
{
    bool is_new = true;

    while (is_new) {
        int own;

        is_new = false;
        VBS_TRY(race_plan_baseline(race, &is_new));
        VBS_TRY(race_plan(race, race->l->posterior, &own, &is_new));
        if (race->first < 0)
            race->first = own;
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
    VBS_TRY(learn_posterior(race->l, &race->seen, true, &drawn));
    status = race_plan(race, drawn, &outcome, is_new);
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
    VBS_TRY(race_open_again(race, best));
    return baseline >= 0 ? race_open_again(race, baseline) : VBS_OK;
}

/* Runs the best two by turns, until they have enough turns and it is clear which is faster, or the
 * time is up. */
static enum vbs_status decide(struct race *race)
{
    double begin_s = race_now_s(race);

    for (;;) {
        struct vbs_profile_row ratio = {.time_us = 1, .low_us = 1, .high_us = 1};
        int best, baseline;
        bool decided;

        VBS_TRY(race_find_best(race, false, &best));
        VBS_TRY(race_find_best(race, true, &baseline));
        if (best < 0)
            return VBS_OK;
        VBS_TRY(keep_best(race, best, baseline));
        if (baseline >= 0 && baseline != best)
            VBS_TRY(learn_contender_ratio(race->l->ctx, &race->contenders[best],
                                          &race->contenders[baseline], &ratio));
        else
            ratio.n_runs = race->contenders[best].n_runs;
        VBS_TRY(is_decided(race, best, &ratio, &decided));
        decided = decided && race_now_s(race) >= begin_s + LEAST_S;
        if (ratio.n_runs >= LEAST_TURNS && (decided || race_now_s(race) >= race->end_s))
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

    VBS_TRY(race_find_best(race, false, best));
    VBS_TRY(race_find_best(race, true, baseline));
    if (*baseline < 0 || *baseline == *best)
        return VBS_OK;
    VBS_TRY(learn_contender_ratio(race->l->ctx, &race->contenders[*best],
                                  &race->contenders[*baseline], &ratio));
    if (ratio.n_runs > 0 && ratio.time_us > 1)
        *best = *baseline;
    return VBS_OK;
}

/* Sets *ratio to the executed time of the planner's first plan over the answer's. */
static enum vbs_status rate_first(const struct race *race, int best, double *ratio)
{
    struct vbs_profile_row row = {.time_us = 1};

    if (race->first >= 0 && race->first != best)
        VBS_TRY(learn_contender_ratio(race->l->ctx, &race->contenders[race->first],
                                      &race->contenders[best], &row));
    *ratio = race->first >= 0 ? row.time_us : NAN;
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
    VBS_TRY(rate_first(race, best, &learned->first_ratio));
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
    struct race race = {
        .l = learning, .memory_bytes = learned->memory_bytes, .end_s = end_s, .first = -1};
    enum vbs_status status;

    race.begin_s = race_now_s(&race);
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
    free(race.seen.rows);
    return status;
}
