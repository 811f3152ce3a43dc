/* A random matrix of shared values and the way in which it is coded, as tests try many of. */
#ifndef TESTS_CODED_SUBJECT_H
#define TESTS_CODED_SUBJECT_H

#include "support/tally.h"
#include "vbslab/coded.h"

#include <gsl/gsl_rng.h>

struct coded_subject {
    struct tally tally;
    gsl_rng *rng;
    int number;
    struct vbs_quantised quantised;
    struct vbs_coding_options options;
    double density;
};

/* Prints the subject, for its tally. */
static inline void coded_describe(const void *self)
{
    const struct coded_subject *subject = self;

    printf("matrix %d, %" PRId64 " x %" PRId64 ", %s, %d and %d bits, blocks of %" PRId64
           " x %" PRId64 ", density %g",
           subject->number, subject->quantised.n_rows, subject->quantised.n_columns,
           vbs_coding_name(subject->options.coding), subject->quantised.bits,
           subject->options.index_bits, subject->options.block_rows, subject->options.block_columns,
           subject->density);
}

/* Gives a random number from 0 to n - 1. */
static inline int coded_below(const struct coded_subject *subject, int n)
{
    return (int)gsl_rng_uniform_int(subject->rng, (unsigned long)n);
}

/* Gives whether two have the same bytes. */
static inline bool coded_is_same(const struct vbs_coded *a, const struct vbs_coded *b)
{
    size_t n_a, n_b;
    const void *bytes_a = vbs_coded_bytes(a, &n_a), *bytes_b = vbs_coded_bytes(b, &n_b);

    return n_a == n_b && memcmp(bytes_a, bytes_b, n_a) == 0;
}

#endif
