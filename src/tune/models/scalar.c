/* The weighted distance of ParEGO. */
#include "tune/models/scalar.h"

#include <math.h>

#define AUGMENTATION 0.05 /* the share of the sum, by which a dominated point is worse */

/* Draws weights evenly from those above 0 with the sum 1. */
static void draw_weights(const struct tune_problem *problem, double *weights)
{
    struct tune_random random =
        vbs_tune_random(problem->options.seed, TUNE_WEIGHTS, (uint64_t)problem->n_trials);
    double sum = 0;

    for (int o = 0; o < problem->options.n_objectives; o++) {
        weights[o] = -log(1 - vbs_tune_uniform(&random));
        sum += weights[o];
    }
    for (int o = 0; o < problem->options.n_objectives; o++)
        weights[o] = sum > 0 ? weights[o] / sum : 1.0 / problem->options.n_objectives;
}

void vbs_tune_scalar(const struct tune_problem *problem, const int *trials, int n, double *values)
{
    int width = problem->options.n_objectives;
    double weights[VBS_SEARCH_MAX_OBJECTIVES], low[VBS_SEARCH_MAX_OBJECTIVES];
    double high[VBS_SEARCH_MAX_OBJECTIVES];

    draw_weights(problem, weights);
    for (int o = 0; o < width; o++) {
        low[o] = INFINITY;
        high[o] = -INFINITY;
        for (int i = 0; i < n; i++) {
            low[o] = fmin(low[o], problem->trials[trials[i]].objectives[o]);
            high[o] = fmax(high[o], problem->trials[trials[i]].objectives[o]);
        }
    }
    for (int i = 0; i < n; i++) {
        double most = 0, sum = 0;

        for (int o = 0; o < width; o++) {
            double range = high[o] - low[o], distance = 0;

            if (range > 0)
                distance = (high[o] - problem->trials[trials[i]].objectives[o]) / range;
            most = fmax(most, weights[o] * distance);
            sum += weights[o] * distance;
        }
        values[i] = -most - AUGMENTATION * sum;
    }
}
