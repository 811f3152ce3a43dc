/*
 * The state search of the planner optimal: between two states of the lattice, within beams, and for
 * improving a schedule window by window; on small random networks, against the lattice of
 * brute_force.h. Arguments: number of profiles per kind of graph, seed.
 */
#include "reference/plan/brute_force.h"
#include "reference/plan/lattice_states.h"
#include "plan/search/improve.h"
#include "plan/problem/problem.h"
#include "support/tally.h"
#include "support/trials.h"

#include <stdlib.h>

#define SEED       1414
#define N_PROFILES 400     /* per kind of graph, each with both io */
#define ENOUGH     1000000 /* states */

#define PROPERTY_LIST(X)                                                                           \
    X(HAD, "what is asked for is found")                                                           \
    X(SEARCH, "a search between two states finds the least time, and nothing below it")            \
    X(STEPS, "and steps that take it")                                                             \
    X(TO_GO, "and what is to go from each state that it keeps on a way below the limit")           \
    X(OUT, "where it may hold few states it finds the same or says that it is out of them")        \
    X(BEAM, "a beam around a known path loses nothing against it")                                 \
    X(IMPROVED, "improved schedules are valid, fit and take less")                                 \
    X(SAME, "others stay as they are")

enum property { TALLY_ENUM(PROPERTY_LIST, N_PROPERTIES) };
static const char *const PROPERTY_TEXTS[] = {TALLY_TEXTS(PROPERTY_LIST)};

struct subject {
    struct lattice_trial trial;
    struct lattice_states states;
};

static void describe(const void *self)
{
    const struct subject *subject = self;

    printf("profile %d, %d layers, request %d, io %s, budget %" PRId64, subject->trial.number,
           subject->states.task.n_layers, subject->states.task.request,
           vbs_io_word(subject->states.problem.io), subject->states.lattice.memory_bytes);
}

static void check(struct subject *subject, enum property property, bool holds)
{
    tally_check(&subject->trial.tally, (int)property, holds);
}

/* Gives the ticks of steps from a state on; STATES_NEVER where one is impossible. *done ends behind
 * them. */
static int64_t walk(const struct lattice_states *states, const struct vbs_step_list *steps,
                    int *done)
{
    int64_t ticks = 0;

    for (int64_t s = 0; s < steps->n_steps; s++) {
        const struct vbs_step *step = &steps->steps[s];
        int64_t taken = lattice_states_step(states, done, step->layer, step->batch);

        if (taken == STATES_NEVER)
            return STATES_NEVER;
        ticks += taken;
        done[step->layer] += step->batch;
    }
    return ticks;
}

/* ---- Sweeps ---- */

/* A search from one state to another. */
struct trip {
    int from, to;  /* codes */
    int64_t least; /* STATES_NEVER: no path */
    struct vbs_search_limits limits;
    struct vbs_state_search search;
    enum vbs_found found;
    struct vbs_step_list steps;
};

/* Runs a search whose heuristic is the least time of each layer up to the goal. */
static enum vbs_status run(struct lattice_states *states, struct trip *trip)
{
    int from[STATES_MAX_LAYERS + 1], to[STATES_MAX_LAYERS + 1];
    uint16_t start[STATES_MAX_REQUEST], goal[STATES_MAX_REQUEST];
    struct vbs_heuristic heuristic;
    enum vbs_status status;

    lattice_states_decode(states, trip->from, from);
    lattice_states_decode(states, trip->to, to);
    lattice_states_aim(states, to);
    if (!lattice_states_place(states, from, start) || !lattice_states_place(states, to, goal))
        return VBS_INVALID;
    status = vbs_heuristic_init(NULL, &heuristic, &states->lattice, &states->all_layers,
                                states->to_go, NULL, 0);
    if (status != VBS_OK)
        return status;
    status =
        vbs_search_run(NULL, &heuristic, start, goal, &trip->limits, &trip->search, &trip->found);
    vbs_heuristic_clear(&heuristic);
    if (status == VBS_OK && trip->found == VBS_FOUND)
        status = vbs_search_emit(NULL, &states->lattice, &trip->search, &trip->steps);
    return status;
}

