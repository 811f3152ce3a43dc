/*
 * The times that compute steps would have taken alone, where loads of weights ran beside them. The
 * two clocks (schedule.h) say that a step comes as far in dt beside a load as it does in dt / g
 * alone, g being the factor of its layer. So a step of which o microseconds overlap loads, as they
 * were executed, loses o (1 - 1 / g). Without factors nothing is known of such steps, and only
 * those tell anything beside which no load ran.
 */
#include "learn/learn.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

static bool is_executed_load(const struct vbs_step *step)
{
    return step->op == VBS_STEP_LOAD && !step->resident;
}

/* Lists the times of the loads, one after the other as they ran; returns their number. */
static int64_t list_loads(const struct vbs_schedule *schedule, const struct vbs_exec_step *times,
                          struct vbs_exec_step *loads)
{
    int64_t n = 0;

    for (int64_t s = 0; s < schedule->n_steps; s++)
        if (is_executed_load(&schedule->steps[s]))
            loads[n++] = times[s];
    return n;
}

/* Returns the time in which a step and loads ran; *first is the first load that may overlap it. */
static double overlap_us(const struct vbs_exec_step *step, const struct vbs_exec_step *loads,
                         int64_t n_loads, int64_t *first)
{
    double sum_us = 0;

    while (*first < n_loads && loads[*first].end_us <= step->start_us)
        ++*first;
    for (int64_t i = *first; i < n_loads && loads[i].start_us < step->end_us; i++)
        sum_us +=
            fmax(0, fmin(loads[i].end_us, step->end_us) - fmax(loads[i].start_us, step->start_us));
    return sum_us;
}

enum vbs_status learn_alone(struct vbs_ctx *ctx, const struct vbs_schedule *schedule,
                            const struct vbs_exec_step *times, double *alone_us)
{
    struct vbs_exec_step *loads = malloc(((size_t)schedule->n_steps + 1) * sizeof *loads);
    const double *beside = schedule->copy.beside;
    int64_t n_loads, first = 0;

    if (!loads)
        return vbs_no_memory(ctx);
    n_loads = list_loads(schedule, times, loads);
    for (int64_t s = 0; s < schedule->n_steps; s++) {
        const struct vbs_step *step = &schedule->steps[s];
        double both_us;

        alone_us[s] = times[s].end_us - times[s].start_us;
        if (step->op != VBS_STEP_COMPUTE)
            continue;
        both_us = overlap_us(&times[s], loads, n_loads, &first);
        if (both_us > 0)
            alone_us[s] = beside ? alone_us[s] - both_us * (1 - 1 / beside[step->layer]) : NAN;
    }
    free(loads);
    return VBS_OK;
}
