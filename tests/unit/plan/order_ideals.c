/*
 * Order ideals and their projections, and the lower bounds of layers and of pattern databases (the
 * heuristic of the planner optimal), on small random networks against the lattice of brute_force.h,
 * state by state. Arguments: number of profiles per kind of graph, seed.
 */
#include "reference/plan/brute_force.h"
#include "reference/plan/lattice_states.h"
#include "plan/search/heuristic.h"
#include "plan/search/pattern_database.h"
#include "support/tally.h"
#include "support/trials.h"

#include <stdlib.h>

#define SEED       4669
#define N_PROFILES 600 /* per kind of graph, each with both io */
#define N_PATTERNS 3

#define PROPERTY_LIST(X)                                                                           \
    X(HAD, "order ideals and databases are found")                                                 \
    X(ORDER, "order ideals ascend by the layers done, from none to all")                           \
    X(LIVE, "live bytes of a state are the sum over its samples")                                  \
    X(STEP, "bytes of a step likewise, in-place outputs too")                                      \
    X(NO_STEP, "no order ideal has a move that the network does not allow")                        \
    X(PROJECTED, "a projection has every move of its members and takes no more than any")          \
    X(FLOOR, "the least times of all layers together are at most the time that is left")           \
    X(HEURISTIC, "disjoint pattern databases and the other layers likewise")                       \
    X(CEILING, "so on every path below the limit where pattern databases prune the others")

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

/* ---- Positions ---- */

static void check_order(struct subject *subject)
{
    const struct vbs_order_ideals *ideals = &subject->states.ideals;
    bool rises =
        ideals->n_done[0] == 0 && ideals->n_done[ideals->n - 1] == subject->states.task.n_layers;

    for (int p = 0; p < ideals->n; p++)
        rises = rises && ideals->n_done[p] == __builtin_popcountll(ideals->done[p]) &&
                (p == 0 || ideals->n_done[p] >= ideals->n_done[p - 1]);
    check(subject, ORDER, rises);
}

static int64_t state_bytes(const struct lattice_states *states, const uint16_t *state)
{
    int64_t bytes = 0;

    for (int s = 0; s < states->task.request; s++)
        bytes += states->ideals.live_bytes[state[s]];
    return bytes;
}

/* Gives the bytes of a step by the moves of its samples; -1: one has none. */
static int64_t moves_bytes(const struct lattice_states *states, const uint16_t *state, int layer,
                           int first, int batch)
{
    int64_t bytes = state_bytes(states, state), place_bytes = 0;

    for (int s = first; s < first + batch; s++) {
        const struct vbs_move *move = vbs_order_ideal_move(&states->ideals, state[s], layer);

        if (!move)
            return -1;
        bytes += move->base_bytes - states->ideals.live_bytes[state[s]];
        place_bytes += move->place_bytes;
    }
    return bytes +
           vbs_task_added(batch * states->task.profile->layers[layer].out_bytes, place_bytes);
}

static void check_state(struct subject *subject, const int *done)
{
    const struct lattice_states *states = &subject->states;
    uint16_t state[STATES_MAX_REQUEST];
    bool is_placed = lattice_states_place(states, done, state);

    check(subject, HAD, is_placed);
    if (!is_placed)
        return;
    check(subject, LIVE, state_bytes(states, state) == brute_live_bytes(&states->problem, done));
    for (int k = 1; k <= states->task.n_layers; k++)
        for (int b = 1; done[k] + b <= states->task.request; b++) {
            bool is_allowed = brute_step_allowed(&states->problem, done, k, b);
            int64_t bytes = moves_bytes(states, state, k, done[k], b);

            check(subject, NO_STEP, (bytes >= 0) == is_allowed);
            if (is_allowed)
                check(subject, STEP, bytes == brute_step_bytes(&states->problem, done, k, b));
        }
}

static void check_states(struct subject *subject)
{
    int done[STATES_MAX_LAYERS + 1];

    check_order(subject);
    for (int code = 0; code < subject->states.n_codes; code++) {
        lattice_states_decode(&subject->states, code, done);
        if (lattice_states_valid(&subject->states, done))
            check_state(subject, done);
    }
}

static uint64_t random_layers(struct subject *subject, uint64_t of)
{
    return gsl_rng_get(subject->trial.rng) & of;
}

/* Gives whether an ideal can belong to a class: the class has all of its moves and takes no more
 * bytes. */
static bool is_member(const struct vbs_order_ideals *all, const struct vbs_order_ideals *some,
                      const uint64_t *layers, int p)
{
    int c = some->projected[p];
    bool holds =
        some->done[c] == (all->done[p] & *layers) && some->live_bytes[c] <= all->live_bytes[p];

    for (int m = all->first_move[p]; m < all->first_move[p + 1]; m++) {
        const struct vbs_move *move = &all->moves[m], *projected;

        if (!vbs_layers_have(layers, move->layer))
            continue;
        projected = vbs_order_ideal_move(some, c, move->layer);
        holds = holds && projected && projected->base_bytes <= move->base_bytes &&
                projected->place_bytes >= move->place_bytes &&
                projected->to == some->projected[move->to];
    }
    return holds;
}

static void check_projection(struct subject *subject)
{
    const struct vbs_order_ideals *all = &subject->states.ideals;
    uint64_t layers = random_layers(subject, subject->states.all_layers);
    struct vbs_order_ideals some;
    enum vbs_status status = vbs_order_ideals_project(NULL, all, &layers, &some);
    bool holds = true;

    check(subject, HAD, status == VBS_OK);
    if (status != VBS_OK)
        return;
    for (int p = 0; p < all->n; p++)
        holds = holds && is_member(all, &some, &layers, p);
    check(subject, PROJECTED, holds);
    vbs_order_ideals_clear(&some);
}

