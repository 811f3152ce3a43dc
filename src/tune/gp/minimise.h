/* Minimising a smooth function. Internal to the sub-room. */
#ifndef VBS_TUNE_GP_MINIMISE_H
#define VBS_TUNE_GP_MINIMISE_H

#include <stddef.h>

/* A function of n numbers with its gradient [n]; it may give INFINITY, and then need not write the
 * gradient. */
typedef double gp_function(void *self, const double *x, double *gradient);

/* Gives the number of doubles of work that vbs_gp_minimise needs for n numbers. */
#define GP_MINIMISE_WORK(n) ((size_t)(n) * ((size_t)(n) + 5))

/* Moves x [n] to a local minimum of the function, by the method of Broyden, Fletcher, Goldfarb and
 * Shanno, in at most max_calls calls; gives the value there. Where x itself gives INFINITY it stays
 * and INFINITY is the answer. O(n^2) besides each call. */
double vbs_gp_minimise(gp_function *function, void *self, int n, double *x, int max_calls,
                       double *work);

#endif
