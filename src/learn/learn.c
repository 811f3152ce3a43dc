/* The budgets of a profile, one after the other, and the learned profile. */
#include "learn/learn.h"

#include "base/clock.h"
#include "base/ctx.h"
#include "base/fail.h"
#include "base/options.h"
#include "vbslab/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_S 20

/* What a schedule takes at least, to tell for how many budgets there is time. */
#define PREPARING_S 0.3 /* kernels, weights and placement of a small network */
#define LEAST_RUNS  9   /* with those that warm up */
#define SLOWER      1.3 /* than the bound */

#define PLACED 1.05 /* bytes of an arena over live ones, so that buffers can be placed */

#define GOLDEN   0.6180339887 /* of the way to the next budget: the parts in between stay even */
#define TOO_SLOW 1.01         /* first plans over the fastest, on the mean, if learning goes on */

#define PLANNING_SHARE 0.25 /* of the time, for the first solver */

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
    if (own->io != VBS_IO_EXTERNAL && own->io != VBS_IO_RESIDENT)
        return vbs_fail(l->ctx, VBS_USAGE, "io %d is neither external nor resident", (int)own->io);
    if (own->threads < 0)
        return vbs_fail(l->ctx, VBS_USAGE, "%d threads", own->threads);
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
    if (own->threads == 0 && !l->backend->device &&
        l->profile->provenance.threads <= sysconf(_SC_NPROCESSORS_ONLN))
        own->threads = l->profile->provenance.threads;
    return learn_set_task(l);
}

static enum vbs_status check_backend(const struct learning *l)
{
    if (l->backend->modelled)
        return vbs_fail(l->ctx, VBS_UNSUPPORTED, "backend '%s' is a model; it executes nothing",
                        l->backend->name);
    if (l->backend->device && l->options.weights == VBS_WEIGHTS_INCLUDED)
        return vbs_fail(l->ctx, VBS_UNSUPPORTED,
                        "backend '%s' computes on a device, which does not tell how long it waited "
                        "for weights",
                        l->backend->name);
    return VBS_OK;
}

/* ---- Budgets ---- */

/* Returns the budget that is this share of the way from the least one to the one from which on more
 * memory brings nothing, by equal factors. */
static int64_t budget_at(const struct learning *l, double share)
{
    return (int64_t)ceil(l->least_bytes * pow(l->most_bytes / l->least_bytes, share));
}

/* Sets budgets: 2/17, 7/17 and 12/17 of the way, and its end, for four of them. The plan of the
 * last is that of all budgets above it, too. */
static enum vbs_status choose_budgets(struct learning *l, struct vbs_solver *solver)
{
    struct vbs_schedule *most = NULL;

    VBS_TRY(vbs_solver_plan(l->ctx, solver, INT64_MAX / 2, &most));
    l->least_bytes = (double)vbs_solver_least_bytes(solver);
    l->most_bytes = PLACED * (double)most->predicted.peak_bytes;
    vbs_schedule_free(most);
    for (int i = 0; i < l->result->n_budgets; i++)
        l->result->budgets[i].memory_bytes = budget_at(l, (i + 0.4) / (l->result->n_budgets - 0.6));
    return VBS_OK;
}

/* Stops planning when it takes too long, or when the caller's context is cancelled. */
struct watch {
    const struct vbs_ctx *outer;
    double end_s; /* by the clock */
    volatile sig_atomic_t stop;
};

static void watch(void *self, double done, double left_s, const char *text)
{
    struct watch *w = self;

    (void)done, (void)left_s, (void)text;
    if (vbs_clock_s() > w->end_s || vbs_cancelled(w->outer))
        w->stop = 1;
}

/* Makes a solver that may take a share of the time; *solver is null where it takes longer. A
 * planner that gives what it has when it is stopped has not planned as it will plan for a budget.
 */
static enum vbs_status make_watched(struct learning *l, int64_t most_bytes,
                                    struct vbs_solver **solver)
{
    const struct vbs_problem problem = learn_problem(l, l->posterior);
    struct watch w = {.outer = l->ctx,
                      .end_s = vbs_clock_s() + PLANNING_SHARE * l->options.time_limit_s};
    struct vbs_ctx own = {.cancel = &w.stop};
    const struct vbs_solver_options how = {.struct_size = sizeof how,
                                           .most_bytes = most_bytes,
                                           .progress = {.self = &w, .report = watch}};
    enum vbs_status status = vbs_solver_new(&own, l->planner, &problem, &how, solver);

    if (w.stop && status == VBS_OK && !vbs_cancelled(l->ctx)) {
        vbs_solver_free(*solver);
        *solver = NULL;
    }
    if (status == VBS_OK || (status == VBS_INTERRUPTED && !vbs_cancelled(l->ctx)))
        return VBS_OK;
    return vbs_fail(l->ctx, status, "%s", own.detail);
}

/* Sets the budgets, and finds out how long planning takes. */
static enum vbs_status set_budgets(struct learning *l)
{
    bool given = l->options.n_budgets > 0;
    double begin_s = vbs_clock_s();
    struct vbs_solver *solver = NULL;
    enum vbs_status status;

    l->result->n_budgets = given ? l->options.n_budgets : VBS_LEARN_BUDGETS;
    l->result->budgets = calloc((size_t)(given ? l->options.n_budgets : VBS_LEARN_MOST_BUDGETS),
                                sizeof *l->result->budgets);
    if (!l->result->budgets)
        return vbs_no_memory(l->ctx);
    for (int i = 0; i < l->options.n_budgets; i++)
        l->result->budgets[i].memory_bytes = l->options.budgets[i];
    status = make_watched(l, l->options.n_budgets == 1 ? l->options.budgets[0] : 0, &solver);
    if (status == VBS_OK && solver && !given)
        status = choose_budgets(l, solver);
    l->planning_s = solver || status != VBS_OK ? vbs_clock_s() - begin_s : HUGE_VAL;
    if (!solver && !given)
        l->result->n_budgets = 0;
    vbs_solver_free(solver);
    return status == VBS_INFEASIBLE && given ? VBS_OK : status;
}

