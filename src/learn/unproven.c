/*
 * How much too low the times of rows are that a planner has chosen without their having been
 * executed. A plan is the least of very many sums, so it is made of the rows whose times are too
 * low, and of those that take longer in schedules than alone: where the batch changes between two
 * layers, a step finds of its input what the caches have kept since a larger step before it.
 *
 * A new plan of which the share s of the predicted time is of rows that no schedule has run turns
 * out 1 + e times as long, beside contender number 0, as it was predicted beside it. Over all such
 * plans e is taken to be d s; d, found by least squares with a prior of RIDGE that it is 0, is by
 * how much rows without executions take longer from then on.
 */
#include "learn/learn.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

#define RIDGE 0.3 /* plans of new rows alone with e of 0 */
#define MOST  0.2 /* d is found from few plans */

/* ---- Predictions ---- */

/* Adds the predicted time of a step. factor: of rows that were not executed, which is taken away.
 */
static void add_step(const struct vbs_profile *profile, const struct vbs_schedule *schedule,
                     const struct vbs_step *step, const struct observations *executed,
                     double factor, struct learn_prediction *prediction)
{
    struct vbs_observed_row key = {.layer = step->layer, .batch = step->batch, .rows = step->rows};
    double time_us = learn_step_us(profile, schedule, step);

    key.algorithm = vbs_profile_algorithm(profile, schedule->algorithms[step->algorithm]);
    if (executed->n_rows > 0 &&
        bsearch(&key, executed->rows, (size_t)executed->n_rows, sizeof key, learn_compare_rows)) {
        prediction->all_us += time_us;
        return;
    }
    prediction->all_us += time_us / factor;
    prediction->unproven_us += time_us / factor;
}

void learn_sort_executed(struct observations *executed)
{
    if (executed->n_rows > 0)
        qsort(executed->rows, (size_t)executed->n_rows, sizeof *executed->rows, learn_compare_rows);
}

struct learn_prediction learn_predict(const struct vbs_profile *profile,
                                      const struct vbs_schedule *schedule,
                                      const struct observations *executed, double factor)
{
    struct learn_prediction prediction = {0, 0};

    for (int64_t s = 0; s < schedule->n_steps; s++)
        if (schedule->steps[s].op == VBS_STEP_COMPUTE)
            add_step(profile, schedule, &schedule->steps[s], executed, factor, &prediction);
    return prediction;
}

/* ---- What came of them ---- */

enum vbs_status learn_add_outcomes(struct vbs_ctx *ctx, const struct contender *contenders, int n,
                                   struct learn_outcomes *outcomes)
{
    for (int i = 1; i < n; i++) {
        const struct learn_prediction *own = &contenders[i].predicted;
        const struct learn_prediction *base = &contenders[i].predicted_base;
        double share = own->all_us > 0 ? own->unproven_us / own->all_us : 0;
        struct vbs_profile_row ratio;

        if (!(share > 0 && base->all_us > 0))
            continue;
        VBS_TRY(learn_contender_ratio(ctx, &contenders[i], &contenders[0], &ratio));
        if (ratio.n_runs == 0)
            continue;
        outcomes->products += share * (ratio.time_us / (own->all_us / base->all_us) - 1);
        outcomes->squares += share * share;
    }
    return VBS_OK;
}

double learn_unproven_factor(const struct learn_outcomes *outcomes)
{
    return 1 + fmin(MOST, fmax(0, outcomes->products / (outcomes->squares + RIDGE)));
}
