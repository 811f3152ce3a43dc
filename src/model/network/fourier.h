/* The discrete Fourier transform of any length, in doubles: for layers, and for constants that are
 * transformed while a file is read. */
#ifndef VBS_MODEL_NETWORK_FOURIER_H
#define VBS_MODEL_NETWORK_FOURIER_H

#include <stdbool.h>
#include <stdint.h>

#define VBS_FOURIER_MOST    (INT64_C(1) << 20) /* elements */
#define VBS_FOURIER_FACTORS 20                 /* of a length below that, or of 4 times that */

/* What a transform of n elements needs beside them. Complex numbers are pairs of doubles. */
struct vbs_fourier {
    int64_t n;
    int64_t length; /* of the transforms that are made: n, or a power of 2 beyond 2 n */
    int n_factors;
    int factors[VBS_FOURIER_FACTORS]; /* of length */
    const double *roots;              /* [length] e^(-2 pi i k / length) */
    const double *chirp;              /* [n] e^(-pi i k^2 / n); null: length is n */
    const double *filter;             /* [length] the transform of its conjugate, / length */
};

/* Return how many doubles a transform of n elements keeps, and how many it needs while it runs.
 * n is 1 to VBS_FOURIER_MOST. */
int64_t vbs_fourier_table(int64_t n);
int64_t vbs_fourier_space(int64_t n);

/* Makes a transform in a table of vbs_fourier_table(n) doubles, which must live as long as it;
 * space: of vbs_fourier_space(n). O(n log n). */
void vbs_fourier_init(int64_t n, double *table, double *space, struct vbs_fourier *f);

/* Replaces x, [n], by its transform, sum over j of x[j] e^(-2 pi i j k / n), or by the inverse one,
 * sum over k of x[k] e^(2 pi i j k / n) / n. The error is about 1e-16 log2 n of the root of the
 * mean square. O(n log n). */
void vbs_fourier_run(const struct vbs_fourier *f, bool inverse, double *x, double *space);

/* Makes of the elements 0 .. n / 2 of x, [n], all elements of a transform of real numbers. */
void vbs_fourier_complete(int64_t n, double *x);

#endif
