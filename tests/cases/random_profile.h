/* Small random profiles for property tests, repeatable from the state of the generator. */
#ifndef TESTS_RANDOM_PROFILE_H
#define TESTS_RANDOM_PROFILE_H

#include "vbslab/profile.h"
#include "vbslab/schedule.h"

#include <gsl/gsl_rng.h>

#define RANDOM_MAX_LAYERS   12
#define RANDOM_LARGE_LAYERS 40

enum random_graph {
    RANDOM_LINEAR,   /* a chain: each layer reads the one before */
    RANDOM_BRANCHED, /* series-parallel blocks, nested; joined by concat layers, in-place adds or
                        by a reader of all branches; skip connections, side outputs; some with
                        ids that go from branch to branch */
    RANDOM_DAG,      /* each layer reads any of those before it, or any of the last few */
    RANDOM_N_GRAPHS
};

/* Gives a number from low to high, both included. */
int random_int(gsl_rng *rng, int low, int high);

/* True once in n times on average. */
bool random_once_in(gsl_rng *rng, int n);

/*
 * Makes a profile of at most max_layers layers (1..RANDOM_MAX_LAYERS). All times are whole numbers
 * below 2^10, so that sums of them are exact in any order. Sizes and workspaces are small, partly
 * 0; times and workspaces may fall as the batch grows. Null: the builder refused, and the reason is
 * printed as a TAP comment.
 */
struct vbs_profile *random_profile(gsl_rng *rng, enum random_graph graph, int max_layers);

/* Makes a profile of n_layers (1..RANDOM_LARGE_LAYERS), with batches up to 12 and times of any
 * fraction, for tests without a slow reference. Null as above. */
struct vbs_profile *random_large_profile(gsl_rng *rng, enum random_graph graph, int n_layers);

/* Makes the example of VBS III: three layers, in = out = 1, workspaces of 1, 4, 1 a sample, 4 us
 * for one sample and 6 for two. Null as above. */
struct vbs_profile *example_profile(void);

/* Makes the example with times and workspaces multiplied. */
struct vbs_profile *scaled_example_profile(double time_scale, int64_t ws_scale);

/* Makes a random path from start to goal of request samples, with random algorithms; freed by
 * vbs_schedule_free. Null: out of memory. Its prediction is empty. */
struct vbs_schedule *random_schedule(gsl_rng *rng, const struct vbs_profile *profile, int request,
                                     enum vbs_io io);

#endif
