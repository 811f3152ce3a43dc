/* The budgets of a profile, one after the other, and the learned profile. */
#include "learn/learn.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/options.h"
#include "vbslab/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_S       20
#define DEFAULT_PLANNER "dp-vbs+"
#define BASELINE        "fbs-best"

/* What a schedule takes at least, to tell for how many budgets there is time. */
#define PREPARING_S 0.3 /* kernels, weights and placement of a small network */
#define LEAST_RUNS  9   /* with those that warm up */
#define SLOWER      1.3 /* than the bound */

/* ---- Options ---- */

static enum vbs_status read_options(struct learning *l, const struct vbs_learn_options *options)
{
    struct vbs_learn_options *own = &l->options;

    VBS_TRY(vbs_options_read(l->ctx, "vbs_learn_options", options, own, sizeof *own));
    if (!(own->time_limit_s >= 0 && isfinite(own->time_limit_s)))
        return vbs_fail(l->ctx, VBS_USAGE, "a time limit of %g seconds", own->time_limit_s);
    if (!(own->until >= 0 && isfinite(own->until)))
        return vbs_fail(l->ctx, VBS_USAGE, "half an interval of %g of the time", own->until);
    if (own->request < 0 || own->request > VBS_MAX_REQUEST)
        return vbs_fail(l->ctx, VBS_USAGE, "a request of %lld samples; 1 to %d are possible",
                        (long long)own->request, VBS_MAX_REQUEST);
    if (own->n_budgets < 0 || own->n_budgets > VBS_OBSERVED_GROUPS)
        return vbs_fail(l->ctx, VBS_USAGE, "%d budgets; 0 to %d are possible", own->n_budgets,
                        VBS_OBSERVED_GROUPS);
    for (int i = 0; i < own->n_budgets; i++)
        if (own->budgets[i] < 1)
            return vbs_fail(l->ctx, VBS_USAGE, "a budget of %lld bytes",
                            (long long)own->budgets[i]);
    if (own->time_limit_s == 0)
        own->time_limit_s = DEFAULT_S;
    if (own->request == 0)
        own->request = VBS_LEARN_REQUEST;
    if (own->threads == 0 && l->profile->provenance.threads <= sysconf(_SC_NPROCESSORS_ONLN))
        own->threads = l->profile->provenance.threads;
    VBS_TRY(vbs_planner_find(l->ctx, BASELINE, &l->baseline));
    l->planner = own->planner;
    return l->planner ? VBS_OK : vbs_planner_find(l->ctx, DEFAULT_PLANNER, &l->planner);
}

static enum vbs_status check_backend(const struct learning *l)
{
    if (l->backend->modelled)
        return vbs_fail(l->ctx, VBS_UNSUPPORTED, "backend '%s' is a model; it executes nothing",
                        l->backend->name);
    if (l->backend->device)
        return vbs_fail(l->ctx, VBS_UNSUPPORTED,
                        "backend '%s' computes on a device, which tells no times of steps",
                        l->backend->name);
    return VBS_OK;
}

/* ---- Budgets ---- */

/* Sets budgets between the least one and the one from which on more memory brings nothing, by equal
 * factors: 1/8, 3/8, 5/8 and 7/8 of the way for four of them. */
static enum vbs_status choose_budgets(struct learning *l, struct vbs_solver *solver)
{
    struct vbs_frontier *frontier = NULL;
    double least, factor;

    VBS_TRY(vbs_solver_frontier(l->ctx, solver, &frontier));
    least = (double)frontier->points[0].memory_bytes;
    factor = (double)frontier->points[frontier->n_points - 1].memory_bytes / least;
    for (int i = 0; i < l->result->n_budgets; i++)
        l->result->budgets[i].memory_bytes =
            (int64_t)ceil(least * pow(factor, (2 * i + 1) / (2.0 * l->result->n_budgets)));
    vbs_frontier_free(frontier);
    return VBS_OK;
}

static enum vbs_status set_budgets(struct learning *l)
{
    const struct vbs_problem problem = {.profile = l->posterior,
                                        .request = l->options.request,
                                        .io = l->options.io,
                                        .latency_us = l->options.latency_us,
                                        .whole_samples = l->options.whole_samples};
    const struct vbs_solver_options how = {.struct_size = sizeof how};
    struct vbs_solver *solver = NULL;
    enum vbs_status status;

    l->result->n_budgets = l->options.n_budgets > 0 ? l->options.n_budgets : VBS_LEARN_BUDGETS;
    l->result->budgets = calloc((size_t)l->result->n_budgets, sizeof *l->result->budgets);
    if (!l->result->budgets)
        return vbs_no_memory(l->ctx);
    for (int i = 0; i < l->options.n_budgets; i++)
        l->result->budgets[i].memory_bytes = l->options.budgets[i];
    if (l->options.n_budgets > 0)
        return VBS_OK;
    status = vbs_solver_new(l->ctx, l->planner, &problem, &how, &solver);
    if (status == VBS_OK)
        status = choose_budgets(l, solver);
    vbs_solver_free(solver);
    return status;
}

