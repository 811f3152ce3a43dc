/*
 * vbslab/tune.h - choosing the points of a search space that are tried next.
 *
 * A search tries points of a space of parameters and learns from each trial the values of one or
 * more objectives, which are all maximised, and of constraints, which are satisfied where they are
 * at least 0. A sampler looks at the trials so far and suggests the next point. This room knows no
 * files, no clock and no networks.
 *
 * A suggestion is a function of the space, the options and the trials in their order, and of
 * nothing else: it has the same bits in any process, so that a search which was stopped goes on as
 * if it had not been. Workers that run at the same time share one list of trials, in which each
 * enters its trial as running before the next suggestion is made.
 *
 * Threads: all structs here belong to the caller and are only read; calls with different contexts
 * may run at the same time. No call touches the error handler of GSL.
 */
#ifndef VBSLAB_TUNE_H
#define VBSLAB_TUNE_H

#include "vbslab/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VBS_SEARCH_MAX_PARAMETERS  256
#define VBS_SEARCH_MAX_OBJECTIVES  3
#define VBS_SEARCH_MAX_CONSTRAINTS 16
#define VBS_SEARCH_MAX_TRIALS      1000000

/* X(NAME, word): the kinds of parameters. Real: a number within low..high. Integer: a whole number
 * within low..high. Categorical: one of n_choices, without an order; its value is the index of the
 * choice, 0..n_choices - 1. */
#define VBS_SEARCH_KIND_LIST(X)                                                                    \
    X(REAL, "real")                                                                                \
    X(INTEGER, "integer")                                                                          \
    X(CATEGORICAL, "categorical")

/*
 * X(NAME, word): the samplers.
 *
 * Bayesian: a Gaussian process for each objective and each constraint (Matern 5/2 kernel with a
 * length for each parameter; lengths, variance and noise by maximum posterior density), and the
 * point with the largest expected improvement times the probability that all constraints hold.
 * Random: independent points, evenly distributed (over the logarithm where a parameter is
 * logarithmic). Grid: all points of a grid, in an order that the seed shuffles. Halving:
 * asynchronous successive halving (Li et al., A System for Massively Parallel Hyperparameter
 * Tuning, 2020): random points are trained for few epochs, and the best of them go on.
 */
#define VBS_SAMPLER_LIST(X)                                                                        \
    X(BAYESIAN, "bayesian")                                                                        \
    X(RANDOM, "random")                                                                            \
    X(GRID, "grid")                                                                                \
    X(HALVING, "halving")

/* X(NAME, word): the states of a trial. Running: it has no values yet. Complete: it has all values;
 * where one of them is not a finite number it counts as failed. Infeasible: it ended without values
 * because its point is impossible (no schedule fits the memory, say). Failed: it ended without
 * values for another reason. */
#define VBS_TRIAL_STATE_LIST(X)                                                                    \
    X(RUNNING, "running")                                                                          \
    X(COMPLETE, "complete")                                                                        \
    X(INFEASIBLE, "infeasible")                                                                    \
    X(FAILED, "failed")

/* X(NAME, word): how the Bayesian sampler judges several objectives. Hypervolume: the expected
 * growth of the volume that the Pareto front dominates, exact (Emmerich et al., Hypervolume-based
 * expected improvement, 2011); for two objectives. Scalar: a weighted Chebyshev distance whose
 * weights the seed draws anew for each trial (Knowles, ParEGO, 2006). Automatic: hypervolume for
 * two objectives, scalar for three. */
#define VBS_FRONT_RULE_LIST(X)                                                                     \
    X(AUTOMATIC, "automatic")                                                                      \
    X(HYPERVOLUME, "hypervolume")                                                                  \
    X(SCALAR, "scalar")

