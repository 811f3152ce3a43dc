/* Checks of a search, and the set of points that have been tried. */
#include "tune/problem/problem.h"
#include "tune/space/space.h"

#include "base/fail.h"
#include "base/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define DRAWS   256     /* of random points, before points are taken in their order */
#define WALK    1000000 /* points in their order */
#define INITIAL 10      /* most initial points by default */

/* ---- checks ---- */

static enum vbs_status check_counts(struct vbs_ctx *ctx, const struct vbs_sampler_options *o)
{
    if ((unsigned)o->sampler >= VBS_N_SAMPLERS || (unsigned)o->front_rule >= VBS_N_FRONT_RULES)
        return vbs_fail(ctx, VBS_USAGE,
                        "the sampler or its rule for several objectives is unknown");
    if (o->n_objectives < 1 || o->n_objectives > VBS_SEARCH_MAX_OBJECTIVES)
        return vbs_fail(ctx, VBS_USAGE, "a search has 1 to %d objectives, not %d",
                        VBS_SEARCH_MAX_OBJECTIVES, o->n_objectives);
    if (o->n_constraints < 0 || o->n_constraints > VBS_SEARCH_MAX_CONSTRAINTS)
        return vbs_fail(ctx, VBS_USAGE, "a search has 0 to %d constraints, not %d",
                        VBS_SEARCH_MAX_CONSTRAINTS, o->n_constraints);
    if (o->front_rule == VBS_FRONT_HYPERVOLUME && o->n_objectives == 3)
        return vbs_fail(ctx, VBS_USAGE,
                        "the expected hypervolume is for two objectives; three take the rule '%s'",
                        vbs_front_rule_word(VBS_FRONT_SCALAR));
    if (o->known_objectives >> o->n_objectives || (o->known_objectives && !o->known))
        return vbs_fail(ctx, VBS_USAGE,
                        "known objectives need a function, and must be among the "
                        "%d objectives",
                        o->n_objectives);
    for (int i = 0; o->reference && i < o->n_objectives; i++) {
        if (!isfinite(o->reference[i]))
            return vbs_fail(ctx, VBS_USAGE, "the reference of objective %d is not finite", i + 1);
    }
    return VBS_OK;
}

static enum vbs_status check_ranges(struct vbs_ctx *ctx, const struct vbs_sampler_options *o)
{
    if (o->n_initial < 2)
        return vbs_fail(ctx, VBS_USAGE, "the model needs at least 2 initial points, not %d",
                        o->n_initial);
    if (o->n_modelled < 16 || o->n_modelled > 2000)
        return vbs_fail(ctx, VBS_USAGE, "the model holds 16 to 2000 trials, not %d", o->n_modelled);
    if (o->grid_levels < 2)
        return vbs_fail(ctx, VBS_USAGE, "a grid has at least 2 levels, not %d", o->grid_levels);
    if (o->sampler != VBS_SAMPLER_HALVING)
        return VBS_OK;
    if (o->min_epochs < 1 || o->max_epochs < o->min_epochs)
        return vbs_fail(ctx, VBS_USAGE,
                        "halving needs 1 or more epochs at least, and no fewer at "
                        "most, not %d and %d",
                        o->min_epochs, o->max_epochs);
    if (o->reduction < 2 || o->reduction > 100)
        return vbs_fail(ctx, VBS_USAGE, "halving reduces by 2 to 100, not %d", o->reduction);
    return VBS_OK;
}

static void fill_defaults(const struct vbs_search_space *space, struct vbs_sampler_options *o)
{
    int initial = 2 + 2 * space->n_parameters;

    if (o->n_objectives == 0)
        o->n_objectives = 1;
    if (o->n_initial == 0)
        o->n_initial = initial < INITIAL ? initial : INITIAL;
    if (o->n_modelled == 0)
        o->n_modelled = 200;
    if (o->front_rule == VBS_FRONT_AUTOMATIC)
        o->front_rule = o->n_objectives == 2 ? VBS_FRONT_HYPERVOLUME : VBS_FRONT_SCALAR;
    if (o->grid_levels == 0)
        o->grid_levels = 5;
    if (o->min_epochs == 0)
        o->min_epochs = 1;
    if (o->reduction == 0)
        o->reduction = 3;
}

static enum vbs_status check_trial(struct vbs_ctx *ctx, const struct tune_problem *problem, int i)
{
    const struct vbs_search_trial *trial = &problem->trials[i];
    enum vbs_status status;

    if ((unsigned)trial->state >= VBS_N_TRIAL_STATES || !trial->point)
        return vbs_fail(ctx, VBS_USAGE, "trial %d has no point, or its state is unknown", i + 1);
    if (trial->state == VBS_TRIAL_COMPLETE &&
        (!trial->objectives || (problem->options.n_constraints > 0 && !trial->constraints)))
        return vbs_fail(ctx, VBS_USAGE, "trial %d is complete, but has no values", i + 1);
    if (problem->options.sampler == VBS_SAMPLER_HALVING &&
        (trial->epochs < 1 || trial->continues < 0 || trial->continues > i))
        return vbs_fail(ctx, VBS_USAGE, "trial %d has %d epochs and continues trial %d", i + 1,
                        trial->epochs, trial->continues);
    status = vbs_search_point_check(ctx, problem->space, trial->point);
    if (status != VBS_OK) {
        char place[32];

        snprintf(place, sizeof place, "trial %d", i + 1);
        return vbs_fail_within(ctx, status, place);
    }
    return VBS_OK;
}

/* ---- the points that have been tried ---- */

static int compare_points(int n, const double *a, const double *b)
{
    for (int i = 0; i < n; i++) {
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    }
    return 0;
}

