/*
 * The search and proof of optimal in all its rounds: first searches hold so few states that layers
 * are merged, beams and windows tried and searches put off, on small random networks whose optimum
 * brute_force.h knows. Arguments: number of profiles per kind of graph, seed.
 */
#include "base/clock.h"
#include "reference/plan/brute_force.h"
#include "reference/plan/lattice_states.h"
#include "plan/problem/problem.h"
#include "plan/search/prove.h"
#include "plan/search/state_search.h"
#include "support/tally.h"
#include "support/trials.h"

#include <stdlib.h>

#define SEED       1729
#define N_PROFILES 200 /* per kind of graph, each with both io */
#define N_BUDGETS  3

#define PROPERTY_LIST(X)                                                                           \
    X(HAD, "what is asked for is had")                                                             \
    X(OPTIMUM, "the optimum is found")                                                             \
    X(NONE, "nothing where nothing fits")                                                          \
    X(PROVEN, "and proven: the bound meets it")                                                    \
    X(STEPS, "its steps fit and take it")                                                          \
    X(BELOW, "where only less is of interest the bound tells that there is nothing")               \
    X(ANYTIME, "wherever time ends the optimum is between bound and best")                         \
    X(NO_WORSE, "and the best is no worse than what was known before")                             \
    X(PLAIN, "so without order ideals")

enum property { TALLY_ENUM(PROPERTY_LIST, N_PROPERTIES) };
static const char *const PROPERTY_TEXTS[] = {TALLY_TEXTS(PROPERTY_LIST)};

struct subject {
    struct lattice_trial trial;
    struct lattice_states states;
    int64_t optimum; /* STATES_NEVER: nothing fits */
    int first_states;
};

static void describe(const void *self)
{
    const struct subject *subject = self;

    printf("profile %d, %d layers, request %d, io %s, budget %" PRId64 ", %d states first",
           subject->trial.number, subject->states.task.n_layers, subject->states.task.request,
           vbs_io_word(subject->states.problem.io), subject->states.lattice.memory_bytes,
           subject->first_states);
}

static void check(struct subject *subject, enum property property, bool holds)
{
    tally_check(&subject->trial.tally, (int)property, holds);
}

/* Gives the ticks of a whole schedule's steps with their algorithms; STATES_NEVER where they do not
 * fit. */
static int64_t ticks_of(const struct lattice_states *states, const struct vbs_step_list *steps)
{
    struct vbs_timeline timeline;
    int64_t ticks = 0;

    if (steps->n_steps == 0 || vbs_timeline_find(NULL, &states->task, steps, &timeline) != VBS_OK ||
        timeline.peak_bytes > states->lattice.memory_bytes)
        return STATES_NEVER;
    for (int64_t s = 0; s < steps->n_steps; s++)
        ticks += vbs_task_ticks(&states->task,
                                vbs_task_step_row(&states->task, &steps->steps[s])->time_us);
    return ticks;
}

/* Sometimes begins the proof with a schedule that fits. */
static void know_something(struct subject *subject, struct vbs_proof *proof)
{
    struct lattice_states *states = &subject->states;
    struct vbs_schedule *schedule;
    int64_t ticks;

    if (random_once_in(subject->trial.rng, 2))
        return;
    schedule = random_schedule(subject->trial.rng, states->problem.profile, states->task.request,
                               states->problem.io);
    for (int64_t s = 0; schedule && s < schedule->n_steps; s++)
        if (vbs_step_list_add(NULL, &proof->steps, schedule->steps[s].layer,
                              schedule->steps[s].batch, schedule->steps[s].algorithm) != VBS_OK)
            check(subject, HAD, false);
    vbs_schedule_free(schedule);
    ticks = ticks_of(states, &proof->steps);
    if (ticks < STATES_NEVER)
        proof->best_ticks = ticks;
    else
        vbs_step_list_clear(&proof->steps);
}

static bool prove(struct subject *subject, const struct vbs_order_ideals *ideals, double until_s,
                  int64_t below_ticks, struct vbs_proof *proof)
{
    const struct lattice_states *states = &subject->states;
    struct vbs_prove_limits limits = {
        .first_states = subject->first_states, .until = until_s, .below_ticks = below_ticks};
    enum vbs_status status =
        vbs_prove(NULL, &states->task, ideals, states->lattice.memory_bytes, &limits, proof);

    check(subject, HAD, status == VBS_OK);
    return status == VBS_OK;
}

