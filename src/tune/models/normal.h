/* Logarithms of quantities of the normal distribution, exact far out in its tails. Internal to the
 * sub-room. */
#ifndef VBS_TUNE_MODELS_NORMAL_H
#define VBS_TUNE_MODELS_NORMAL_H

/* Gives the logarithm of the probability that a normal number is at least 0. */
double vbs_tune_log_probability(double mean, double deviation);

/* Gives the logarithm of the expected value of max(0, number - level) of a normal number (Ament et
 * al.: Unexpected Improvements to Expected Improvement for Bayesian Optimization, 2023). */
double vbs_tune_log_improvement(double mean, double deviation, double level);

#endif
