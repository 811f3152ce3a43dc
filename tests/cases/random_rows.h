/* Small random profiles whose layers can be computed by rows. */
#ifndef TESTS_RANDOM_ROWS_H
#define TESTS_RANDOM_ROWS_H

#include "cases/random_profile.h"
#include "reference/plan/brute_rows.h"

#define RANDOM_MAX_ROWS 20 /* of a tensor */

/*
 * Makes a profile of at most max_layers layers (1..RANDOM_MAX_LAYERS): windows of any kernel,
 * stride, padding and dilation, layers that add, drop or step over rows, that spread them or double
 * them, sums of tensors with equal rows, layers that read one of their inputs whole, and layers
 * without rows; most have weights. Batches 1 and 2, and at both stripes of 1, 2, 4, 8 and 16 rows.
 * All times are whole numbers below 2^10. Null: the builder refused, and the reason is printed as a
 * TAP comment.
 */
struct vbs_profile *random_rows_profile(gsl_rng *rng, int max_layers);

/* The same where rows read their layer's weights; algorithm b mostly packs them to a larger format.
 */
struct vbs_profile *random_rows_weighted(gsl_rng *rng, int max_layers);

/* The same with tensors of at most max_rows rows, in a chain: for slow references. Times are those
 * of a launch and of rows in proportion. */
struct vbs_profile *random_rows_chain(gsl_rng *rng, int n_layers, int max_rows);

/* Such a chain whose layers have weights, which are read as a whole by each step. */
struct vbs_profile *random_rows_weighted_chain(gsl_rng *rng, int n_layers, int max_rows);

/*
 * Makes a profile of two convolutions of 3 rows, "first" and "second", one behind the other, over
 * rows of row_bytes; at batch 1 with algorithm "a", stripes of 1, 2, 4, ... rows up to most_stripe
 * and whole samples, each in 1 us. Ends the program where the builder refuses.
 */
struct vbs_profile *rows_pair_profile(int rows, int64_t row_bytes, int most_stripe);

#define RANDOM_ROWS_ALGORITHMS 3

/* The names of algorithms of these profiles. */
extern const char *const random_rows_algorithms[RANDOM_ROWS_ALGORITHMS];

/* Draws a step that may be right in this state: mostly one that goes on where its layer is. Its
 * algorithm is an index of random_rows_algorithms. */
struct vbs_step random_rows_step(gsl_rng *rng, const struct brute_rows *state);

/* Gives the row of the profile that such a step runs, or null. */
const struct vbs_profile_row *random_rows_row(const struct vbs_profile *profile,
                                              const struct vbs_step *step);

/* Makes a random schedule of a request of at most BRUTE_ROWS_SAMPLES samples, with steps by rows
 * among others; freed by vbs_schedule_free. Its prediction is empty. Null: it was stuck, or memory
 * is out. */
struct vbs_schedule *random_rows_schedule(gsl_rng *rng, const struct vbs_profile *profile,
                                          int request, enum vbs_io io);

#endif
