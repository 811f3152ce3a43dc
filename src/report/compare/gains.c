/*
 * Budget by budget: the spread of each planner's schedule, from which the intervals of its gains
 * and of its difference to the fastest follow. A planner whose schedule is that of the budget
 * before keeps its spread, so that memory and time do not grow with the budgets but with the plans.
 */
#include "report/compare/gains.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

const char *vbs_gains_baseline(int baseline)
{
    static const char *const NAMES[VBS_N_BASELINES] = {"fbs", "fbs-best", "mmcnn", "vdnn"};

    return NAMES[baseline];
}

struct vbs_gain *vbs_gains_of(struct vbs_compare_row *row, int baseline)
{
    struct vbs_gain *gains[VBS_N_BASELINES] = {&row->gain_over_fbs, &row->gain_over_fbs_best,
                                               &row->gain_over_mmcnn, &row->gain_over_vdnn};

    return gains[baseline];
}

const struct vbs_gain *vbs_gains_in(const struct vbs_compare_row *row, int baseline)
{
    const struct vbs_gain *gains[VBS_N_BASELINES] = {&row->gain_over_fbs, &row->gain_over_fbs_best,
                                                     &row->gain_over_mmcnn, &row->gain_over_vdnn};

    return gains[baseline];
}

int vbs_gains_told(const struct vbs_compare *compare)
{
    return compare->weights == VBS_WEIGHTS_INCLUDED ? VBS_N_BASELINES : VBS_N_MADE;
}

/* A column at the current budget. */
struct entry {
    struct vbs_compare_row *row;
    const struct vbs_mix *mix; /* null: not feasible, or an estimate, of which no noise is known */
    struct vbs_spread *spread; /* of mix */
};

/* Gives the gain over base in percent; NAN where base is infeasible or takes no time. */
static double gain_percent(const struct vbs_compare_row *row, const struct vbs_compare_row *base)
{
    if (!base->feasible)
        return NAN;
    if (!(base->per_sample_us > 0))
        return row->per_sample_us > 0 ? NAN : 0;
    return 100 * (1 - row->per_sample_us / base->per_sample_us);
}

static struct vbs_gain gain_of(const struct entry *ours, const struct entry *base)
{
    struct vbs_gain gain = {gain_percent(ours->row, base->row), NAN, NAN};

    if (!ours->row->feasible)
        return (struct vbs_gain){0};
    if (ours->mix && base->mix)
        vbs_noise_gain(ours->spread, base->spread, &gain.low_percent, &gain.high_percent);
    return gain;
}

/* Gives the first of the fastest entries that have schedules. */
static const struct entry *find_fastest(const struct entry *entries, int n)
{
    const struct entry *fastest = NULL;

    for (int p = 0; p < n; p++)
        if (entries[p].mix &&
            (!fastest || entries[p].row->per_sample_us < fastest->row->per_sample_us))
            fastest = &entries[p];
    return fastest;
}

/* Gives whether the time of entry, which has another mix than fastest, differs from it by more than
 * noise. */
static enum vbs_noise_verdict judge_difference(const struct entry *entry,
                                               const struct entry *fastest)
{
    double low, high;

    if (!vbs_noise_gain(fastest->spread, entry->spread, &low, &high))
        return VBS_NOISE_UNKNOWN;
    return low <= 0 && high >= 0 ? VBS_NOISE_WITHIN : VBS_NOISE_CLEAR;
}

/* Sets the verdicts. The fastest has that of the nearest of the others; all entries with the same
 * mix share it. */
static void set_verdicts(const struct entry *entries, int n)
{
    const struct entry *fastest = find_fastest(entries, n);
    enum vbs_noise_verdict nearest;

    if (!fastest)
        return;
    nearest = fastest->spread->known ? VBS_NOISE_CLEAR : VBS_NOISE_UNKNOWN;
    for (int p = 0; p < n; p++) {
        if (!entries[p].mix || vbs_mix_equal(entries[p].mix, fastest->mix))
            continue;
        entries[p].row->noise = judge_difference(&entries[p], fastest);
        if (entries[p].row->noise == VBS_NOISE_WITHIN)
            nearest = VBS_NOISE_WITHIN;
    }
    for (int p = 0; p < n; p++)
        if (entries[p].mix && vbs_mix_equal(entries[p].mix, fastest->mix))
            entries[p].row->noise = nearest;
}

static enum vbs_status set_entry(struct vbs_ctx *ctx, struct vbs_noise *noise,
                                 const struct vbs_row_column *column, int b,
                                 struct vbs_spread *spread, struct entry *entry)
{
    size_t at = (size_t)b * (size_t)column->stride;

    *entry = (struct entry){.row = &column->at[at], .mix = column->mixes[at], .spread = spread};
    return entry->mix && noise ? vbs_noise_spread(ctx, noise, entry->mix, spread) : VBS_OK;
}

enum vbs_status vbs_gains_set(struct vbs_ctx *ctx, struct vbs_noise *noise,
                              const struct vbs_compare *compare,
                              const struct vbs_row_column *columns)
{
    int n = compare->n_planners, n_all = n + VBS_N_BASELINES;
    struct vbs_spread *spreads = calloc((size_t)n_all, sizeof *spreads);
    struct entry *entries = calloc((size_t)n_all, sizeof *entries);
    enum vbs_status status = spreads && entries ? VBS_OK : vbs_no_memory(ctx);

    if (status != VBS_OK)
        goto done;
    for (int b = 0; b < compare->n_budgets; b++) {
        for (int p = 0; p < n_all && status == VBS_OK; p++)
            status = set_entry(ctx, noise, &columns[p], b, &spreads[p], &entries[p]);
        for (int p = 0; p < n && status == VBS_OK; p++)
            for (int i = 0; i < VBS_N_BASELINES; i++)
                *vbs_gains_of(entries[p].row, i) = gain_of(&entries[p], &entries[n + i]);
        if (status != VBS_OK)
            goto done;
        set_verdicts(entries, n);
    }
done:
    free(entries);
    free(spreads);
    return status;
}