#define VBS_TUNE_ENUM_KIND(name, word)    VBS_SEARCH_##name,
#define VBS_TUNE_ENUM_SAMPLER(name, word) VBS_SAMPLER_##name,
#define VBS_TUNE_ENUM_STATE(name, word)   VBS_TRIAL_##name,
#define VBS_TUNE_ENUM_RULE(name, word)    VBS_FRONT_##name,
/* The kinds of VBS_SEARCH_KIND_LIST. */
enum vbs_search_kind { VBS_SEARCH_KIND_LIST(VBS_TUNE_ENUM_KIND) VBS_N_SEARCH_KINDS };
/* The samplers of VBS_SAMPLER_LIST. */
enum vbs_sampler { VBS_SAMPLER_LIST(VBS_TUNE_ENUM_SAMPLER) VBS_N_SAMPLERS };
/* The states of VBS_TRIAL_STATE_LIST. */
enum vbs_trial_state { VBS_TRIAL_STATE_LIST(VBS_TUNE_ENUM_STATE) VBS_N_TRIAL_STATES };
/* The rules of VBS_FRONT_RULE_LIST. */
enum vbs_front_rule { VBS_FRONT_RULE_LIST(VBS_TUNE_ENUM_RULE) VBS_N_FRONT_RULES };
#undef VBS_TUNE_ENUM_KIND
#undef VBS_TUNE_ENUM_SAMPLER
#undef VBS_TUNE_ENUM_STATE
#undef VBS_TUNE_ENUM_RULE

/* Give the word of a value, such as "bayesian"; null where there is no such value. */
const char *vbs_search_kind_word(enum vbs_search_kind kind);
const char *vbs_sampler_word(enum vbs_sampler sampler);
const char *vbs_trial_state_word(enum vbs_trial_state state);
const char *vbs_front_rule_word(enum vbs_front_rule rule);

/* --- spaces and points --------------------------------------------------------------------- */

/* A parameter. Its values are low, low + step, low + 2 step, ... up to high, or all numbers within
 * low..high. */
struct vbs_search_parameter {
    const char *name; /* for messages; borrowed */
    enum vbs_search_kind kind;
    double low, high; /* finite, low <= high; of an integer: whole and within +-2^53. Categorical:
                         not used */
    double step;      /* at least 0. 0: 1 of an integer, none of a real. Of an integer: whole */
    bool log;         /* distances are those of the logarithms; low > 0. Not of a categorical */
    int n_choices;    /* of a categorical: at least 1 */
};

/* A search space. A point of it is an array with a value for each parameter, in their order. */
struct vbs_search_space {
    int n_parameters; /* 1..VBS_SEARCH_MAX_PARAMETERS */
    const struct vbs_search_parameter *parameters;
};

/* Checks a space. VBS_USAGE names the parameter and says what is wrong with it. O(n_parameters). */
enum vbs_status vbs_search_space_check(struct vbs_ctx *ctx,
                                       const struct vbs_search_space *space) VBS_MUST_CHECK;

/* Gives the number of points of a checked space; INT64_MAX where there are more, or a continuous
 * parameter. */
int64_t vbs_search_space_points(const struct vbs_search_space *space);

/* Checks that a point belongs to a checked space. VBS_USAGE names the parameter, its value and the
 * values that it may have. A value of a real parameter with a step may differ from it by rounding.
 */
enum vbs_status vbs_search_point_check(struct vbs_ctx *ctx, const struct vbs_search_space *space,
                                       const double *point) VBS_MUST_CHECK;

/* --- trials -------------------------------------------------------------------------------- */

/*
 * A trial. With halving, each time that a point is trained on is a trial of its own: it names the
 * trial that it continues, and has that trial's point.
 */
struct vbs_search_trial {
    const double *point; /* [n_parameters] */
    enum vbs_trial_state state;
    const double *objectives;  /* [n_objectives], of a complete trial; all are maximised */
    const double *constraints; /* [n_constraints], of a complete trial; satisfied where >= 0. Null
                                  where there are none */
    int epochs;                /* with halving: up to which it is or was trained; else ignored */
    int continues;             /* with halving: 1 + the index of the trial that it continues, which
                                  stands before it; 0: it is new */
};

