/*
 * Dense matrices. All inner loops but one add a multiple of a row to a row, so that compilers can
 * vectorise them without changing the order of additions. GSL's own factorisation is not used: it
 * reports a matrix that is not positive definite to GSL's error handler, which ends the program
 * unless the program has set another one, and which is one for all threads.
 */
#include "base/matrix.h"

#include <gsl/gsl_cblas.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* row[i] -= factor * other[i] for n numbers. */
static void subtract(double *restrict row, const double *restrict other, double factor, int n)
{
    for (int i = 0; i < n; i++)
        row[i] -= factor * other[i];
}

bool vbs_matrix_factor(double *a, int n)
{
    for (int k = 0; k < n; k++) {
        double *row = a + (size_t)k * n, pivot = row[k];

        if (!(pivot > 0) || isinf(pivot))
            return false;
        pivot = 1 / sqrt(pivot);
        for (int j = k; j < n; j++)
            row[j] *= pivot;
        for (int i = k + 1; i < n; i++)
            subtract(a + (size_t)i * n + i, row + i, row[i], n - i);
    }
    return true;
}

void vbs_matrix_solve_lower(const double *u, int n, double *b)
{
    for (int k = 0; k < n; k++) {
        const double *row = u + (size_t)k * n;

        b[k] /= row[k];
        subtract(b + k + 1, row + k + 1, b[k], n - k - 1);
    }
}

void vbs_matrix_solve_many(const double *u, int n, double *b)
{
    for (int k = 0; k < n; k++) {
        const double *row = u + (size_t)k * n;
        double *solved = b + (size_t)k * VBS_MATRIX_LANES;

        for (int lane = 0; lane < VBS_MATRIX_LANES; lane++)
            solved[lane] /= row[k];
        for (int j = k + 1; j < n; j++)
            subtract(b + (size_t)j * VBS_MATRIX_LANES, solved, row[j], VBS_MATRIX_LANES);
    }
}

void vbs_matrix_solve_upper(const double *u, int n, double *b)
{
    for (int k = n - 1; k >= 0; k--) {
        const double *row = u + (size_t)k * n;

        b[k] = (b[k] - cblas_ddot(n - k - 1, row + k + 1, 1, b + k + 1, 1)) / row[k];
    }
}

void vbs_matrix_invert(const double *u, int n, double *work, double *inverse)
{
    /* The rows of the inverse of U^T, a lower triangle. */
    for (int k = 0; k < n; k++) {
        double *row = work + (size_t)k * n, pivot = 1 / u[(size_t)k * n + k];

        memset(row, 0, sizeof *row * (size_t)k);
        row[k] = 1;
        for (int i = 0; i < k; i++)
            subtract(row, work + (size_t)i * n, u[(size_t)i * n + k], i + 1);
        for (int i = 0; i <= k; i++)
            row[i] *= pivot;
    }
    for (int a = 0; a < n; a++) {
        double *row = inverse + (size_t)a * n;

        memset(row, 0, sizeof *row * ((size_t)a + 1));
    }
    for (int k = 0; k < n; k++) {
        const double *row = work + (size_t)k * n;

        for (int a = 0; a <= k; a++)
            subtract(inverse + (size_t)a * n, row, -row[a], a + 1);
    }
}
