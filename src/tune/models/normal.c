/* The normal distribution, by functions of GSL that do not fail for the arguments given here. */
#include "tune/models/normal.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_sf_erf.h>
#include <math.h>

#define HALF_LOG_2_PI 0.91893853320467274178
#define FAR           20 /* deviations, from which on a series is as exact as a double */

double vbs_tune_log_probability(double mean, double deviation)
{
    return gsl_sf_log_erfc(-mean / deviation * M_SQRT1_2) - M_LN2;
}

/* Gives the logarithm of the expected value of max(0, z + n) of a normal number n. */
static double log_excess(double z)
{
    double inverse = 1 / (z * z);

    if (z > -1)
        return log(gsl_ran_ugaussian_pdf(z) + z * gsl_cdf_ugaussian_P(z));
    if (z > -FAR)
        return -z * z / 2 - HALF_LOG_2_PI + log1p(z / gsl_sf_hazard(-z));
    return -z * z / 2 - HALF_LOG_2_PI + log(inverse) +
           log1p(-inverse * (3 - inverse * (15 - inverse * (105 - inverse * 945))));
}

double vbs_tune_log_improvement(double mean, double deviation, double level)
{
    return log(deviation) + log_excess((mean - level) / deviation);
}