/* ---- The work ---- */

/* Sets *seconds to what a budget takes at least: two schedules, each planned twice, prepared and
 * executed. No schedule is much faster than the bound of a budget in which everything fits; where
 * weights are inside, than that of the smallest budget in which something fits, because loads take
 * most of the time in small ones. */
static enum vbs_status least_s(struct learning *l, double *seconds)
{
    const struct vbs_problem problem = learn_problem(l, l->posterior);
    double time_us;

    VBS_TRY(vbs_bound_us(l->ctx, &problem, INT64_MAX / 2, &time_us));
    for (int i = 0; i < l->result->n_budgets && problem.weights == VBS_WEIGHTS_INCLUDED; i++) {
        double own_us;

        VBS_TRY(vbs_bound_us(l->ctx, &problem, l->result->budgets[i].memory_bytes, &own_us));
        time_us = isfinite(own_us) ? fmax(time_us, own_us) : time_us;
    }
    *seconds = 2 * (2 * l->planning_s + PREPARING_S + LEAST_RUNS * SLOWER * time_us / 1e6);
    return VBS_OK;
}

/* Tells the speed of the last-level cache in the state that the times of the profile are for: that
 * of all turns, where none was in the state in which kernels were measured. */
static enum vbs_status set_state(struct learning *l)
{
    struct vbs_profile *other;
    struct vbs_calibration calibration;
    bool apart = l->settled.n_rows > 0 && l->cache.n > 0;

    for (int i = 0; i < l->settled.n_rows; i++)
        apart = apart && l->settled.rows[i].apart;
    if (!apart)
        return VBS_OK;
    vbs_profile_calibration(l->posterior, &calibration);
    calibration.speed.cache_bytes_per_us = l->cache.sum / (double)l->cache.n;
    VBS_TRY(vbs_profile_calibrate(l->ctx, l->posterior, &calibration, &other));
    vbs_profile_free(l->posterior);
    l->posterior = other;
    return VBS_OK;
}

static double left_s(const struct learning *l)
{
    return fmax(0, l->options.time_limit_s - (vbs_clock_s() - l->start_s));
}

/* Gives a budget this share of the time that is left. Where the deadline of the context comes
 * before its end, what was learned in the budgets before is kept, and *ends is set. */
static enum vbs_status learn_budget(struct learning *l, double share,
                                    struct vbs_learned_budget *budget, bool *ends)
{
    double end_s = vbs_clock_s() - l->start_s + share * left_s(l);
    enum vbs_status status = learn_race(l, end_s, budget);

    *ends = status == VBS_INTERRUPTED && vbs_out_of_time(l->ctx);
    budget->tried = budget->tried && !*ends;
    return *ends ? VBS_OK : status;
}

/* Returns whether the first plans of the last budgets took longer, on the mean, than what was found
 * then: those of other budgets will, too. */
static bool is_learning(const struct vbs_learned *result)
{
    double sum = 0;
    int n = 0;

    for (int i = result->n_budgets - VBS_LEARN_BUDGETS; i < result->n_budgets; i++) {
        const struct vbs_learned_budget *budget = &result->budgets[i];

        if (budget->n_schedules > 0 && isfinite(budget->first_ratio)) {
            sum += budget->first_ratio;
            n++;
        }
    }
    return n > 0 && sum > TOO_SLOW * n;
}

static int compare_budgets(const void *a, const void *b)
{
    const struct vbs_learned_budget *x = a, *y = b;

    return (x->memory_bytes > y->memory_bytes) - (x->memory_bytes < y->memory_bytes);
}

/* Executes in further budgets, between those that were chosen first. least: seconds that one takes.
 */
static enum vbs_status learn_further(struct learning *l, double least)
{
    struct vbs_learned *result = l->result;
    bool ends = false;

    for (int i = 0; !ends && result->n_budgets < VBS_LEARN_MOST_BUDGETS && left_s(l) > least; i++) {
        int round = i % VBS_LEARN_BUDGETS;
        double whole, way = modf(GOLDEN * (i + 1), &whole);

        if (round == 0 && !is_learning(result))
            break;
        result->budgets[result->n_budgets].memory_bytes = budget_at(l, way);
        VBS_TRY(learn_budget(l, 1.0 / (VBS_LEARN_BUDGETS - round),
                             &result->budgets[result->n_budgets++], &ends));
    }
    qsort(result->budgets, (size_t)result->n_budgets, sizeof *result->budgets, compare_budgets);
    return VBS_OK;
}

/* Executes in as many budgets as there is time for, those in the middle first, and gives each an
 * equal share of the time that is left. */
static enum vbs_status learn_budgets(struct learning *l)
{
    struct vbs_learned *result = l->result;
    bool ends = false;
    double least;
    int n;

    VBS_TRY(least_s(l, &least));
    n = (int)fmin(result->n_budgets, left_s(l) / least);
    for (int i = 0; i < n && !ends; i++) {
        int middle = result->n_budgets / 2, at = middle + (i % 2 ? -(i + 1) / 2 : i / 2);

        VBS_TRY(learn_budget(l, 1.0 / (n - i), &result->budgets[at], &ends));
    }
    if (l->options.n_budgets == 0 && n == result->n_budgets && !ends)
        VBS_TRY(learn_further(l, least));
    VBS_TRY(set_state(l));
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
                         .unproven = 1,
                         .cache.usual = profile->speed.cache_bytes_per_us,
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
