/*
 * The search and proof of optimal in all its rounds: first searches hold so few states that layers
 * are merged, beams and pieces tried and searches put off, on small random networks whose optimum
 * brute_force.h knows. Arguments: number of profiles per kind of graph, seed.
 */
#include "brute_force.h"
#include "lattice_states.h"
#include "plan/lattice.h"
#include "plan/prove.h"
#include "plan/sweep.h"
#include "tally.h"

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
    X(PLAIN, "so without positions")

enum property { TALLY_ENUM(PROPERTY_LIST, N_PROPERTIES) };
static const char *const PROPERTY_TEXTS[] = {TALLY_TEXTS(PROPERTY_LIST)};

struct subject {
    struct tally tally;
    gsl_rng *rng;
    int number; /* of the profile */
    struct lattice_states states;
    int64_t optimum; /* STATES_NEVER: nothing fits */
    int first_states;
};

static void describe(const void *self)
{
    const struct subject *subject = self;

    printf("profile %d, %d layers, request %d, io %s, budget %" PRId64 ", %d states first",
           subject->number, subject->states.task.n_layers, subject->states.task.request,
           vbs_io_word(subject->states.problem.io), subject->states.lattice.memory_bytes,
           subject->first_states);
}

static void check(struct subject *subject, enum property property, bool holds)
{
    tally_check(&subject->tally, (int)property, holds);
}

/* Ticks of whole schedule's steps with their algorithms; STATES_NEVER where they do not fit. */
static int64_t ticks_of(const struct lattice_states *states, const struct vbs_step_list *steps)
{
    struct vbs_walked walked;
    int64_t ticks = 0;

    if (steps->n_steps == 0 || vbs_walk_all(NULL, &states->task, steps, &walked) != VBS_OK ||
        walked.peak_bytes > states->lattice.memory_bytes)
        return STATES_NEVER;
    for (int64_t s = 0; s < steps->n_steps; s++)
        ticks += vbs_task_ticks(&states->task,
                                vbs_task_step_row(&states->task, &steps->steps[s])->time_us);
    return ticks;
}

