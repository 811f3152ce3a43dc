#include "exec/layout/delay.h"

#include "base/fail.h"
#include "exec/layout/blocks.h"

#include <math.h>
#include <stdlib.h>

struct delaying {
    const struct vbs_exec_checked *checked;
    const struct vbs_exec_blocks *blocks;
    int n_computes;
    int *step_of;     /* [n_computes] */
    double *end_us;   /* [n_computes] of compute steps */
    double *load_us;  /* [n_loads] duration; residents: 0 */
    double *ready_us; /* [n_loads] end */
    double *due_us;   /* [n_loads] the latest end */
    int *due_step;    /* [n_loads] the first step of the list that reads or evicts it */
    int *loads;       /* [n_streamed] numbers of the loads, in their order */
};

static bool begin_delaying(struct delaying *d)
{
    size_t n_steps = (size_t)d->checked->schedule->n_steps + 1;
    size_t n_loads = (size_t)d->blocks->n_loads + 1;

    d->step_of = malloc(n_steps * sizeof *d->step_of);
    d->end_us = malloc(n_steps * sizeof *d->end_us);
    d->load_us = malloc(n_loads * sizeof *d->load_us);
    d->ready_us = malloc(n_loads * sizeof *d->ready_us);
    d->due_us = malloc(n_loads * sizeof *d->due_us);
    d->due_step = malloc(n_loads * sizeof *d->due_step);
    d->loads = malloc(n_loads * sizeof *d->loads);
    return d->step_of && d->end_us && d->load_us && d->ready_us && d->due_us && d->due_step &&
           d->loads;
}

static void clear(struct delaying *d)
{
    free(d->step_of);
    free(d->end_us);
    free(d->load_us);
    free(d->ready_us);
    free(d->due_us);
    free(d->due_step);
    free(d->loads);
}

/* Finds the end of each load, and the time at which it is due, by the replay's clocks. A step waits
 * for all loads up to the last one that it needs. This takes no longer, because loads come one
 * after the other. */
static void find_dues(struct delaying *d)
{
    const struct vbs_schedule *schedule = d->checked->schedule;
    int n_loads = 0, n_streamed = 0;

    for (int64_t i = 0; i < schedule->n_steps; i++) {
        const struct vbs_step *step = &schedule->steps[i];
        const struct vbs_exec_checked_step *noted = &d->checked->steps[i];

        if (step->op == VBS_STEP_LOAD) {
            int load = n_loads++;

            d->load_us[load] = noted->end_us - noted->start_us;
            d->ready_us[load] = noted->end_us;
            d->due_us[load] = HUGE_VAL;
            d->due_step[load] = (int)schedule->n_steps;
            if (!step->resident)
                d->loads[n_streamed++] = load;
            continue;
        }
        if (noted->waits > 0) {
            int load = d->loads[noted->waits - 1];

            if (d->due_step[load] > i) { /* evicted weights must have been in memory for at least
                                            one step */
                d->due_step[load] = (int)i - (step->op == VBS_STEP_EVICT);
                d->due_us[load] = fmax(noted->start_us, d->ready_us[load]);
            }
        }
        if (step->op == VBS_STEP_COMPUTE) {
            d->step_of[d->n_computes] = (int)i;
            d->end_us[d->n_computes++] = noted->end_us;
        }
    }
}

/* Gives the step behind the last compute step that has ended by time_us. */
static int step_behind(const struct delaying *d, double time_us)
{
    int low = 0, high = d->n_computes;

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (d->end_us[middle] <= time_us)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? d->step_of[low - 1] + 1 : 0;
}

/* Sets the step before which each load begins, from the last load to the first. A load is due when
 * it is needed, and before the next load has to begin. */
static void set_begins(struct delaying *d, double slack, int *begins)
{
    double next_us = HUGE_VAL;
    int next_step = (int)d->checked->schedule->n_steps;

    for (int i = d->blocks->n_streamed - 1; i >= 0; i--) {
        int load = d->loads[i], latest;

        next_us = fmin(next_us, d->due_us[load]);
        next_step = d->due_step[load] < next_step ? d->due_step[load] : next_step;
        if (next_us < HUGE_VAL)
            next_us -= slack * d->load_us[load];
        latest = next_us < HUGE_VAL ? step_behind(d, next_us) : begins[load];
        latest = latest < next_step ? latest : next_step;
        if (latest > begins[load])
            begins[load] = latest;
        next_step = begins[load] < next_step ? begins[load] : next_step;
    }
}

enum vbs_status vbs_exec_delay(struct vbs_ctx *ctx, const struct vbs_exec_checked *checked,
                               const struct vbs_exec_blocks *blocks, double slack, int *begins)
{
    const struct vbs_schedule *schedule = checked->schedule;
    struct delaying d = {.checked = checked, .blocks = blocks};
    enum vbs_status status = VBS_OK;
    int n = 0;

    for (int64_t i = 0; i < schedule->n_steps; i++)
        if (schedule->steps[i].op == VBS_STEP_LOAD)
            begins[n++] = (int)i;
    if (!(slack > 0))
        return VBS_OK;
    if (begin_delaying(&d)) {
        find_dues(&d);
        set_begins(&d, slack, begins);
    } else {
        status = vbs_no_memory(ctx);
    }
    clear(&d);
    return status;
}
