/* Measured profiles of made-up networks, whose true times are known, for tests of posterior times.
 */
#ifndef TESTS_TIMED_PROFILE_H
#define TESTS_TIMED_PROFILE_H

#include "vbslab/profile.h"

#include <gsl/gsl_rng.h>

#define TIMED_MOST_RUNS 1000

/* The network, and the noise of its measurement. */
struct timed_plan {
    int n_layers, n_batches; /* a chain; batches 1..n_batches */
    int n_algorithms;        /* at most 3, of every layer at every batch */
    bool stripes;            /* of 1, 2 and 4 rows, at batches 1 and 2 */
    int n_runs; /* samples of each row, up to TIMED_MOST_RUNS; 0: 1 to 20, by chance; -1: none,
                   times are the true ones */
    double deviation;      /* of lognormal noise, whose median is the true time */
    double disturbed;      /* share of the runs that others make 2 to 10 times as long */
    bool intervals;        /* rows without runs have the interval of one value with this noise */
    double steps;          /* standard deviation of each row from what is smooth over batches */
    double level, context; /* how many times as long rows take in schedules, and the standard
                              deviation of its logarithm, most of which rows of a layer at similar
                              batches have in common */
};

/* A measurement. Arrays are in the order of the profile's rows: by layer; of a layer those of whole
 * samples by batch and algorithm, then those of stripes by batch, rows and algorithm. */
struct timed {
    struct vbs_profile *profile;
    int n_rows;
    const struct vbs_profile_row **rows;
    int *layers, *batches;
    double *alone_us, *schedule_us; /* true times of the whole batch: alone and in schedules */
};

/* Makes a measurement; ends the program when it cannot. */
struct timed *timed_new(gsl_rng *rng, const struct timed_plan *plan);
/* Lists the rows of a profile, which is borrowed; the true times are those of the profile. */
struct timed *timed_of(struct vbs_profile *profile);
void timed_free(struct timed *timed); /* with its profile */

/* Returns the row of a profile with the same rows that is in the place of row i. */
const struct vbs_profile_row *timed_row(const struct timed *timed,
                                        const struct vbs_profile *profile, int i);

#endif