static void check_steps(struct subject *subject, const struct trip *trip)
{
    int done[STATES_MAX_LAYERS + 1];
    int64_t ticks;

    lattice_states_decode(&subject->states, trip->from, done);
    ticks = walk(&subject->states, &trip->steps, done);
    check(subject, STEPS,
          ticks == trip->least && lattice_states_code(&subject->states, done) == trip->to);
}

/* Checks the times to the goal of paths from the start of all, from which so_far is counted. */
static void check_to_go(struct subject *subject, const struct trip *trip)
{
    const struct lattice_states *states = &subject->states;
    int done[STATES_MAX_LAYERS + 1];
    uint16_t state[STATES_MAX_REQUEST];
    bool holds = true;

    if (trip->from != 0)
        return;
    for (int code = 0; code < states->n_codes; code++) {
        int index;

        if (states->so_far[code] == STATES_NEVER || states->ticks[code] == STATES_NEVER ||
            states->so_far[code] + states->ticks[code] >= trip->limits.below_ticks)
            continue;
        lattice_states_decode(states, code, done);
        index = lattice_states_place(states, done, state)
                    ? vbs_states_find(&trip->search.states, state)
                    : -1;
        holds = holds && index >= 0 && trip->search.togo[index] == states->ticks[code];
    }
    check(subject, TO_GO, holds);
}

static void trip_clear(struct trip *trip)
{
    vbs_step_list_clear(&trip->steps);
    vbs_search_clear(&trip->search);
}

static void check_trip(struct subject *subject, int from, int to)
{
    struct trip trip = {
        .from = from,
        .to = to,
        .least = subject->states.ticks[from],
        .limits = {.below_ticks = VBS_NEVER_TICKS, .max_states = ENOUGH, .until = HUGE_VAL}};
    enum vbs_status status;
    bool is_below;

    if (trip.least < STATES_NEVER && random_once_in(subject->trial.rng, 3))
        trip.limits.below_ticks = trip.least + random_int(subject->trial.rng, 0, 1);
    status = run(&subject->states, &trip);
    check(subject, HAD, status == VBS_OK && trip.found != VBS_FOUND_OUT);
    is_below = trip.least < trip.limits.below_ticks;
    check(subject, SEARCH,
          is_below ? trip.found == VBS_FOUND && trip.search.start_ticks == trip.least
                   : trip.found == VBS_FOUND_NONE);
    if (trip.found == VBS_FOUND) {
        check_steps(subject, &trip);
        check_to_go(subject, &trip);
    }
    trip_clear(&trip);
    trip.limits.max_states = random_int(subject->trial.rng, 1, 20);
    status = run(&subject->states, &trip);
    check(subject, OUT,
          status == VBS_OK &&
              (trip.found == VBS_FOUND_OUT || (trip.found == VBS_FOUND) == is_below));
    trip_clear(&trip);
}

/* Chooses any state that can be reached from the start in the budget. */
static int choose_state(struct subject *subject)
{
    const struct lattice_states *states = &subject->states;
    int code = random_int(subject->trial.rng, 0, states->n_codes - 1);

    while (states->so_far[code] == STATES_NEVER)
        code = (code + 1) % states->n_codes;
    return code;
}

static void check_searches(struct subject *subject)
{
    struct lattice_states *states = &subject->states;
    int a, b;

    lattice_states_measure_from_start(states);
    a = choose_state(subject);
    b = choose_state(subject);
    if (random_once_in(subject->trial.rng, 2))
        a = 0;
    if (random_once_in(subject->trial.rng, 3))
        b = states->n_codes - 1;
    lattice_states_measure(states, b);
    if (a < b && states->ticks[a] < STATES_NEVER)
        check_trip(subject, a, b);
}

/* ---- Schedules ---- */

/* Takes a schedule as steps, with its peak as the budget. */
static bool take_schedule(struct subject *subject, struct vbs_step_list *steps)
{
    struct lattice_states *states = &subject->states;
    struct vbs_schedule *schedule = random_schedule(subject->trial.rng, states->problem.profile,
                                                    states->task.request, states->problem.io);
    struct vbs_timeline timeline;
    bool had = schedule;

    for (int64_t s = 0; had && s < schedule->n_steps; s++)
        had = vbs_step_list_add(NULL, steps, schedule->steps[s].layer, schedule->steps[s].batch,
                                schedule->steps[s].algorithm) == VBS_OK;
    vbs_schedule_free(schedule);
    had = had && vbs_timeline_find(NULL, &states->task, steps, &timeline) == VBS_OK;
    if (had)
        states->lattice.memory_bytes = timeline.peak_bytes;
    return had;
}

