#include "reference/tune/gauss.h"

#include <math.h>
#include <string.h>

/* The Matern kernel of order 5/2, from its form with a half-integer order: a sum over k of (p + k)!
 * / (k! (p - k)!) (2 a)^(p - k), times p! / (2 p)! exp(-a), for p = 2 and a = sqrt(5) r. */
static long double kernel(const struct gauss *gauss, const double *a, const double *b)
{
    static const long double FACTORIAL[] = {1, 1, 2, 6, 24};
    long double square = 0, scaled, sum = 0;

    for (int i = 0; i < gauss->d; i++) {
        long double difference = (long double)a[i] - b[i];

        if (i >= gauss->n_smooth)
            difference = a[i] != b[i];
        square += powl(difference / gauss->lengths[i], 2);
    }
    scaled = sqrtl(5 * square);
    for (int k = 0; k <= 2; k++)
        sum += FACTORIAL[2 + k] / (FACTORIAL[k] * FACTORIAL[2 - k]) * powl(2 * scaled, 2 - k);
    return gauss->variance * expl(-scaled) * FACTORIAL[2] / FACTORIAL[4] * sum;
}

/* Inverts the covariance by Gauss and Jordan's elimination; gives the logarithm of its determinant.
 */
static long double invert(const struct gauss *gauss, long double inverse[GAUSS_MAX][GAUSS_MAX])
{
    long double a[GAUSS_MAX][2 * GAUSS_MAX] = {{0}}, log_determinant = 0;
    int n = gauss->n;

    for (int i = 0; i < n; i++) {
        for (int k = 0; k < n; k++)
            a[i][k] = kernel(gauss, gauss->x + i * gauss->d, gauss->x + k * gauss->d);
        a[i][i] += gauss->noise;
        a[i][n + i] = 1;
    }
    for (int i = 0; i < n; i++) {
        log_determinant += logl(a[i][i]);
        for (int k = 2 * n - 1; k >= i; k--)
            a[i][k] /= a[i][i];
        for (int r = 0; r < n; r++) {
            long double factor = a[r][i];

            for (int k = i; r != i && k < 2 * n; k++)
                a[r][k] -= factor * a[i][k];
        }
    }
    for (int i = 0; i < n; i++)
        memcpy(inverse[i], &a[i][n], sizeof a[i][0] * (size_t)n);
    return log_determinant;
}

double gauss_likelihood(const struct gauss *gauss)
{
    long double inverse[GAUSS_MAX][GAUSS_MAX], log_determinant = invert(gauss, inverse), sum = 0;

    for (int i = 0; i < gauss->n; i++) {
        for (int k = 0; k < gauss->n; k++)
            sum += gauss->y[i] * inverse[i][k] * gauss->y[k];
    }
    return (double)(-sum / 2 - log_determinant / 2 - gauss->n * logl(2 * M_PIl) / 2);
}

void gauss_predict(const struct gauss *gauss, const double *at, double *mean, double *variance)
{
    long double inverse[GAUSS_MAX][GAUSS_MAX], m = 0, v = kernel(gauss, at, at);

    invert(gauss, inverse);
    for (int i = 0; i < gauss->n; i++) {
        long double here = kernel(gauss, at, gauss->x + i * gauss->d);

        for (int k = 0; k < gauss->n; k++) {
            m += here * inverse[i][k] * gauss->y[k];
            v -= here * inverse[i][k] * kernel(gauss, at, gauss->x + k * gauss->d);
        }
    }
    *mean = (double)m;
    *variance = (double)v;
}