/* ---- The work ---- */

enum vbs_status learn_posterior(struct learning *l, const struct observations *more, bool draws,
                                struct vbs_profile **made)
{
    int n_more = more ? more->n_rows : 0, n = l->settled.n_rows + n_more;
    struct vbs_observed_row *rows = malloc(((size_t)n + 1) * sizeof *rows);
    struct vbs_posterior_options options = {.struct_size = sizeof options,
                                            .n_executed = n,
                                            .executed = rows,
                                            .notes = l->options.notes,
                                            .draws = draws,
                                            .seed = draws ? gsl_rng_get(&l->rng) : 0};
    enum vbs_status status;

    if (!rows)
        return vbs_no_memory(l->ctx);
    if (l->settled.n_rows > 0)
        memcpy(rows, l->settled.rows, (size_t)l->settled.n_rows * sizeof *rows);
    if (n_more > 0)
        memcpy(rows + l->settled.n_rows, more->rows, (size_t)n_more * sizeof *rows);
    status = vbs_profile_posterior(l->ctx, l->profile, &options, draws ? NULL : &l->report, made);
    free(rows);
    return status;
}

/* Returns the seconds that a budget takes at least: two schedules, each prepared and executed. No
 * schedule is much faster than the bound of a budget in which everything fits. */
static enum vbs_status least_s(struct learning *l, double *seconds)
{
    const struct vbs_problem problem = {.profile = l->posterior, .request = l->options.request};
    double time_us;

    VBS_TRY(vbs_bound_us(l->ctx, &problem, INT64_MAX / 2, &time_us));
    *seconds = 2 * (PREPARING_S + LEAST_RUNS * SLOWER * time_us / 1e6);
    return VBS_OK;
}

/* Executes in as many budgets as there is time for, those in the middle first, and gives each an
 * equal share of the time that is left. */
static enum vbs_status learn_budgets(struct learning *l)
{
    struct vbs_learned *result = l->result;
    double least;
    int n;

    VBS_TRY(least_s(l, &least));
    n = (int)fmin(result->n_budgets, l->options.time_limit_s / least);
    for (int i = 0; i < n; i++) {
        double now_s = vbs_clock_s() - l->start_s;
        double left_s = fmax(0, l->options.time_limit_s - now_s);
        int middle = result->n_budgets / 2, at = middle + (i % 2 ? -(i + 1) / 2 : i / 2);

        VBS_TRY(learn_race(l, now_s + left_s / (n - i), &result->budgets[at]));
    }
    result->profile = l->posterior;
    result->report = l->report;
    l->posterior = NULL;
    return VBS_OK;
}

static enum vbs_status prepare(struct learning *l)
{
    l->result = calloc(1, sizeof *l->result);
    /* gsl_rng_alloc would end the program where memory is out. */
    l->rng.type = gsl_rng_taus2;
    l->rng.state = vbs_arena_alloc(&l->arena, 1, l->rng.type->size);
    if (!l->result || !l->rng.state)
        return vbs_no_memory(l->ctx);
    gsl_rng_set(&l->rng, (unsigned long)l->options.seed);
    VBS_TRY(learn_posterior(l, NULL, false, &l->posterior));
    return set_budgets(l);
}

enum vbs_status vbs_learn(struct vbs_ctx *ctx, const struct vbs_network *network,
                          const struct vbs_backend *backend, const struct vbs_profile *profile,
                          const struct vbs_learn_options *options, struct vbs_learned **learned)
{
    struct learning l = {.ctx = ctx,
                         .network = network,
                         .backend = backend,
                         .profile = profile,
                         .start_s = vbs_clock_s()};
    enum vbs_status status = read_options(&l, options);

    if (status == VBS_OK)
        status = check_backend(&l);
    if (status == VBS_OK)
        status = prepare(&l);
    if (status == VBS_OK)
        status = learn_budgets(&l);
    free(l.settled.rows);
    vbs_profile_free(l.posterior);
    vbs_arena_clear(&l.arena);
    if (status != VBS_OK) {
        vbs_learned_free(l.result);
        return status;
    }
    *learned = l.result;
    return VBS_OK;
}

void vbs_learned_free(struct vbs_learned *learned)
{
    if (!learned)
        return;
    for (int i = 0; i < learned->n_budgets && learned->budgets; i++)
        vbs_schedule_free(learned->budgets[i].schedule);
    free(learned->budgets);
    vbs_profile_free(learned->profile);
    free(learned);
}
