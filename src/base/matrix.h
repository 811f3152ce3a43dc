/* Dense symmetric positive definite matrices, by rows. Internal to the library. */
#ifndef VBS_BASE_MATRIX_H
#define VBS_BASE_MATRIX_H

#include <stdbool.h>

/* How many right-hand sides vbs_matrix_solve_many solves at once. */
#define VBS_MATRIX_LANES 8

/* Factors A = U^T U, in place: reads the upper triangle of a [n, n] and replaces it by U. False
 * where A is not positive definite (or holds a NaN); a is then of no use. O(n^3 / 3). */
bool vbs_matrix_factor(double *a, int n);

/* Solves U^T x = b in place of b [n]. O(n^2). */
void vbs_matrix_solve_lower(const double *u, int n, double *b);

/* Does the same for VBS_MATRIX_LANES right-hand sides, b: [n, VBS_MATRIX_LANES]. */
void vbs_matrix_solve_many(const double *u, int n, double *b);

/* Solves U x = b in place of b [n]. O(n^2). */
void vbs_matrix_solve_upper(const double *u, int n, double *b);

/* Writes the lower triangle of the inverse of U^T U to inverse [n, n]; work: [n, n]. O(2 n^3 / 3).
 */
void vbs_matrix_invert(const double *u, int n, double *work, double *inverse);

#endif