/* ---- Bounds ---- */

/* Gives whether a schedule below the limit can pass through a state. */
static bool is_on_way(const struct lattice_states *states, int code, int64_t below_ticks)
{
    return states->so_far[code] < STATES_NEVER && states->ticks[code] < STATES_NEVER &&
           states->so_far[code] + states->ticks[code] < below_ticks;
}

static void check_floors(struct subject *subject)
{
    const struct lattice_states *states = &subject->states;
    int done[STATES_MAX_LAYERS + 1];
    bool holds = true;

    for (int code = 0; code < states->n_codes; code++) {
        int64_t ticks = 0;

        if (!is_on_way(states, code, STATES_NEVER))
            continue;
        lattice_states_decode(states, code, done);
        for (int k = 1; k <= states->task.n_layers; k++)
            ticks += states->to_go[k - 1][done[k]];
        holds = holds && ticks <= states->ticks[code];
    }
    check(subject, FLOOR, holds);
}

struct databases {
    int n;
    struct vbs_pattern_database list[N_PATTERNS];
};

static int64_t alone_ticks(const struct lattice_states *states, uint64_t layers)
{
    int64_t ticks = 0;

    for (int k = 1; k <= states->task.n_layers; k++)
        if (vbs_layers_have(&layers, k))
            ticks += states->to_go[k - 1][0];
    return ticks;
}

/* Adds the pattern of some layers, whose search uses those of others; the least time of the other
 * layers is subtracted from the limit for a whole schedule. */
static bool add_pattern(struct subject *subject, uint64_t layers, int64_t below_ticks,
                        struct databases *databases)
{
    struct lattice_states *states = &subject->states;
    struct vbs_pattern_request request = {
        .all = &states->lattice,
        .layers = &layers,
        .layer_to_go = states->to_go,
        .databases = databases->list,
        .n_databases = databases->n,
        .limits = {.below_ticks = below_ticks - alone_ticks(states, states->all_layers & ~layers),
                   .max_states = 1000000,
                   .until = HUGE_VAL}};
    enum vbs_found found;
    enum vbs_status status =
        vbs_pattern_database_build(NULL, &request, &databases->list[databases->n], &found);

    databases->n += status == VBS_OK && found == VBS_FOUND;
    return status == VBS_OK && found != VBS_FOUND_OUT;
}

/* Two databases of disjoint sets; sometimes one of both sets replaces them. */
static bool build_patterns(struct subject *subject, int64_t below_ticks,
                           struct databases *databases)
{
    uint64_t first = random_layers(subject, subject->states.all_layers);
    uint64_t second = random_layers(subject, subject->states.all_layers & ~first);
    bool had = true;

    databases->n = 0;
    if (first)
        had = add_pattern(subject, first, below_ticks, databases);
    if (second)
        had = had && add_pattern(subject, second, below_ticks, databases);
    if (databases->n < 2 || random_once_in(subject->trial.rng, 2))
        return had;
    had = had && add_pattern(subject, first | second, below_ticks, databases);
    if (databases->n < 3)
        return had;
    vbs_pattern_database_clear(&databases->list[0]);
    vbs_pattern_database_clear(&databases->list[1]);
    databases->list[0] = databases->list[2];
    databases->n = 1;
    return had;
}

static void check_heuristic(struct subject *subject, int64_t below_ticks, enum property property)
{
    const struct lattice_states *states = &subject->states;
    int done[STATES_MAX_LAYERS + 1];
    uint16_t state[STATES_MAX_REQUEST];
    struct databases databases;
    struct vbs_heuristic heuristic;
    bool holds = true, had = build_patterns(subject, below_ticks, &databases);

    had = had && vbs_heuristic_init(NULL, &heuristic, &states->lattice, &states->all_layers,
                                    states->to_go, databases.list, databases.n) == VBS_OK;
    check(subject, HAD, had);
    for (int code = 0; had && code < states->n_codes; code++) {
        if (!is_on_way(states, code, below_ticks))
            continue;
        lattice_states_decode(states, code, done);
        holds = holds && lattice_states_place(states, done, state) &&
                vbs_heuristic_ticks(&heuristic, state) <= states->ticks[code];
    }
    check(subject, property, holds);
    if (had)
        vbs_heuristic_clear(&heuristic);
    for (int i = 0; i < databases.n; i++)
        vbs_pattern_database_clear(&databases.list[i]);
}

/* ---- The subjects ---- */

/* Chooses a budget between a half of the bytes of the whole request and all of them, or less. */
static int64_t choose_budget(struct subject *subject)
{
    const struct vbs_profile *profile = subject->states.problem.profile;
    int64_t bytes = 0;

    for (int k = 0; k <= profile->n_layers; k++)
        bytes += subject->states.task.request * profile->layers[k].out_bytes;
    return random_int(subject->trial.rng, (int)bytes / 4, (int)bytes + 40);
}

static void check_problem(struct subject *subject)
{
    struct lattice_states *states = &subject->states;
    int goal[STATES_MAX_LAYERS + 1];
    int64_t least;

    check_states(subject);
    check_projection(subject);
    states->lattice.memory_bytes = choose_budget(subject);
    lattice_states_decode(states, states->n_codes - 1, goal);
    lattice_states_aim(states, goal);
    lattice_states_measure_from_start(states);
    lattice_states_measure(states, states->n_codes - 1);
    check_floors(subject);
    least = states->ticks[0];
    if (least == STATES_NEVER)
        return;
    check_heuristic(subject, VBS_NEVER_TICKS, HEURISTIC);
    check_heuristic(subject,
                    least + 1 + (int64_t)(gsl_rng_uniform(subject->trial.rng) * (double)least / 2),
                    CEILING);
}

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