/* A schedule to begin with, now and then, where it fits. */
static void know_something(struct subject *subject, struct vbs_proof *proof)
{
    struct lattice_states *states = &subject->states;
    struct vbs_schedule *schedule;
    int64_t ticks;

    if (random_once_in(subject->rng, 2))
        return;
    schedule = random_schedule(subject->rng, states->problem.profile, states->task.request,
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

static bool prove(struct subject *subject, const struct vbs_positions *positions, double until_s,
                  int64_t below_ticks, struct vbs_proof *proof)
{
    const struct lattice_states *states = &subject->states;
    struct vbs_prove_limits limits = {
        .first_states = subject->first_states, .until_s = until_s, .below_ticks = below_ticks};
    enum vbs_status status =
        vbs_prove(NULL, &states->task, positions, states->lattice.memory_bytes, &limits, proof);

    check(subject, HAD, status == VBS_OK);
    return status == VBS_OK;
}

static void check_to_the_end(struct subject *subject)
{
    const struct lattice_states *states = &subject->states;
    struct vbs_proof proof = {.best_ticks = VBS_NEVER_TICKS};

    know_something(subject, &proof);
    if (prove(subject, &states->positions, HUGE_VAL, VBS_NEVER_TICKS, &proof)) {
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

/* Nothing takes less than the optimum or than some time below it. */
static void check_below(struct subject *subject)
{
    struct vbs_proof proof = {.best_ticks = VBS_NEVER_TICKS};
    int64_t below =
        subject->optimum - (int64_t)(gsl_rng_uniform(subject->rng) * (double)subject->optimum / 2);

    if (random_once_in(subject->rng, 2))
        below = subject->optimum;
    if (prove(subject, &subject->states.positions, HUGE_VAL, below, &proof))
        check(subject, BELOW,
              proof.bound_ticks >= below && proof.bound_ticks <= subject->optimum &&
                  (proof.best_ticks == VBS_NEVER_TICKS || proof.best_ticks >= subject->optimum));
    vbs_step_list_clear(&proof.steps);
}

static void check_in_between(struct subject *subject, const struct vbs_positions *positions,
                             enum property property)
{
    struct vbs_proof proof = {.best_ticks = VBS_NEVER_TICKS};
    double soon_s = vbs_clock_s() + 2e-4 * gsl_rng_uniform(subject->rng);
    int64_t before;

    know_something(subject, &proof);
    before = proof.best_ticks;
    if (prove(subject, positions, soon_s, VBS_NEVER_TICKS, &proof)) {
        check(subject, property,
              proof.bound_ticks <= subject->optimum &&
                  (proof.best_ticks == VBS_NEVER_TICKS ||
                   (proof.best_ticks >= subject->optimum &&
                    ticks_of(&subject->states, &proof.steps) == proof.best_ticks)));
        check(subject, NO_WORSE, proof.best_ticks <= before);
    }
    vbs_step_list_clear(&proof.steps);
}

/* Something between nothing and enough for all, most often in the lower half. */
static int64_t choose_budget(struct subject *subject)
{
    const struct vbs_profile *profile = subject->states.problem.profile;
    int64_t bytes = 20;

    for (int k = 0; k <= profile->n_layers; k++)
        bytes += subject->states.task.request * profile->layers[k].out_bytes;
    return random_int(subject->rng, 0, (int)(random_once_in(subject->rng, 4) ? bytes : bytes / 2));
}

static void check_problem(struct subject *subject)
{
    struct lattice_states *states = &subject->states;

    for (int i = 0; i < N_BUDGETS; i++) {
        states->lattice.memory_bytes = choose_budget(subject);
        lattice_states_measure(states, states->n_codes - 1);
        subject->optimum = states->ticks[0];
        subject->first_states =
            random_int(subject->rng, 1, random_once_in(subject->rng, 2) ? 9 : 99);
        check_to_the_end(subject);
        if (subject->optimum == STATES_NEVER)
            continue;
        check_below(subject);
        check_in_between(subject, &states->positions, ANYTIME);
        check_in_between(subject, NULL, PLAIN);
    }
}

static void check_profile(struct subject *subject, const struct vbs_profile *profile)
{
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

static const char *const GRAPH_NAMES[] = {"linear", "branched", "arbitrary"};

static void test_graph(struct subject *subject, enum random_graph graph, int n_profiles)
{
    int n_refused = 0;

    subject->tally = (struct tally){.n_properties = N_PROPERTIES,
                                    .texts = PROPERTY_TEXTS,
                                    .describe = describe,
                                    .self = subject};
    for (int i = 0; i < n_profiles; i++) {
        struct vbs_profile *profile = random_profile(subject->rng, graph, STATES_MAX_LAYERS);

        subject->number = i;
        if (profile)
            check_profile(subject, profile);
        n_refused += !profile;
        vbs_profile_free(profile);
    }
    is_int(n_refused, 0, "random profiles are profiles");
    tally_report(&subject->tally, GRAPH_NAMES[graph]);
}

int main(int argc, char **argv)
{
    int n_profiles = argc > 1 ? atoi(argv[1]) : N_PROFILES;
    unsigned long seed = argc > 2 ? strtoul(argv[2], NULL, 10) : SEED;
    struct subject *subject = calloc(1, sizeof *subject);

    printf("# seed %lu, %d profiles per kind of graph\n", seed, n_profiles);
    subject->rng = gsl_rng_alloc(gsl_rng_taus2);
    for (int graph = 0; graph < RANDOM_N_GRAPHS; graph++) {
        gsl_rng_set(subject->rng, seed + (unsigned long)graph);
        test_graph(subject, (enum random_graph)graph, n_profiles);
    }
    gsl_rng_free(subject->rng);
    free(subject);
    return done_testing();
}
