/* Random small networks whose operators move, drop, add, spread or step over rows, with layers on
 * windows between them. */
#ifndef TESTS_RANDOM_SHIFTS_H
#define TESTS_RANDOM_SHIFTS_H

#include "vbslab/model.h"

#include <gsl/gsl_rng.h>

/*
 * Makes a network of one output and about n_operators operators: convolutions, pools and transposed
 * convolutions with odd strides, dilations and paddings, Slice with starts and steps, Pad with rows
 * added and cut off, Resize in several modes, sums and concatenations of branches. Null: it failed,
 * and ctx says why.
 */
struct vbs_network *random_shifts(struct vbs_ctx *ctx, gsl_rng *rng, int n_operators);

#endif