static void check_to_the_end(struct subject *subject)
{
    const struct lattice_states *states = &subject->states;
    struct vbs_proof proof = {.best_ticks = VBS_NEVER_TICKS};

    know_something(subject, &proof);
    if (prove(subject, &states->ideals, HUGE_VAL, VBS_NEVER_TICKS, &proof)) {
        if (subject->optimum == STATES_NEVER) {
            check(subject, NONE,
                  proof.best_ticks == VBS_NEVER_TICKS && proof.bound_ticks >= VBS_NEVER_TICKS);
        } else {
            check(subject, OPTIMUM, proof.best_ticks == subject->optimum);
            check(subject, PROVEN, proof.bound_ticks == subject->optimum);
            check(subject, STEPS, ticks_of(states, &proof.steps) == subject->optimum);
        }
    }
    vbs_step_list_clear(&proof.steps);
}

/* Checks a search for schedules below the optimum, or below some time less than it. */
static void check_below(struct subject *subject)
{
    struct vbs_proof proof = {.best_ticks = VBS_NEVER_TICKS};
    int64_t below = subject->optimum -
                    (int64_t)(gsl_rng_uniform(subject->trial.rng) * (double)subject->optimum / 2);

    if (random_once_in(subject->trial.rng, 2))
        below = subject->optimum;
    if (prove(subject, &subject->states.ideals, HUGE_VAL, below, &proof))
        check(subject, BELOW,
              proof.bound_ticks >= below && proof.bound_ticks <= subject->optimum &&
                  (proof.best_ticks == VBS_NEVER_TICKS || proof.best_ticks >= subject->optimum));
    vbs_step_list_clear(&proof.steps);
}

static void check_in_between(struct subject *subject, const struct vbs_order_ideals *ideals,
                             enum property property)
{
    struct vbs_proof proof = {.best_ticks = VBS_NEVER_TICKS};
    double soon_s = vbs_clock_s() + 2e-4 * gsl_rng_uniform(subject->trial.rng);
    int64_t before;

    know_something(subject, &proof);
    before = proof.best_ticks;
    if (prove(subject, ideals, soon_s, VBS_NEVER_TICKS, &proof)) {
        check(subject, property,
              proof.bound_ticks <= subject->optimum &&
                  (proof.best_ticks == VBS_NEVER_TICKS ||
                   (proof.best_ticks >= subject->optimum &&
                    ticks_of(&subject->states, &proof.steps) == proof.best_ticks)));
        check(subject, NO_WORSE, proof.best_ticks <= before);
    }
    vbs_step_list_clear(&proof.steps);
}

/* Chooses a budget between nothing and enough for all, most often in the lower half. */
static int64_t choose_budget(struct subject *subject)
{
    const struct vbs_profile *profile = subject->states.problem.profile;
    int64_t bytes = 20;

    for (int k = 0; k <= profile->n_layers; k++)
        bytes += subject->states.task.request * profile->layers[k].out_bytes;
    return random_int(subject->trial.rng, 0,
                      (int)(random_once_in(subject->trial.rng, 4) ? bytes : bytes / 2));
}

static void check_problem(struct subject *subject)
{
    struct lattice_states *states = &subject->states;

    for (int i = 0; i < N_BUDGETS; i++) {
        states->lattice.memory_bytes = choose_budget(subject);
        lattice_states_measure(states, states->n_codes - 1);
        subject->optimum = states->ticks[0];
        subject->first_states =
            random_int(subject->trial.rng, 1, random_once_in(subject->trial.rng, 2) ? 9 : 99);
        check_to_the_end(subject);
        if (subject->optimum == STATES_NEVER)
            continue;
        check_below(subject);
        check_in_between(subject, &states->ideals, ANYTIME);
        check_in_between(subject, NULL, PLAIN);
    }
}

static void check_profile(void *self, const struct vbs_profile *profile)
{
    struct subject *subject = self;

    for (int io = VBS_IO_EXTERNAL; io <= VBS_IO_RESIDENT; io++) {
        struct vbs_problem problem = {.profile = profile,
                                      .request =
                                          lattice_states_request(profile, STATES_MAX_REQUEST),
                                      .io = (enum vbs_io)io};
        bool opened = lattice_states_open(&subject->states, &problem);

        check(subject, HAD, opened);
        if (!opened)
            continue;
        check_problem(subject);
        lattice_states_close(&subject->states);
    }
}

int main(int argc, char **argv)
{
    struct subject *subject = calloc(1, sizeof *subject);
    const struct lattice_trials trials = {
        .n_profiles = trials_some(N_PROFILES),
        .seed = SEED,
        .properties = tally_of(N_PROPERTIES, PROPERTY_TEXTS, describe, subject),
        .check_profile = check_profile,
        .self = subject};
    int code = lattice_trials_run(&trials, argc, argv, &subject->trial);

    free(subject);
    return code;
}
