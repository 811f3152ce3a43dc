/* Small random profiles with weights, and links to copy them over, for planners with weights inside
 * the budget. */
#ifndef TESTS_RANDOM_WEIGHTS_H
#define TESTS_RANDOM_WEIGHTS_H

#include "cases/random_profile.h"

/*
 * Makes a random_profile (of this graph and size) with other weights: some layers have none, often
 * the first ones; sometimes one has far more than all others together. Channels are known or not,
 * fewer than bytes or more. two_forms: some layers have one more algorithm, twice as fast in most
 * batches, that packs its weights to a larger format 1. Times are still whole numbers. Null as
 * random_profile.
 */
struct vbs_profile *random_weights_profile(gsl_rng *rng, enum random_graph graph, int max_layers,
                                           bool two_formats);

/* Copies profile, which it frees, with numbers of slices in its rows: any number, none, or 2 to 4
 * measured ones. alike: the rows of an algorithm have the same at all batches. Null as above, and
 * where profile is null. */
struct vbs_profile *say_slices(gsl_rng *rng, struct vbs_profile *profile, bool alike);

/* Copies profile without any weights; null as above. */
struct vbs_profile *without_weights(const struct vbs_profile *profile);

/* Makes a link "given", with or without latency, of a low or a high rate, sometimes 0 or nearly
 * so. */
struct vbs_link random_link(gsl_rng *rng);

/* Fills factors, [n_layers + 1], with how much copies and layers slow each other down (struct
 * vbs_link), and gives it; or gives null, for nothing is slowed down. Some factors are 1, others so
 * large that it would be faster to wait than to copy beside computing. */
const double *random_beside(gsl_rng *rng, int n_layers, double *factors);

#endif