/* --- suggestions --------------------------------------------------------------------------- */

/* The options of a search. Begin with {.struct_size = sizeof(struct vbs_sampler_options)}: a member
 * that is 0 or null has the default that is named here. */
struct vbs_sampler_options {
    size_t struct_size;
    enum vbs_sampler sampler;
    uint64_t seed;
    int n_objectives;  /* 1..VBS_SEARCH_MAX_OBJECTIVES; 0: 1 */
    int n_constraints; /* 0..VBS_SEARCH_MAX_CONSTRAINTS */

    /* Of the Bayesian sampler. The first n_initial trials are points of a Sobol sequence, shifted
     * by the seed. */
    int n_initial;  /* 0: 2 + 2 n_parameters, but at most 10; at least 2 otherwise */
    int n_modelled; /* most trials that a Gaussian process holds, 16..2000; 0: 200. Of more trials
                       it holds the best, the newest, and an even choice of the others */
    enum vbs_front_rule front_rule;
    const double *reference; /* [n_objectives] values below which nothing counts for the
                                hypervolume; null: those of the worst feasible trial in each
                                objective, less a tenth of the range of all */

    /* Objectives that can be computed without a trial. Bit i of known_objectives is set where
     * objective i is one. The function must depend on its arguments alone and is called some
     * thousand times for a suggestion; a result that is no finite number, or is not above 0, marks
     * a point that is never suggested. A known objective is not modelled; where the only objective
     * is known, the suggestion has the largest log(objective / best feasible objective) times the
     * probability that all constraints hold. */
    unsigned known_objectives;
    double (*known)(void *self, int objective, const double *point);
    void *self;

    /* Of the grid: values of a parameter that is continuous or has more values than this, at least
     * 2. 0: 5. */
    int grid_levels;

    /* Of halving. Trials are trained for min_epochs, min_epochs * reduction, ... and at last
     * max_epochs; of the trials that have reached one of these, the best 1 / reduction go on. They
     * are ranked by the constraints (feasible first), then by how many others dominate them. */
    int min_epochs; /* 0: 1 */
    int max_epochs; /* at least min_epochs; must be set for halving */
    int reduction;  /* 2..100; 0: 3 */
};

/* What is to be tried next, beside the point. */
struct vbs_suggestion {
    int continues; /* with halving: 1 + the index of the trial that goes on; 0: a new trial */
    int epochs;    /* with halving: up to which it is trained; else 0 */
    double score;  /* of the Bayesian sampler: logarithm of the acquisition at the point; NaN where
                      the point was not chosen by a model */
};

/*
 * Suggests what to try next. point [n_parameters] receives the point (of the trial that goes on,
 * where one does). Trials that run count as if they had the values that the model expects there
 * (Ginsbourger, Le Riche, Carraro: Kriging Is Well-Suited to Parallelize Optimization, 2010), so
 * that workers that run at the same time try different points. From trials without values the model
 * learns the probability that a trial ends with values.
 *
 * No point is suggested twice, whatever became of its trial. Once all points of a finite space, or
 * of the grid, have been tried, the answer is VBS_NOT_FOUND; with halving, once in addition no
 * trial may go on (where trials run that could change this, too).
 *
 * Errors: VBS_USAGE (space, options, a trial outside the space), VBS_NOT_FOUND (above; the known
 * objective allows no point), VBS_NO_MEMORY, VBS_INTERRUPTED.
 *
 * Complexity: n trials, d parameters, m = min(n, n_modelled). Random, grid: O(n d + n log n).
 * Halving: the same and O(r^2) for r trials of equal epochs with several objectives, O(r log r)
 * with one. Bayesian: with it O((m^3 + m^2 d) i) for i steps of finding the lengths, at most some
 * hundred, and O(m^2 c) for c candidates, a few thousand; O(m^2 + n d) memory.
 */
