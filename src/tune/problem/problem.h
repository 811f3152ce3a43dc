/*
 * tune/problem: a search as the samplers see it, checked, with defaults filled in, and with the
 * points that have been tried already. This header names everything that the other sub-rooms of
 * tune use of it.
 */
#ifndef VBS_TUNE_PROBLEM_PROBLEM_H
#define VBS_TUNE_PROBLEM_PROBLEM_H

#include "base/arena.h"
#include "tune/space/space.h"
#include "vbslab/tune.h"

struct tune_problem {
    const struct vbs_search_space *space;
    struct vbs_sampler_options options; /* with defaults */
    const struct vbs_search_trial *trials;
    int n_trials;
    struct vbs_arena arena; /* freed with the problem */
    const double *exact;    /* [n_trials, n_parameters] points as vbs_tune_exact writes them */
    const int *sorted;      /* [n_trials] indices, by exact points */
};

/* Checks everything and makes a problem, which borrows space and trials; it is to be cleared after
 * failure, too. Errors: as vbs_sampler_suggest. */
enum vbs_status vbs_tune_problem_init(struct vbs_ctx *ctx, const struct vbs_search_space *space,
                                      const struct vbs_sampler_options *options,
                                      const struct vbs_search_trial *trials, int n_trials,
                                      struct tune_problem *problem) VBS_MUST_CHECK;
void vbs_tune_problem_clear(struct tune_problem *problem);

/* Gives whether an exact point may be suggested: no trial has it, and known objectives allow it.
 * O(n_parameters log n_trials). */
bool vbs_tune_is_open(const struct tune_problem *problem, const double *point);

/* Gives the value of a known objective. */
double vbs_tune_known(const struct tune_problem *problem, int objective, const double *point);
bool vbs_tune_is_known(const struct tune_problem *problem, int objective);

/* Gives whether a trial is complete and all its values are finite. */
bool vbs_tune_has_values(const struct tune_problem *problem, int trial);

/* Writes the point with an index of a finite space. */
void vbs_tune_point_at(const struct vbs_search_space *space, int64_t index, double *point);

/* Writes a random point. */
void vbs_tune_random_point(const struct vbs_search_space *space, struct tune_random *random,
                           double *point);

/* Writes a random point that may be suggested. In a finite space one is found wherever there is
 * one among the next million points of its order. VBS_NOT_FOUND: there is none; VBS_INTERRUPTED. */
enum vbs_status vbs_tune_random_open(struct vbs_ctx *ctx, const struct tune_problem *problem,
                                     struct tune_random *random, double *point) VBS_MUST_CHECK;

#endif
