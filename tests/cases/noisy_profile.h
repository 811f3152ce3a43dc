/* Measurements of a made-up network whose true times are known, for tests of noise. */
#ifndef TESTS_NOISY_PROFILE_H
#define TESTS_NOISY_PROFILE_H

#include "vbslab/measure.h"

#include <gsl/gsl_rng.h>

#define NOISY_BATCHES  6 /* 1, 2, 3, 4, 6, 12 */
#define NOISY_MAX_RUNS 64

/* The network, and the noise of its measurement. */
struct noisy_plan {
    int n_layers; /* a chain; every fourth layer takes eight times the workspace of the others */
    int n_runs;   /* samples of each row, 0: the true times, without intervals */
    double sigma; /* of lognormal noise, whose median is the true time */
    /* Gives the true time of a row; null: proportional to 4 + batch, layers differ, and a batch of
     * 3 is slow. */
    double (*time_us)(int layer, int batch);
    /* Overrides sigma for a layer; null: it is the same for all. */
    double (*layer_sigma)(int layer);
};

/* A measurement; its samples are kept. */
struct noisy {
    struct vbs_profile *profile;
    struct vbs_sample_source source; /* of the samples */
    int n_runs;
    double (*samples_us)[NOISY_MAX_RUNS]; /* [row] in the order of the profile */
    int n_reads;                          /* rows that were asked for */
    int fail_at;                          /* read that fails with VBS_STORE, from 1; 0: none */
    int n_kept;                           /* rows whose samples are kept; the others give none */
};

/* Makes a measurement; ends the program when it cannot. */
struct noisy *noisy_new(gsl_rng *rng, const struct noisy_plan *plan);
void noisy_free(struct noisy *noisy);

#endif
