/*
 * The two clocks of schedule.h, without the memory. A draw changes times, but neither the memory
 * nor which step waits for which load. So the replay reports each step once, and the clocks of all
 * draws advance together. A load starts when the load and the compute steps before it have ended; a
 * compute step starts when the one before it and the load that the replay names have ended. Loads
 * end in their order: the end of a load before one that was waited for is never needed again.
 */
#include "report/compare/clocks.h"

#include "base/fail.h"
#include "vbslab/replay.h"

#include <stdlib.h>
#include <string.h>

struct clocks {
    const struct vbs_link *link;
    const struct vbs_clock_rows *rows;
    int n_draws;
    double *compute_us, *copy_us; /* [n_draws] ends of the last steps */
    /* The ends of the loads first .. n_loads - 1, [capacity][n_draws]: load i at i % capacity. */
    double *ends_us;
    int64_t capacity, first, n_loads;
    bool unknown;
};

static double *end_of(const struct clocks *clocks, int64_t load)
{
    return clocks->ends_us + (size_t)(load % clocks->capacity) * (size_t)clocks->n_draws;
}

/* Makes space for one more load. */
static bool reserve(struct clocks *clocks)
{
    struct clocks larger = *clocks;
    size_t size = (size_t)clocks->n_draws * sizeof(double);

    if (clocks->n_loads - clocks->first < clocks->capacity)
        return true;
    larger.capacity = clocks->capacity ? 2 * clocks->capacity : 8;
    larger.ends_us = calloc((size_t)larger.capacity, size);
    if (!larger.ends_us)
        return false;
    for (int64_t i = clocks->first; i < clocks->n_loads; i++)
        memcpy(end_of(&larger, i), end_of(clocks, i), size);
    free(clocks->ends_us);
    *clocks = larger;
    return true;
}

static enum vbs_status load(struct vbs_ctx *ctx, struct clocks *clocks, const struct vbs_step *step)
{
    double took_us = clocks->link->latency_us + (double)step->bytes / clocks->link->bytes_per_us;
    double *end_us;

    if (!reserve(clocks))
        return vbs_no_memory(ctx);
    end_us = end_of(clocks, clocks->n_loads++);
    for (int r = 0; r < clocks->n_draws; r++) {
        double start_us =
            clocks->copy_us[r] > clocks->compute_us[r] ? clocks->copy_us[r] : clocks->compute_us[r];

        clocks->copy_us[r] = end_us[r] = start_us + took_us;
    }
    return VBS_OK;
}

static void compute(struct clocks *clocks, const struct vbs_replay_event *event,
                    const struct vbs_profile_row *row, const float *draws)
{
    if (event->load >= clocks->first) {
        const double *end_us = end_of(clocks, event->load);

        for (int r = 0; r < clocks->n_draws; r++)
            if (end_us[r] > clocks->compute_us[r])
                clocks->compute_us[r] = end_us[r];
        clocks->first = event->load + 1;
    }
    for (int r = 0; r < clocks->n_draws; r++)
        clocks->compute_us[r] += event->share * (row->time_us + (double)draws[r]);
}

static enum vbs_status observe(struct vbs_ctx *ctx, void *self,
                               const struct vbs_replay_event *event)
{
    struct clocks *clocks = self;
    const struct vbs_profile_row *row;
    const float *draws;

    if (event->step->op == VBS_STEP_LOAD)
        return event->step->resident ? VBS_OK : load(ctx, clocks, event->step);
    if (event->step->op == VBS_STEP_EVICT)
        return VBS_OK;
    VBS_TRY(clocks->rows->find(ctx, clocks->rows->self, event->step, &row, &draws));
    clocks->unknown = !draws;
    if (clocks->unknown)
        return VBS_UNSUPPORTED; /* ends the replay; vbs_clocks_run recognises it */
    compute(clocks, event, row, draws);
    return VBS_OK;
}

enum vbs_status vbs_clocks_run(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                               const struct vbs_schedule *schedule, const struct vbs_link *link,
                               const struct vbs_clock_rows *rows, int n_draws, double *time_us,
                               bool *known)
{
    struct clocks clocks = {.link = link, .rows = rows, .n_draws = n_draws, .compute_us = time_us};
    enum vbs_status status = VBS_OK;

    *known = schedule->n_steps <= VBS_CLOCKS_STEPS;
    if (!*known)
        return VBS_OK;
    memset(time_us, 0, (size_t)n_draws * sizeof *time_us);
    clocks.copy_us = calloc((size_t)n_draws, sizeof *clocks.copy_us);
    if (!clocks.copy_us)
        return vbs_no_memory(ctx);
    status = vbs_replay_observe(ctx, profile, schedule, -1, observe, &clocks, NULL);
    if (clocks.unknown) {
        *known = false;
        status = VBS_OK;
    }
    /* A load for which no step waits counts too: the request ends with its last step. */
    for (int r = 0; r < n_draws && *known && status == VBS_OK; r++)
        if (clocks.copy_us[r] > time_us[r])
            time_us[r] = clocks.copy_us[r];
    free(clocks.copy_us);
    free(clocks.ends_us);
    return status;
}