static const double *exact_point(const struct tune_problem *problem, int trial)
{
    return problem->exact + (size_t)trial * (size_t)problem->space->n_parameters;
}

/* For qsort_r: the self is the problem. */
static int by_point(const void *a, const void *b, void *self)
{
    const struct tune_problem *problem = self;
    int x = *(const int *)a, y = *(const int *)b;
    int order = compare_points(problem->space->n_parameters, exact_point(problem, x),
                               exact_point(problem, y));

    return order ? order : (x > y) - (x < y);
}

static enum vbs_status sort_trials(struct vbs_ctx *ctx, struct tune_problem *problem)
{
    size_t n = (size_t)problem->n_trials, width = (size_t)problem->space->n_parameters;
    double *exact = vbs_arena_alloc(&problem->arena, n * width + 1, sizeof *exact);
    int *sorted = vbs_arena_alloc(&problem->arena, n + 1, sizeof *sorted);

    if (!exact || !sorted)
        return vbs_no_memory(ctx);
    for (size_t i = 0; i < n; i++) {
        vbs_tune_exact(problem->space, problem->trials[i].point, exact + i * width);
        sorted[i] = (int)i;
    }
    problem->exact = exact;
    problem->sorted = sorted;
    qsort_r(sorted, n, sizeof *sorted, by_point, problem);
    return VBS_OK;
}

enum vbs_status vbs_tune_problem_init(struct vbs_ctx *ctx, const struct vbs_search_space *space,
                                      const struct vbs_sampler_options *options,
                                      const struct vbs_search_trial *trials, int n_trials,
                                      struct tune_problem *problem)
{
    *problem = (struct tune_problem){.space = space, .trials = trials, .n_trials = n_trials};
    VBS_TRY(vbs_options_read(ctx, "struct vbs_sampler_options", options, &problem->options,
                             sizeof problem->options));
    VBS_TRY(vbs_search_space_check(ctx, space));
    if (n_trials < 0 || n_trials > VBS_SEARCH_MAX_TRIALS)
        return vbs_fail(ctx, VBS_USAGE, "a search has up to %d trials, not %d",
                        VBS_SEARCH_MAX_TRIALS, n_trials);
    fill_defaults(space, &problem->options);
    VBS_TRY(check_counts(ctx, &problem->options));
    VBS_TRY(check_ranges(ctx, &problem->options));
    for (int i = 0; i < n_trials; i++)
        VBS_TRY(check_trial(ctx, problem, i));
    return sort_trials(ctx, problem);
}

void vbs_tune_problem_clear(struct tune_problem *problem)
{
    vbs_arena_clear(&problem->arena);
}

bool vbs_tune_is_known(const struct tune_problem *problem, int objective)
{
    return problem->options.known_objectives >> objective & 1;
}

double vbs_tune_known(const struct tune_problem *problem, int objective, const double *point)
{
    return problem->options.known(problem->options.self, objective, point);
}

bool vbs_tune_is_open(const struct tune_problem *problem, const double *point)
{
    int low = 0, high = problem->n_trials;

    while (low < high) {
        int middle = low + (high - low) / 2;
        int order = compare_points(problem->space->n_parameters, point,
                                   exact_point(problem, problem->sorted[middle]));

        if (order == 0)
            return false;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    for (int i = 0; i < problem->options.n_objectives; i++) {
        double value = vbs_tune_is_known(problem, i) ? vbs_tune_known(problem, i, point) : 1;

        if (!isfinite(value) || !(value > 0))
            return false;
    }
    return true;
}

bool vbs_tune_has_values(const struct tune_problem *problem, int trial)
{
    const struct vbs_search_trial *t = &problem->trials[trial];

    if (t->state != VBS_TRIAL_COMPLETE)
        return false;
    for (int i = 0; i < problem->options.n_objectives; i++) {
        if (!isfinite(t->objectives[i]))
            return false;
    }
    for (int i = 0; i < problem->options.n_constraints; i++) {
        if (!isfinite(t->constraints[i]))
            return false;
    }
    return true;
}

/* ---- points ---- */

void vbs_tune_point_at(const struct vbs_search_space *space, int64_t index, double *point)
{
    for (int i = 0; i < space->n_parameters; i++) {
        int64_t n = vbs_tune_n_values(&space->parameters[i]);

        point[i] = vbs_tune_value_at(&space->parameters[i], index % n);
        index /= n;
    }
}

void vbs_tune_random_point(const struct vbs_search_space *space, struct tune_random *random,
                           double *point)
{
    for (int i = 0; i < space->n_parameters; i++)
        point[i] = vbs_tune_value_of_share(&space->parameters[i], vbs_tune_uniform(random));
}

enum vbs_status vbs_tune_random_open(struct vbs_ctx *ctx, const struct tune_problem *problem,
                                     struct tune_random *random, double *point)
{
    int64_t n = vbs_search_space_points(problem->space);

    for (int draw = 0; draw < DRAWS; draw++) {
        vbs_tune_random_point(problem->space, random, point);
        if (vbs_tune_is_open(problem, point))
            return VBS_OK;
    }
    if (n < INT64_MAX) {
        int64_t index = vbs_tune_below(random, n <= INT64_MAX / 2 ? n : INT64_MAX / 2);

        for (int64_t step = 0; step < n && step < WALK; step++) {
            if (step % 4096 == 0)
                VBS_TRY(vbs_check_cancel(ctx));
            vbs_tune_point_at(problem->space, index, point);
            if (vbs_tune_is_open(problem, point))
                return VBS_OK;
            index = index + 1 < n ? index + 1 : 0;
        }
    }
    return vbs_fail(ctx, VBS_NOT_FOUND, "no point is left that was not tried%s",
                    problem->options.known_objectives ? " and that the known objectives allow"
                                                      : "");
}
