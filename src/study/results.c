/* What came out of a study: which trials are complete and feasible, the best one, the Pareto front,
 * and the importance of parameters. */
#include "study/study.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_FOR_IMPORTANCE 4 /* complete trials */

void vbs_study_results_free(struct vbs_study_results *results)
{
    if (!results)
        return;
    vbs_trial_list_free(results->list);
    vbs_arena_clear(&results->arena);
    free(results);
}

double study_shown(enum study_objective objective, const struct vbs_trial_record *trial)
{
    double value = vbs_trial_number(trial, true, study_objective_word(objective));

    return objective == STUDY_ACCURACY ? 100 * value : value;
}

static bool has_values(const struct vbs_study *s, const struct vbs_trial_record *trial)
{
    for (int p = 0; p < s->n_parameters; p++)
        if (isnan(vbs_trial_number(trial, false, s->parameters[p].name)))
            return false;
    for (int o = 0; o < s->n_objectives; o++)
        if (!isfinite(study_value(s->objectives[o], trial)))
            return false;
    return true;
}

static enum vbs_status allocate(struct vbs_ctx *ctx, struct vbs_study_results *r)
{
    size_t n = (size_t)r->list->n_trials + 1, d = (size_t)r->study->n_parameters;

    r->complete = vbs_arena_alloc(&r->arena, n, sizeof *r->complete);
    r->points = vbs_arena_alloc(&r->arena, n * d, sizeof *r->points);
    r->values = vbs_arena_alloc(&r->arena, n * (size_t)r->study->n_objectives, sizeof *r->values);
    r->feasible = vbs_arena_alloc(&r->arena, n, sizeof *r->feasible);
    r->on_front = vbs_arena_alloc(&r->arena, n, sizeof *r->on_front);
    r->axes = vbs_arena_alloc(&r->arena, d, sizeof *r->axes);
    return r->complete && r->points && r->values && r->feasible && r->on_front && r->axes
               ? VBS_OK
               : vbs_no_memory(ctx);
}

/* Takes a complete trial up. */
static void take(struct vbs_study_results *r, int trial)
{
    const struct vbs_study *s = r->study;
    const struct vbs_trial_record *record = &r->list->trials[trial];
    int i = r->n_complete++;

    r->complete[i] = trial;
    r->feasible[i] = !(vbs_trial_number(record, true, "margin") < 0);
    for (int p = 0; p < s->n_parameters; p++) {
        double share = vbs_trial_number(record, false, s->parameters[p].name);
        struct vbs_search_parameter *axis = &r->axes[p];

        r->points[(size_t)i * (size_t)s->n_parameters + (size_t)p] = share;
        if (i == 0)
            *axis = (struct vbs_search_parameter){.name = s->parameters[p].name,
                                                  .kind = VBS_SEARCH_REAL,
                                                  .low = share,
                                                  .high = share};
        axis->low = fmin(axis->low, share);
        axis->high = fmax(axis->high, share);
    }
    for (int o = 0; o < s->n_objectives; o++)
        r->values[(size_t)i * (size_t)s->n_objectives + (size_t)o] =
            study_value(s->objectives[o], record);
}

/* ---- the best, and the front ---- */

/* The values of feasible trials, one after the other, and their numbers. */
struct feasible {
    double *values;
    int *index;
    bool *on_front;
    int n;
};

static enum vbs_status volume_without(struct vbs_ctx *ctx, const struct vbs_study_results *r,
                                      const struct feasible *f, int left_out,
                                      const double *reference, double *scratch, double *volume)
{
    size_t m = (size_t)r->study->n_objectives;
    int n = 0;

    for (int i = 0; i < f->n; i++)
        if (i != left_out && f->on_front[i])
            memcpy(scratch + (size_t)n++ * m, f->values + (size_t)i * m, m * sizeof *scratch);
    return vbs_hypervolume(ctx, (int)m, scratch, n, reference, volume);
}

/* Finds the volume that the front dominates above a point that lies a tenth of the front's extent
 * below it, and the trial without which it shrinks most. A front of one has no extent: its volume
 * would be that of the rounding, so that it has none. */
static enum vbs_status find_volume(struct vbs_ctx *ctx, struct vbs_study_results *r,
                                   const struct feasible *f, double *scratch)
{
    double reference[STUDY_MAX_OBJECTIVES], most = -1;
    int m = r->study->n_objectives;

    for (int o = 0; o < m; o++) {
        double low = HUGE_VAL, high = -HUGE_VAL;

        for (int i = 0; i < f->n; i++) {
            low = f->on_front[i] ? fmin(low, f->values[i * m + o]) : low;
            high = f->on_front[i] ? fmax(high, f->values[i * m + o]) : high;
        }
        reference[o] = low - 0.1 * fmax(high - low, 1e-9 * fabs(high));
    }
    VBS_TRY(volume_without(ctx, r, f, -1, reference, scratch, &r->hypervolume));
    for (int i = 0; i < f->n; i++) {
        double volume;

        if (!f->on_front[i])
            continue;
        VBS_TRY(volume_without(ctx, r, f, i, reference, scratch, &volume));
        if (r->hypervolume - volume > most) {
            most = r->hypervolume - volume;
            r->best = f->index[i];
        }
    }
    return VBS_OK;
}

