#include "reference/plan/lattice_states.h"

#include "reference/plan/brute_common.h"
#include "support/trials.h"

#include <math.h>

/* Gives the weight of a layer's samples in a code. */
static int weight(const struct lattice_states *states, int layer)
{
    int value = 1;

    while (--layer > 0)
        value *= states->task.request + 1;
    return value;
}

int lattice_states_request(const struct vbs_profile *profile, int limit)
{
    int request = 1;

    while (request < limit && request < STATES_MAX_REQUEST &&
           pow(request + 2, profile->n_layers) <= STATES_MAX_CODES)
        request++;
    return request;
}

bool lattice_states_open(struct lattice_states *states, const struct vbs_problem *problem)
{
    bool listed = false;

    states->problem = *problem;
    if (vbs_task_init(NULL, &states->task, problem) != VBS_OK)
        return false;
    if (vbs_order_ideals_list(NULL, &states->task, &states->ideals, &listed) != VBS_OK || !listed) {
        vbs_task_clear(&states->task);
        return false;
    }
    states->lattice = (struct vbs_lattice){.task = &states->task, .ideals = &states->ideals};
    states->all_layers = ((uint64_t)1 << states->task.n_layers) - 1;
    states->n_codes = weight(states, states->task.n_layers + 1);
    for (int k = 0; k < STATES_MAX_LAYERS; k++)
        states->to_go[k] = states->to_go_ticks[k];
    return true;
}

void lattice_states_close(struct lattice_states *states)
{
    vbs_order_ideals_clear(&states->ideals);
    vbs_task_clear(&states->task);
}

void lattice_states_decode(const struct lattice_states *states, int code, int *done)
{
    done[0] = 0;
    for (int k = 1; k <= states->task.n_layers; k++) {
        done[k] = code % (states->task.request + 1);
        code /= states->task.request + 1;
    }
}

int lattice_states_code(const struct lattice_states *states, const int *done)
{
    int code = 0;

    for (int k = 1; k <= states->task.n_layers; k++)
        code += done[k] * weight(states, k);
    return code;
}

bool lattice_states_valid(const struct lattice_states *states, const int *done)
{
    for (int k = 1; k <= states->task.n_layers; k++)
        for (int t = 1; t < k; t++)
            if (brute_reads(&states->problem, k, t) && done[t] < done[k])
                return false;
    return true;
}

bool lattice_states_place(const struct lattice_states *states, const int *done, uint16_t *ideals)
{
    const struct vbs_order_ideals *all = &states->ideals;

    for (int s = 0; s < states->task.request; s++) {
        uint64_t set = 0;
        int p = 0;

        for (int k = 1; k <= states->task.n_layers; k++)
            if (done[k] > s)
                vbs_layers_add(&set, k);
        while (p < all->n && all->done[p] != set)
            p++;
        if (p == all->n)
            return false;
        ideals[s] = (uint16_t)p;
    }
    return true;
}

int64_t lattice_states_step(const struct lattice_states *states, const int *done, int layer,
                            int batch)
{
    const struct vbs_problem *problem = &states->problem;
    double time_us;

    if (!brute_step_allowed(problem, done, layer, batch))
        return STATES_NEVER;
    time_us = brute_fastest_us(problem, layer, batch,
                               states->lattice.memory_bytes -
                                   brute_step_bytes(problem, done, layer, batch));
    return time_us < HUGE_VAL ? vbs_task_ticks(&states->task, time_us) : STATES_NEVER;
}

/* The order of codes suffices, because steps lead to larger codes. */
void lattice_states_measure(struct lattice_states *states, int goal)
{
    int done[STATES_MAX_LAYERS + 1];

    for (int code = states->n_codes - 1; code >= 0; code--) {
        states->ticks[code] = code == goal ? 0 : STATES_NEVER;
        lattice_states_decode(states, code, done);
        if (code >= goal || !lattice_states_valid(states, done))
            continue;
        for (int k = 1; k <= states->task.n_layers; k++)
            for (int b = 1; done[k] + b <= states->task.request; b++) {
                int64_t behind = states->ticks[code + b * weight(states, k)], step;

                if (behind == STATES_NEVER)
                    continue;
                step = lattice_states_step(states, done, k, b);
                if (step < STATES_NEVER && step + behind < states->ticks[code])
                    states->ticks[code] = step + behind;
            }
    }
}

void lattice_states_measure_from_start(struct lattice_states *states)
{
    int done[STATES_MAX_LAYERS + 1];

    for (int code = 0; code < states->n_codes; code++)
        states->so_far[code] = code == 0 ? 0 : STATES_NEVER;
    for (int code = 0; code < states->n_codes; code++) {
        if (states->so_far[code] == STATES_NEVER)
            continue;
        lattice_states_decode(states, code, done);
        for (int k = 1; k <= states->task.n_layers; k++)
            for (int b = 1; done[k] + b <= states->task.request; b++) {
                int64_t step = lattice_states_step(states, done, k, b);
                int64_t *behind = &states->so_far[code + b * weight(states, k)];

                if (step < STATES_NEVER && states->so_far[code] + step < *behind)
                    *behind = states->so_far[code] + step;
            }
    }
}

void lattice_states_aim(struct lattice_states *states, const int *goal)
{
    for (int k = 1; k <= states->task.n_layers; k++)
        vbs_task_to_go(&states->task, k, states->lattice.memory_bytes, goal[k],
                       states->to_go[k - 1]);
}

static void try_graph(const struct lattice_trials *trials, enum random_graph graph, int n_profiles,
                      struct lattice_trial *trial)
{
    static const char *const NAMES[] = {"linear", "branched", "arbitrary"};
    int n_refused = 0;

    trial->tally = trials->properties;
    for (int i = 0; i < n_profiles; i++) {
        struct vbs_profile *profile = random_profile(trial->rng, graph, STATES_MAX_LAYERS);

        trial->number = i;
        if (profile)
            trials->check_profile(trials->self, profile);
        n_refused += !profile;
        vbs_profile_free(profile);
    }
    is_int(n_refused, 0, "random profiles are profiles");
    tally_report(&trial->tally, NAMES[graph]);
}

int lattice_trials_run(const struct lattice_trials *trials, int argc, char **argv,
                       struct lattice_trial *trial)
{
    struct trials given =
        trials_of(argc, argv, trials->n_profiles, trials->seed, "profiles per kind of graph");

    trial->rng = gsl_rng_alloc(gsl_rng_taus2);
    for (int graph = 0; graph < RANDOM_N_GRAPHS; graph++) {
        gsl_rng_set(trial->rng, given.seed + (unsigned long)graph);
        try_graph(trials, (enum random_graph)graph, given.n, trial);
    }
    gsl_rng_free(trial->rng);
    return done_testing();
}
