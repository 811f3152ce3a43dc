/* A Gaussian process by its textbook formulas, with the inverse and the determinant of the dense
 * covariance in long double. It shares no code with the library. */
#ifndef TESTS_REFERENCE_GAUSS_H
#define TESTS_REFERENCE_GAUSS_H

#include <stdbool.h>

#define GAUSS_MAX 24 /* points */

/* Values y [n] at points x [n, d], whose last d - n_smooth coordinates are categories. */
struct gauss {
    int n, d, n_smooth;
    const double *x, *y;
    const double *lengths; /* [d] */
    double variance, noise;
};

/* Gives the logarithm of the marginal likelihood. */
double gauss_likelihood(const struct gauss *gauss);

/* Predicts the value, without noise, at a point: its mean and its variance. */
void gauss_predict(const struct gauss *gauss, const double *at, double *mean, double *variance);

#endif
