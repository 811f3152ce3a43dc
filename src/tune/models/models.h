/*
 * tune/models: what the Bayesian sampler knows. Gaussian processes of objectives and constraints,
 * and the best that has been reached. This header names everything that the other sub-rooms of
 * tune use of it.
 */
#ifndef VBS_TUNE_MODELS_MODELS_H
#define VBS_TUNE_MODELS_MODELS_H

#include "tune/gp/gp.h"
#include "tune/problem/problem.h"
#include "tune/space/space.h"

/* What is modelled. An objective that is known has no process. With the rule `scalar` there is one
 * objective, the weighted distance, and it has a process. */
struct tune_models {
    const struct tune_problem *problem;
    struct tune_axes axes;
    int n_objectives;
    bool known[VBS_SEARCH_MAX_OBJECTIVES];
    struct tune_gp objectives[VBS_SEARCH_MAX_OBJECTIVES];
    int n_conditions; /* constraints, and perhaps one more: the trial ends with values */
    struct tune_gp conditions[VBS_SEARCH_MAX_CONSTRAINTS + 1];
    /* Points whose constraints hold, or are expected to hold of a trial that runs; there may be
     * none. */
    int n_feasible;
    double best;         /* of one objective: its largest value at these points */
    int n_front;         /* of two: their Pareto front, */
    const double *front; /* [n_front, 2] by rising first objective, */
    double reference[2]; /* and the values that count as nothing */
    int n_leaders;       /* trials with the best points known, the best first: */
    const int *leaders;  /* near them better points are sought */
};

/* Gives whether there are enough trials for models: as many as the options want, and two of them
 * complete. */
bool vbs_tune_can_model(const struct tune_problem *problem);

/* Makes the models, in memory of the arena. VBS_NO_MEMORY, VBS_INTERRUPTED. */
enum vbs_status vbs_tune_models(struct vbs_ctx *ctx, const struct tune_problem *problem,
                                struct vbs_arena *arena, struct tune_models *models) VBS_MUST_CHECK;

/* Scores points [n, n_parameters]: the logarithm of the acquisition of each. VBS_NO_MEMORY. */
enum vbs_status vbs_tune_score(struct vbs_ctx *ctx, const struct tune_models *models,
                               const double *points, int n, double *scores) VBS_MUST_CHECK;

#endif