static void check_beam(struct subject *subject, struct vbs_step_list *steps, int64_t ticks)
{
    struct lattice_states *states = &subject->states;
    struct vbs_states kept = {0};
    struct vbs_search_limits limits = {.below_ticks = ticks + 1,
                                       .max_states = ENOUGH,
                                       .until = HUGE_VAL,
                                       .beam_width = random_int(subject->trial.rng, 1, 4),
                                       .kept = &kept};
    struct vbs_state_search search = {0};
    struct vbs_step_list made = {0};
    int done[STATES_MAX_LAYERS + 1] = {0};
    struct vbs_heuristic heuristic;
    enum vbs_found found = VBS_FOUND_OUT;
    bool had = vbs_path_states(NULL, &states->lattice, steps, &kept) == VBS_OK &&
               vbs_heuristic_init(NULL, &heuristic, &states->lattice, &states->all_layers,
                                  states->to_go, NULL, 0) == VBS_OK;

    if (had) {
        had = vbs_search_run(NULL, &heuristic, NULL, NULL, &limits, &search, &found) == VBS_OK;
        vbs_heuristic_clear(&heuristic);
    }
    had = had && found == VBS_FOUND &&
          vbs_search_emit(NULL, &states->lattice, &search, &made) == VBS_OK;
    check(subject, HAD, had);
    check(subject, BEAM,
          search.start_ticks <= ticks && walk(states, &made, done) == search.start_ticks &&
              lattice_states_code(states, done) == states->n_codes - 1);
    vbs_step_list_clear(&made);
    vbs_search_clear(&search);
    vbs_states_clear(&kept);
}

static void check_improved(struct subject *subject, struct vbs_step_list *steps, int64_t before)
{
    struct lattice_states *states = &subject->states;
    const struct vbs_improve_limits limits = {.max_states = random_int(subject->trial.rng, 1, 2000),
                                              .until = HUGE_VAL};
    int done[STATES_MAX_LAYERS + 1] = {0};
    bool improved = false;
    enum vbs_status status =
        vbs_improve(NULL, &states->lattice, &states->all_layers, &limits, steps, &improved);
    int64_t after = walk(states, steps, done);
    bool ends = lattice_states_code(states, done) == states->n_codes - 1;

    check(subject, HAD, status == VBS_OK);
    if (improved)
        check(subject, IMPROVED, ends && after < before);
    else
        check(subject, SAME, ends && after == before);
}

static void check_schedule(struct subject *subject)
{
    struct lattice_states *states = &subject->states;
    struct vbs_step_list steps = {0};
    int done[STATES_MAX_LAYERS + 1] = {0}, goal[STATES_MAX_LAYERS + 1];
    bool had = take_schedule(subject, &steps);
    int64_t ticks;

    check(subject, HAD, had);
    lattice_states_decode(states, states->n_codes - 1, goal);
    lattice_states_aim(states, goal);
    ticks = walk(states, &steps, done);
    if (had) {
        check_beam(subject, &steps, ticks);
        check_improved(subject, &steps, ticks);
    }
    vbs_step_list_clear(&steps);
}

/* ---- The subjects ---- */

static void check_profile(void *self, const struct vbs_profile *profile)
{
    struct subject *subject = self;

    for (int io = VBS_IO_EXTERNAL; io <= VBS_IO_RESIDENT; io++) {
        struct vbs_problem problem = {
            .profile = profile,
            .request = lattice_states_request(
                profile, random_int(subject->trial.rng, 1, STATES_MAX_REQUEST)),
            .io = (enum vbs_io)io};
        bool opened = lattice_states_open(&subject->states, &problem);

        check(subject, HAD, opened);
        if (!opened)
            continue;
        check_schedule(subject);
        check_searches(subject);
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
