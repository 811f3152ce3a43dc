/* Random small networks with operators of all kinds that channels pass through: residual sums,
 * concatenations, groups, depthwise convolutions, views, shuffles, slices, gates. */
#ifndef TESTS_RANDOM_NETWORK_H
#define TESTS_RANDOM_NETWORK_H

#include "vbslab/model.h"

#include <gsl/gsl_rng.h>

/* Makes a network of one output and about n_operators operators; null: it failed, and ctx says
 * why. */
struct vbs_network *random_network(struct vbs_ctx *ctx, gsl_rng *rng, int n_operators);

#endif
