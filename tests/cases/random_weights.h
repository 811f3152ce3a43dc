/* Small random profiles with weights, and links to copy them over, for planners with weights inside
 * the budget. */
#ifndef TESTS_RANDOM_WEIGHTS_H
#define TESTS_RANDOM_WEIGHTS_H

#include "cases/random_profile.h"

/*
 * A random_profile (of that graph and size) with other weights: some layers have none, often the
 * first ones; now and then one has far more than all others together. Channels are known or not,
 * fewer than bytes or more. two_forms: some layers have an algorithm more, twice as fast in most
 * batches, that packs its weights to a larger format 1. Times are whole numbers still. Null as
 * random_profile.
 */
struct vbs_profile *random_weights_profile(gsl_rng *rng, enum random_graph graph, int max_layers,
                                           bool two_formats);

/* profile, which it frees, with rows that say in how many slices they run: any number, none, or 2
 * to 4 that were measured; alike: those of an algorithm say the same at all batches. Null as above,
 * and where profile is. */
struct vbs_profile *say_slices(gsl_rng *rng, struct vbs_profile *profile, bool alike);

/* profile without any weights; null as above. */
struct vbs_profile *without_weights(const struct vbs_profile *profile);

/* "given", with or without latency, of a low or a high rate, now and then 0 or next to it. */
struct vbs_link random_link(gsl_rng *rng);

#endif
