/*
 * How fast pruned networks are: their profiles are assembled from kernel times by geometry, and
 * planned anew for the memory. No weights are needed, so that the speed of every point of the
 * search space is known once the geometries of its layers have been measured. Most geometries
 * depend on the levels of two parameters, those of the channels that a layer reads and of those
 * that it makes. All of these are measured before the first trial: on points in which the levels a
 * and b of any two parameters come by turns, which cover chains of layers, and then on points for
 * the pairs that are still missing.
 */
#include "study/study.h"

#include "base/fail.h"
#include "vbslab/replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_KNOWN (1 << 20) /* points of which speeds are remembered */
#define MOST_PAIRS 20000     /* points that are tried to measure all geometries */

/* ---- alone on the machine ---- */

void study_pause(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

/* Waits until no other process computes on this machine, as far as it asks. */
static enum vbs_status take_machine(struct study_work *w)
{
    while (!vbs_node_take(&w->node)) {
        enum vbs_status status = vbs_check_cancel(w->ctx);

        if (status != VBS_OK) {
            vbs_node_release(&w->node);
            return status;
        }
        study_report(w, -1, -1, "waits until others on this machine pause, to take times");
        study_pause();
    }
    return VBS_OK;
}

enum vbs_status study_share_machine(struct study_work *w)
{
    while (!vbs_node_share(&w->node)) {
        VBS_TRY(vbs_check_cancel(w->ctx));
        study_pause();
    }
    return VBS_OK;
}

/* ---- profiles ---- */

static enum vbs_status assemble(struct study_work *w, const int64_t *keep, bool may_measure,
                                struct vbs_profile **profile)
{
    struct vbs_assemble_options options = {.struct_size = sizeof options,
                                           .backend = w->backend,
                                           .batches = w->batches,
                                           .n_batches = w->n_batches,
                                           .threads = (int)w->study->measure_threads,
                                           .copies = w->study->weights == VBS_WEIGHTS_INCLUDED,
                                           .folder = w->options.folder,
                                           .vbslab = w->options.vbslab,
                                           .measure = {.time_limit_s = w->study->measure_seconds,
                                                       .relative_interval = 0.05,
                                                       .seed = 1}};
    struct vbs_network *pruned = NULL;
    enum vbs_status status;

    options.lookup_threads = may_measure ? 0 : w->threads;
    VBS_TRY(vbs_prune_shapes(w->ctx, w->network, w->groups, keep, &pruned));
    status = vbs_profile_assemble(w->ctx, w->store, pruned, &options, NULL, profile);
    if (status == VBS_NOT_FOUND && may_measure) {
        options.may_measure = true;
        status = take_machine(w);
        if (status == VBS_OK)
            status = vbs_profile_assemble(w->ctx, w->store, pruned, &options, NULL, profile);
        vbs_node_release(&w->node);
    }
    vbs_network_free(pruned);
    if (status == VBS_OK)
        w->threads = (*profile)->provenance.threads;
    return status;
}

/* ---- plans ---- */

/* Plans a request, and gives what the replay says of the plan. memory 0: there is no bound.
 * VBS_INFEASIBLE with the reason in the context. */
static enum vbs_status plan(struct study_work *w, const struct vbs_profile *profile,
                            int64_t request, int64_t memory, struct vbs_replay **replay,
                            int *max_batch)
{
    const struct vbs_study *s = w->study;
    const struct vbs_problem problem = {.profile = profile,
                                        .request = request,
                                        .io = s->io,
                                        .latency_us = s->latency_us,
                                        .weights = s->weights,
                                        .copy = s->weights == VBS_WEIGHTS_INCLUDED &&
                                                        profile->n_copies > 0
                                                    ? profile->copies[0].link
                                                    : (struct vbs_link){0}};
    const struct vbs_solver_options options = {.struct_size = sizeof options, .most_bytes = memory};
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *schedule = NULL;
    enum vbs_status status;

    VBS_TRY(vbs_solver_new(w->ctx, w->planner, &problem, &options, &solver));
    status = vbs_solver_plan(w->ctx, solver, memory > 0 ? memory : INT64_MAX / 4, &schedule);
    if (status == VBS_OK)
        status = vbs_replay_run(w->ctx, profile, schedule, -1, false, replay);
    if (status == VBS_OK && !(*replay)->fits)
        status = vbs_fail(w->ctx, VBS_OVER_BUDGET, "planner '%s' broke its budget",
                          vbs_planner_name(w->planner));
    *max_batch = 0;
    for (int64_t i = 0; status == VBS_OK && i < schedule->n_steps; i++)
        if (schedule->steps[i].batch > *max_batch)
            *max_batch = schedule->steps[i].batch;
    vbs_schedule_free(schedule);
    vbs_solver_free(solver);
    return status;
}

/* Plans the request, where there is a memory, and one sample; only: one objective is needed. */
static enum vbs_status plan_both(struct study_work *w, const struct vbs_profile *profile,
                                 const enum study_objective *only, struct study_speed *speed)
{
    struct vbs_replay *replay = NULL;
    enum vbs_status status = VBS_OK;
    int max_batch;

    if (w->study->memory > 0 && (!only || *only != STUDY_LATENCY)) {
        status = plan(w, profile, w->study->request, w->study->memory, &replay, &speed->max_batch);
        if (status == VBS_OK) {
            speed->samples_per_s = 1e6 * (double)w->study->request / replay->time_us;
            speed->peak_bytes = replay->peak_bytes;
        }
        vbs_replay_free(replay);
        replay = NULL;
    }
    if (status == VBS_OK && (!only || *only == STUDY_LATENCY)) {
        status = plan(w, profile, 1, w->study->memory, &replay, &max_batch);
        if (status == VBS_OK)
            speed->latency_us = replay->time_us;
        vbs_replay_free(replay);
    }
    return status;
}

/* Does as study_speed; only: null, or the one objective that is needed. */
static enum vbs_status speed_of(struct study_work *w, const int64_t *keep, bool may_measure,
                                const enum study_objective *only, struct study_speed *speed)
{
    struct vbs_profile *profile = NULL;
    enum vbs_status status;

    *speed = (struct study_speed){0};
    VBS_TRY(assemble(w, keep, may_measure, &profile));
    status = plan_both(w, profile, only, speed);
    vbs_profile_free(profile);
    speed->fits = status == VBS_OK;
    if (status == VBS_INFEASIBLE)
        snprintf(speed->reason, sizeof speed->reason, "%s", vbs_detail(w->ctx));
    return status == VBS_INFEASIBLE ? VBS_OK : status;
}

enum vbs_status study_speed(struct study_work *w, const int64_t *keep, bool may_measure,
                            struct study_speed *speed)
{
    return speed_of(w, keep, may_measure, NULL, speed);
}

/* ---- all geometries ---- */

/* Measures what a point lacks. */
static enum vbs_status measure_point(struct study_work *w, const double *levels, int64_t *keep)
{
    struct vbs_profile *profile = NULL;

    study_keep(w, levels, keep);
    VBS_TRY(assemble(w, keep, true, &profile));
    vbs_profile_free(profile);
    return vbs_check_cancel(w->ctx);
}

/* Gives the number of pairs of levels of pairs of parameters. */
static double count_pairs(const struct study_work *w)
{
    double n = 0;

    for (int p = 0; p < w->space.n_parameters; p++)
        for (int q = 0; q < p; q++)
            n += (double)w->levels[p].n * w->levels[q].n;
    return n;
}

static int most_levels(const struct study_work *w)
{
    int most = 0;

    for (int p = 0; p < w->space.n_parameters; p++)
        if (w->levels[p].n > most)
            most = w->levels[p].n;
    return most;
}

/* Levels a and b by turns; a parameter with fewer levels has its last one. */
static enum vbs_status measure_turns(struct study_work *w, double *levels, int64_t *keep)
{
    int most = most_levels(w);

    for (int a = 0; a < most; a++)
        for (int b = 0; b < most; b++) {
            for (int p = 0; p < w->space.n_parameters; p++)
                levels[p] = fmin(p % 2 ? b : a, w->levels[p].n - 1);
            VBS_TRY(measure_point(w, levels, keep));
            study_report(w, 0, (a * most + b) / (double)(most * most),
                         "takes the times of all widths");
        }
    return VBS_OK;
}

static enum vbs_status measure_pairs(struct study_work *w, double *levels, int64_t *keep)
{
    for (int p = 0; p < w->space.n_parameters; p++)
        for (int q = 0; q < p; q++)
            for (int a = 0; a < w->levels[p].n; a++)
                for (int b = 0; b < w->levels[q].n; b++) {
                    for (int r = 0; r < w->space.n_parameters; r++)
                        levels[r] = 0;
                    levels[p] = a;
                    levels[q] = b;
                    VBS_TRY(measure_point(w, levels, keep));
                }
    return VBS_OK;
}

bool study_knows_speed(const struct study_work *w)
{
    return w->study->sampler == VBS_SAMPLER_BAYESIAN && !w->study->model_speed &&
           count_pairs(w) <= MOST_PAIRS && most_levels(w) <= 128;
}

enum vbs_status study_measure_all(struct study_work *w)
{
    double *levels = calloc((size_t)w->space.n_parameters, sizeof *levels);
    int64_t *keep = calloc((size_t)w->groups->n_groups, sizeof *keep);
    enum vbs_status status = levels && keep ? VBS_OK : vbs_no_memory(w->ctx);

    if (status == VBS_OK)
        status = measure_turns(w, levels, keep);
    if (status == VBS_OK)
        status = measure_pairs(w, levels, keep);
    free(levels);
    free(keep);
    return status;
}

/* ---- known objectives ---- */

/* Gives the number of a point among all points of the space. */
static int64_t number_of(const struct study_work *w, const double *levels)
{
    int64_t number = 0;

    for (int p = 0; p < w->space.n_parameters; p++)
        number = number * w->levels[p].n + (int64_t)levels[p];
    return number;
}

/* Makes space to remember speeds, where the space of points is small enough. */
static void make_known(struct study_work *w)
{
    int64_t n = vbs_search_space_points(&w->space);

    w->n_known = -1;
    if (n > MOST_KNOWN)
        return;
    w->known = malloc((size_t)n * STUDY_MAX_OBJECTIVES * sizeof *w->known);
    if (!w->known)
        return;
    w->n_known = n;
    for (int64_t i = 0; i < n * STUDY_MAX_OBJECTIVES; i++)
        w->known[i] = (double)NAN;
}

/* A point whose times are missing, or that fits no memory, counts as one without speed. */
double study_known(void *self, int objective, const double *levels)
{
    struct study_work *w = self;
    struct study_speed speed;
    int64_t *keep;
    double value = 0;

    if (w->n_known == 0)
        make_known(w);
    if (w->n_known > 0) {
        double *known = &w->known[number_of(w, levels) * STUDY_MAX_OBJECTIVES + objective];

        if (!isnan(*known))
            return *known;
    }
    keep = calloc((size_t)w->groups->n_groups, sizeof *keep);
    if (keep) {
        study_keep(w, levels, keep);
        if (speed_of(w, keep, false, &w->study->objectives[objective], &speed) == VBS_OK &&
            speed.fits)
            value = w->study->objectives[objective] == STUDY_THROUGHPUT ? speed.samples_per_s
                                                                        : 1e6 / speed.latency_us;
    }
    free(keep);
    if (w->n_known > 0)
        w->known[number_of(w, levels) * STUDY_MAX_OBJECTIVES + objective] = value;
    return value;
}
