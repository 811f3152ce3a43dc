/*
 * All states of a small problem's lattice with the least time between any two of them, by the slow
 * definitions of brute_force.h, beside the library's order ideals of the same problem.
 */
#ifndef TESTS_LATTICE_STATES_H
#define TESTS_LATTICE_STATES_H

#include "plan/search/expand.h"
#include "cases/random_profile.h"
#include "support/tally.h"

#define STATES_MAX_LAYERS  6
#define STATES_MAX_REQUEST 4
#define STATES_MAX_CODES   4100 /* states, reachable or not */
#define STATES_NEVER       INT64_MAX

/* A state is samples done[1..n] per layer; its code is done[1] + (r + 1) done[2] + ... */
struct lattice_states {
    struct vbs_problem problem;
    struct vbs_task task;
    struct vbs_order_ideals ideals;
    struct vbs_lattice lattice; /* its memory_bytes may be changed */
    uint64_t all_layers;        /* a set */
    int n_codes;
    int64_t ticks[STATES_MAX_CODES];  /* from each state to the goal of the last measuring */
    int64_t so_far[STATES_MAX_CODES]; /* from the start */
    int64_t *to_go[STATES_MAX_LAYERS];
    int64_t to_go_ticks[STATES_MAX_LAYERS][STATES_MAX_REQUEST + 1];
};

/* Gives the largest request up to limit whose states are few enough. */
int lattice_states_request(const struct vbs_profile *profile, int limit);

/* Opens the states of a problem. False when memory is out; nothing is open then. */
bool lattice_states_open(struct lattice_states *states, const struct vbs_problem *problem);
void lattice_states_close(struct lattice_states *states);

void lattice_states_decode(const struct lattice_states *states, int code, int *done);
int lattice_states_code(const struct lattice_states *states, const int *done);

/* Gives whether each layer has done no more samples than those that it reads. */
bool lattice_states_valid(const struct lattice_states *states, const int *done);

/* Finds the order ideals of the samples of a state by their sets of layers; false: one is
 * missing. */
bool lattice_states_place(const struct lattice_states *states, const int *done, uint16_t *ideals);

/* Gives the ticks of the fastest row that takes a step in the budget; STATES_NEVER: none. */
int64_t lattice_states_step(const struct lattice_states *states, const int *done, int layer,
                            int batch);

/* Computes the least ticks in the budget from every state to the one with the code goal, into
 * ticks; and from the start to every state, into so_far. STATES_NEVER: no path. */
void lattice_states_measure(struct lattice_states *states, int goal);
void lattice_states_measure_from_start(struct lattice_states *states);

/* Computes vbs_task_to_go of all layers in the budget, up to a state, into to_go. */
void lattice_states_aim(struct lattice_states *states, const int *goal);

/* The state of a test that goes through random profiles. */
struct lattice_trial {
    struct tally tally;
    gsl_rng *rng;
    int number; /* of the profile */
};

struct lattice_trials {
    int n_profiles; /* per kind of graph */
    unsigned long seed;
    struct tally properties; /* with nothing counted */
    void (*check_profile)(void *self, const struct vbs_profile *profile);
    void *self; /* of check_profile */
};

/* Runs such a test: reports each kind of graph and returns the exit code. Arguments of the program:
 * number of profiles per kind of graph, seed. */
int lattice_trials_run(const struct lattice_trials *trials, int argc, char **argv,
                       struct lattice_trial *trial);

#endif