enum vbs_status vbs_sampler_suggest(struct vbs_ctx *ctx, const struct vbs_search_space *space,
                                    const struct vbs_sampler_options *options,
                                    const struct vbs_search_trial *trials, int n_trials,
                                    double *point,
                                    struct vbs_suggestion *suggestion) VBS_MUST_CHECK;

/* --- what came out ------------------------------------------------------------------------- */

/* Gives whether a trial is complete, all its values are finite, and all its constraints hold. */
bool vbs_trial_feasible(const struct vbs_search_trial *trial, int n_objectives, int n_constraints);

/* Gives the index of the feasible trial with the largest first objective, the first of several
 * equal ones; -1: none is feasible. */
int vbs_trials_best(const struct vbs_search_trial *trials, int n_trials, int n_objectives,
                    int n_constraints);

/*
 * Marks the points of a Pareto front: on_front[i] is set where no other point is at least as good
 * in all objectives and better in one. values: [n, n_objectives], maximised, finite; equal points
 * are all on the front or all not. 1..VBS_SEARCH_MAX_OBJECTIVES objectives. VBS_USAGE,
 * VBS_NO_MEMORY. O(n log n) for one and two objectives, O(n log n + n f) for three with f points
 * on the front.
 */
enum vbs_status vbs_pareto_front(struct vbs_ctx *ctx, int n_objectives, const double *values, int n,
                                 bool *on_front) VBS_MUST_CHECK;

/*
 * Gives the hypervolume: the volume of the set of all points that are above reference
 * [n_objectives] and dominated by one of the values [n, n_objectives], which are maximised and
 * finite. Exact but for rounding. 1..VBS_SEARCH_MAX_OBJECTIVES objectives. VBS_USAGE,
 * VBS_NO_MEMORY. O(n log n) for one and two objectives, O(n^2) for three.
 */
enum vbs_status vbs_hypervolume(struct vbs_ctx *ctx, int n_objectives, const double *values, int n,
                                const double *reference, double *volume) VBS_MUST_CHECK;

/*
 * Gives the importance of each parameter for a value that n points have: the share of the value's
 * variance over the space that the parameter explains alone (functional analysis of variance:
 * Hutter, Hoos, Leyton-Brown: An Efficient Approach for Assessing Hyperparameter Importance, 2014),
 * computed exactly on a random forest of 64 regression trees that the seed draws, and averaged over
 * its trees. importance: [n_parameters], each 0..1, with a sum of at most 1; what is missing to 1
 * is explained by several parameters together. All are 0 where the values are all equal. points:
 * [n, n_parameters] in the space; values: [n], finite.
 *
 * VBS_USAGE (also fewer than 2 points), VBS_NO_MEMORY, VBS_INTERRUPTED. O(t n log^2 n d) for t
 * trees.
 */
enum vbs_status vbs_search_importance(struct vbs_ctx *ctx, const struct vbs_search_space *space,
                                      const double *points, const double *values, int n,
                                      uint64_t seed, double *importance) VBS_MUST_CHECK;

/*
 * Predicts a value at points of a space from its values at other points, by the Gaussian process
 * that the Bayesian sampler uses, for pictures of slices and contours. points: [n,
 * n_parameters]; values: [n], finite; n: 1..2000. at: [n_at, n_parameters]. mean and deviation:
 * [n_at], where deviation is the standard deviation of the value without the noise of a trial.
 * VBS_USAGE, VBS_NO_MEMORY, VBS_INTERRUPTED. O(n^3 + n^2 n_at).
 */
enum vbs_status vbs_search_predict(struct vbs_ctx *ctx, const struct vbs_search_space *space,
                                   const double *points, const double *values, int n,
                                   const double *at, int n_at, double *mean,
                                   double *deviation) VBS_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