static enum vbs_status find_best(struct vbs_ctx *ctx, struct vbs_study_results *r)
{
    size_t n = (size_t)r->n_complete + 1, m = (size_t)r->study->n_objectives;
    double *scratch = vbs_arena_alloc(&r->arena, n * m, sizeof *scratch);
    struct feasible f = {.values = vbs_arena_alloc(&r->arena, n * m, sizeof *f.values),
                         .index = vbs_arena_alloc(&r->arena, n, sizeof *f.index),
                         .on_front = vbs_arena_alloc(&r->arena, n, sizeof *f.on_front)};
    int n_front = 0;

    if (!scratch || !f.values || !f.index || !f.on_front)
        return vbs_no_memory(ctx);
    for (int i = 0; i < r->n_complete; i++)
        if (r->feasible[i]) {
            memcpy(f.values + (size_t)f.n * m, r->values + (size_t)i * m, m * sizeof *f.values);
            f.index[f.n++] = i;
        }
    if (f.n == 0)
        return VBS_OK;
    VBS_TRY(vbs_pareto_front(ctx, (int)m, f.values, f.n, f.on_front));
    for (int i = 0; i < f.n; i++) {
        r->on_front[f.index[i]] = f.on_front[i];
        if (r->best < 0 && f.on_front[i])
            r->best = f.index[i];
    }
    for (int i = 0; i < f.n; i++)
        n_front += f.on_front[i];
    return m > 1 && n_front > 1 ? find_volume(ctx, r, &f, scratch) : VBS_OK;
}

static enum vbs_status find_importance(struct vbs_ctx *ctx, struct vbs_study_results *r)
{
    const struct vbs_study *s = r->study;
    const struct vbs_search_space space = {.n_parameters = s->n_parameters, .parameters = r->axes};
    double *values = vbs_arena_alloc(&r->arena, (size_t)r->n_complete + 1, sizeof *values);
    double *importance = vbs_arena_alloc(&r->arena, (size_t)s->n_parameters, sizeof *importance);

    if (!values || !importance)
        return vbs_no_memory(ctx);
    if (r->n_complete < LEAST_FOR_IMPORTANCE)
        return VBS_OK;
    for (int i = 0; i < r->n_complete; i++)
        values[i] = r->values[i * s->n_objectives];
    VBS_TRY(vbs_search_importance(ctx, &space, r->points, values, r->n_complete, (uint64_t)s->seed,
                                  importance));
    r->importance = importance;
    return VBS_OK;
}

/* ---- the whole ---- */

static enum vbs_status read_results(struct vbs_ctx *ctx, struct vbs_store *store,
                                    struct vbs_study_results *r)
{
    const struct vbs_study_record record = {.name = r->study->name,
                                            .description = r->study->canonical};
    int64_t id;

    VBS_TRY(vbs_store_study(ctx, store, &record, false, &id));
    VBS_TRY(vbs_store_trials(ctx, store, id, &r->list));
    VBS_TRY(allocate(ctx, r));
    for (int i = 0; i < r->list->n_trials; i++) {
        const struct vbs_trial_record *trial = &r->list->trials[i];

        r->spent_s += trial->spent_s;
        if (trial->state != VBS_TRIAL_COMPLETE)
            continue;
        if (trial->number == 0)
            r->control = i;
        else if (has_values(r->study, trial))
            take(r, i);
    }
    VBS_TRY(find_best(ctx, r));
    return find_importance(ctx, r);
}

enum vbs_status vbs_study_results_read(struct vbs_ctx *ctx, struct vbs_store *store,
                                       const struct vbs_study *study,
                                       struct vbs_study_results **results)
{
    struct vbs_study_results *r = calloc(1, sizeof *r);
    enum vbs_status status;

    if (!r)
        return vbs_no_memory(ctx);
    r->study = study;
    r->control = r->best = -1;
    r->hypervolume = (double)NAN;
    status = read_results(ctx, store, r);
    if (status != VBS_OK) {
        vbs_study_results_free(r);
        return status;
    }
    *results = r;
    return VBS_OK;
}

int vbs_study_best(const struct vbs_study_results *results)
{
    return results->best < 0 ? -1 : results->list->trials[results->complete[results->best]].number;
}

const struct vbs_trial_list *vbs_study_trial_list(const struct vbs_study_results *results)
{
    return results->list;
}
