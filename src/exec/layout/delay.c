#include "exec/layout/delay.h"

#include "base/fail.h"
#include "exec/layout/blocks.h"

#include <math.h>
#include <stdlib.h>

struct delaying {
    const struct vbs_exec_walk *walk;
    const struct vbs_exec_pieces *pieces;
    struct vbs_link channel;
    int n_computes;
    int *step_of;     /* [n_computes] */
    double *end_us;   /* [n_computes] of compute steps */
    double *load_us;  /* [n_loads] how long it takes; residents: 0 */
    double *ready_us; /* [n_loads] when it has ended */
    double *due_us;   /* [n_loads] when it must have ended at the latest */
    int *due_step;    /* [n_loads] the first step of the list that reads or drops it */
    int *loads;       /* [n_streamed] their numbers, by their order */
};

static bool begin(struct delaying *d)
{
    size_t n_steps = (size_t)d->walk->schedule->n_steps + 1;
    size_t n_loads = (size_t)d->pieces->n_loads + 1;

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

/* Both clocks, forwards; what is due when. A step waits for all loads up to the last one that it
 * needs, which is no longer: they come one after the other. */
static void run_clocks(struct delaying *d)
{
    const struct vbs_schedule *schedule = d->walk->schedule;
    double compute_us = 0, copy_us = 0;
    int n_loads = 0, n_streamed = 0;

    for (int64_t i = 0; i < schedule->n_steps; i++) {
        const struct vbs_step *step = &schedule->steps[i];
        int waits = d->walk->steps[i].image >= 0 ? d->pieces->steps[i].waits : 0;

        if (step->op == VBS_STEP_LOAD) {
            int load = n_loads++;

            d->load_us[load] = 0;
            d->due_us[load] = HUGE_VAL;
            d->due_step[load] = (int)schedule->n_steps;
            if (step->resident)
                continue;
            d->loads[n_streamed++] = load;
            d->load_us[load] =
                d->channel.latency_us + (double)step->bytes / d->channel.bytes_per_us;
            copy_us = fmax(copy_us, compute_us) + d->load_us[load];
            d->ready_us[load] = copy_us;
            continue;
        }
        if (waits > 0) {
            int load = d->loads[waits - 1];

            if (step->op == VBS_STEP_COMPUTE)
                compute_us = fmax(compute_us, d->ready_us[load]);
            if (d->due_step[load] > i) { /* what is dropped must have been there for a step */
                d->due_step[load] = (int)i - (step->op == VBS_STEP_EVICT);
                d->due_us[load] = fmax(compute_us, d->ready_us[load]);
            }
        }
        if (step->op == VBS_STEP_COMPUTE) {
            compute_us += d->walk->kernels[d->walk->steps[i].kernel].time_us;
            d->step_of[d->n_computes] = (int)i;
            d->end_us[d->n_computes++] = compute_us;
        }
    }
}

/* The step behind the last compute step that has ended by time_us. */
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

/* Backwards: each load is due when it is needed, and before the next one has to begin. */
static void set_begins(struct delaying *d, double slack, int *begins)
{
    double next_us = HUGE_VAL;
    int next_step = (int)d->walk->schedule->n_steps;

    for (int i = d->pieces->n_streamed - 1; i >= 0; i--) {
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

enum vbs_status vbs_exec_delay(struct vbs_ctx *ctx, const struct vbs_exec_walk *walk,
                               const struct vbs_exec_pieces *pieces, double slack, int *begins)
{
    const struct vbs_schedule *schedule = walk->schedule;
    const struct vbs_copy *copy =
        schedule->copy.source ? vbs_profile_copy(walk->profile, schedule->copy.source) : NULL;
    struct delaying d = {
        .walk = walk, .pieces = pieces, .channel = copy ? copy->link : schedule->copy};
    enum vbs_status status = VBS_OK;
    int n = 0;

    for (int64_t i = 0; i < schedule->n_steps; i++)
        if (schedule->steps[i].op == VBS_STEP_LOAD)
            begins[n++] = (int)i;
    if (!(slack > 0) || !(d.channel.bytes_per_us > 0))
        return VBS_OK;
    if (begin(&d)) {
        run_clocks(&d);
        set_begins(&d, slack, begins);
    } else {
        status = vbs_no_memory(ctx);
    }
    clear(&d);
    return status;
}
