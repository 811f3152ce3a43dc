/* Small random profiles whose layers can be computed by rows. */
#ifndef TESTS_RANDOM_ROWS_H
#define TESTS_RANDOM_ROWS_H

#include "cases/random_profile.h"

#define RANDOM_MAX_ROWS 20 /* of a tensor */

/*
 * Makes a profile of at most max_layers layers (1..RANDOM_MAX_LAYERS): windows of any kernel,
 * stride, padding and dilation, layers that double the rows, sums of tensors with equal rows,
 * layers that read one of their inputs whole, and layers without rows. Batches 1 and 2, and at
 * both stripes of 1, 2, 4, 8 and 16 rows. All times are whole numbers below 2^10. Null: the builder
 * refused, and the reason is printed as a TAP comment.
 */
struct vbs_profile *random_rows_profile(gsl_rng *rng, int max_layers);

/* The same with tensors of at most max_rows rows, in a chain: for slow references. Times are those
 * of a launch and of rows in proportion. */
struct vbs_profile *random_rows_chain(gsl_rng *rng, int n_layers, int max_rows);

#endif
