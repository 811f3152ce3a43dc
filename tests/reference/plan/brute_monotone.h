/*
 * Slow references for dp-monotone: the recurrence of COMP V-D as printed, for chains, and all
 * monotone schedules with their memory counted sample by sample, for any graph. Both compose the
 * request of chunks in the best way. HUGE_VAL: infeasible.
 */
#ifndef TESTS_BRUTE_MONOTONE_H
#define TESTS_BRUTE_MONOTONE_H

#include "reference/plan/brute_force.h"

#define BRUTE_MAX_LAYERS  5
#define BRUTE_MAX_REQUEST 8

struct brute_recurrence {
    const struct vbs_problem *problem;
    int64_t tot_bytes; /* TOT, or -1: everything fits, and needs are noted */
    int64_t *needs;    /* A + IN + WS + OUT of every combination that was tried; free() */
    int n_needs, capacity;
};

/* Computes the recurrence, for networks each of whose layers reads the one before. */
double brute_recurrence_us(struct brute_recurrence *dp, int64_t memory_bytes);

/* A chunk, and the batch of every layer in it. */
struct brute_batching {
    int done, chunk; /* samples done before it, and in it */
    int batches[BRUTE_MAX_LAYERS + 1];
    int64_t base_bytes[BRUTE_MAX_LAYERS + 1]; /* the largest of the layer's steps, without
                                                 workspace */
};

struct brute_enumeration {
    const struct vbs_problem *problem;
    struct brute_batching *batchings; /* free() */
    int n_batchings, capacity;
    int64_t memory_bytes;
};

/* Fills in the batchings. */
void brute_enumerate(struct brute_enumeration *all);
double brute_enumeration_us(struct brute_enumeration *all, int64_t memory_bytes);

#endif
