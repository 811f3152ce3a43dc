/* What is believed of the unknowns of a process before its values are seen. Internal to the
 * sub-room. */
#ifndef VBS_TUNE_GP_PRIOR_H
#define VBS_TUNE_GP_PRIOR_H

#include <stdbool.h>

#define GP_N_STARTS 3

/* Writes start 0..GP_N_STARTS - 1 of the search for the unknowns; 0 is the priors' centre. */
void vbs_gp_start(int d, int start, double *unknown);

/* Gives whether unknowns are within the bounds between which they are sought. */
bool vbs_gp_allowed(int d, const double *unknown);

/* Gives the negative logarithm of the priors' density (up to a constant), and adds its gradient
 * where that is not null. */
double vbs_gp_prior(int d, const double *unknown, double *gradient);

#endif
