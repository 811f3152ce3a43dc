/* A schedule with its executor, and the times of its runs. */
#include "learn/learn.h"

#include "base/fail.h"
#include "base/grow.h"
#include "turns/ratio.h"
#include "vbslab/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void learn_contender_close(struct contender *contender)
{
    vbs_exec_free(contender->exec);
    contender->exec = NULL;
}

void learn_contender_clear(struct contender *contender)
{
    learn_contender_close(contender);
    vbs_exec_placed_free(contender->placed);
    vbs_schedule_free(contender->schedule);
    free(contender->times_us);
    free(contender->turns);
    free(contender->steps_us);
    free(contender->waits_us);
    free(contender->alone_us);
    free(contender->profile_us);
    *contender = (struct contender){0};
}

static bool is_included(const struct contender *contender)
{
    return contender->schedule->weights == VBS_WEIGHTS_INCLUDED;
}

static double step_us(const struct contender *contender, const struct vbs_exec_report *report,
                      size_t step)
{
    if (contender->profile_us)
        return report->time_us * contender->profile_us[step] / contender->profile_sum_us;
    return report->steps[step].end_us - report->steps[step].start_us;
}

/* Keeps the times of the steps of a run, in the place of those of the oldest. */
static enum vbs_status keep_steps(struct vbs_ctx *ctx, struct contender *contender,
                                  const struct vbs_exec_report *report)
{
    size_t n = (size_t)contender->schedule->n_steps;
    size_t first = (size_t)(contender->n_runs % LEARN_STEPS_KEPT) * n;

    if (!contender->steps_us)
        contender->steps_us = calloc(LEARN_STEPS_KEPT * n, sizeof *contender->steps_us);
    if (!contender->alone_us && is_included(contender))
        contender->alone_us = calloc(LEARN_STEPS_KEPT * n, sizeof *contender->alone_us);
    if (!contender->steps_us || (!contender->alone_us && is_included(contender)))
        return vbs_no_memory(ctx);
    for (size_t s = 0; s < n; s++)
        contender->steps_us[first + s] = step_us(contender, report, s);
    return is_included(contender)
               ? learn_alone(ctx, contender->schedule, report->steps, contender->alone_us + first)
               : VBS_OK;
}

static enum vbs_status keep_wait(struct vbs_ctx *ctx, struct contender *contender, double wait_us)
{
    if (!is_included(contender))
        return VBS_OK;
    VBS_TRY(vbs_grow(ctx, &contender->waits_us, &contender->wait_capacity,
                     (int64_t)contender->n_runs + 1, sizeof *contender->waits_us));
    contender->waits_us[contender->n_runs] = wait_us;
    return VBS_OK;
}

enum vbs_status learn_contender_run(struct vbs_ctx *ctx, struct contender *contender, int turn,
                                    bool counts)
{
    struct vbs_exec_report report;

    /* Asking for memory cools down caches and threads: it made short requests a tenth longer. */
    vbs_exec_set_times_only(contender->exec, true);
    VBS_TRY(vbs_exec_run(ctx, contender->exec, NULL, NULL, &report));
    if (!counts)
        return VBS_OK;
    VBS_TRY(vbs_grow(ctx, &contender->times_us, &contender->capacity,
                     (int64_t)contender->n_runs + 1, sizeof *contender->times_us));
    VBS_TRY(vbs_grow(ctx, &contender->turns, &contender->turn_capacity,
                     (int64_t)contender->n_runs + 1, sizeof *contender->turns));
    VBS_TRY(keep_steps(ctx, contender, &report));
    VBS_TRY(keep_wait(ctx, contender, report.waited_us));
    contender->times_us[contender->n_runs] = report.time_us;
    contender->turns[contender->n_runs++] = turn;
    return VBS_OK;
}

/* ---- Statistics ---- */

enum vbs_status learn_contender_time(struct vbs_ctx *ctx, const struct contender *contender,
                                     struct vbs_profile_row *time)
{
    size_t n = (size_t)contender->n_runs;
    double *sorted = malloc((n + 1) * sizeof *sorted);

    if (!sorted)
        return vbs_no_memory(ctx);
    if (n > 0)
        memcpy(sorted, contender->times_us, n * sizeof *sorted);
    vbs_measure_summary(sorted, contender->n_runs, time);
    free(sorted);
    return VBS_OK;
}

enum vbs_status learn_contender_ratio(struct vbs_ctx *ctx, const struct contender *contender,
                                      const struct contender *over, struct vbs_profile_row *ratio)
{
    double *logarithms = malloc(((size_t)contender->n_runs + 1) * sizeof *logarithms);
    struct vbs_turns_ratio median;
    int n = 0;

    if (!logarithms)
        return vbs_no_memory(ctx);
    for (int i = 0, j = 0; i < contender->n_runs && j < over->n_runs;) {
        if (contender->turns[i] == over->turns[j])
            logarithms[n++] = vbs_turns_logarithm(contender->times_us[i++], over->times_us[j++]);
        else if (contender->turns[i] < over->turns[j])
            i++;
        else
            j++;
    }
    median = vbs_turns_median_ratio(logarithms, n);
    *ratio = (struct vbs_profile_row){
        .time_us = median.ratio, .low_us = median.low, .high_us = median.high, .n_runs = n};
    free(logarithms);
    return VBS_OK;
}
