/* The priors of the unknowns. */
#include "tune/gp/prior.h"
#include "tune/gp/gp.h"

#include <math.h>

/* A normal prior of a logarithm, and the bounds between which it is sought. */
struct gp_belief {
    double mean, deviation, low, high;
};

/* A function of many coordinates mostly varies slowly along each: the typical length grows as the
 * typical distance of two points does, with the root of d (Hvarfner, Hellsten, Nardi: Vanilla
 * Bayesian Optimization Performs Great in High Dimensions, 2024). */
static struct gp_belief belief_of(int d, int which)
{
    if (which == GP_VARIANCE(d))
        return (struct gp_belief){0, 1.5, -6, 6};
    if (which == GP_NOISE(d))
        return (struct gp_belief){-9, 3, -16, 2};
    return (struct gp_belief){-1.2 + 0.5 * log(d), 1, -5, 6};
}

void vbs_gp_start(int d, int start, double *unknown)
{
    static const double AWAY[GP_N_STARTS] = {0, -1, 1.5};

    for (int k = 0; k < GP_N_UNKNOWN(d); k++)
        unknown[k] = belief_of(d, k).mean + (k < d ? AWAY[start] : 0);
}

bool vbs_gp_allowed(int d, const double *unknown)
{
    for (int k = 0; k < GP_N_UNKNOWN(d); k++) {
        struct gp_belief belief = belief_of(d, k);

        if (!(unknown[k] >= belief.low && unknown[k] <= belief.high))
            return false;
    }
    return true;
}

double vbs_gp_prior(int d, const double *unknown, double *gradient)
{
    double sum = 0;

    for (int k = 0; k < GP_N_UNKNOWN(d); k++) {
        struct gp_belief belief = belief_of(d, k);
        double z = (unknown[k] - belief.mean) / belief.deviation;

        sum += z * z / 2;
        if (gradient)
            gradient[k] += z / belief.deviation;
    }
    return sum;
}
