/*
 * The two clocks of schedule.h, without the memory. A draw changes times, but neither the memory
 * nor which step waits for which load. So the replay reports each step once, and the clocks of all
 * draws advance together. Loads follow each other. A compute step starts when the one before it and
 * the load that the replay names have ended; loads that have not ended then run beside it, and both
 * slow each other down. Loads take the same time in all draws, but are not equally far.
 */
#include "report/compare/clocks.h"

#include "base/fail.h"
#include "base/grow.h"
#include "vbslab/replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How far the copies of a draw are. */
struct draw_copies {
    int64_t n_ended; /* loads that have ended; the next is copied, unless all have */
    double end_us;   /* its end if computing waited; where all have ended, the end of the last */
};

struct clocks {
    const struct vbs_link *link;
    const struct vbs_clock_rows *rows;
    int n_draws;
    double *compute_us;         /* [n_draws] ends of the last steps */
    struct draw_copies *copies; /* [n_draws] */
    /* What loads first .. n_loads - 1 take alone; the ones before have ended in all draws. */
    double *took_us;
    int64_t capacity, first, n_loads;
    bool unknown;
};

/* Drops the loads that have ended in all draws, once this frees half of the memory. */
static void drop_ended(struct clocks *clocks)
{
    int64_t least = clocks->n_loads, n_left;

    if (clocks->n_loads - clocks->first < clocks->capacity)
        return;
    for (int r = 0; r < clocks->n_draws; r++)
        if (clocks->copies[r].n_ended < least)
            least = clocks->copies[r].n_ended;
    n_left = clocks->n_loads - least;
    if (n_left > clocks->capacity / 2)
        return;
    memmove(clocks->took_us, clocks->took_us + (least - clocks->first),
            (size_t)n_left * sizeof *clocks->took_us);
    clocks->first = least;
}

static enum vbs_status load(struct vbs_ctx *ctx, struct clocks *clocks, const struct vbs_step *step)
{
    double took_us = clocks->link->latency_us + (double)step->bytes / clocks->link->bytes_per_us;

    drop_ended(clocks);
    VBS_TRY(vbs_grow(ctx, &clocks->took_us, &clocks->capacity, clocks->n_loads - clocks->first + 1,
                     sizeof *clocks->took_us));
    clocks->took_us[clocks->n_loads - clocks->first] = took_us;
    for (int r = 0; r < clocks->n_draws; r++)
        if (clocks->copies[r].n_ended == clocks->n_loads)
            clocks->copies[r].end_us = clocks->compute_us[r] + took_us;
    clocks->n_loads++;
    return VBS_OK;
}

/* Ends the load of a draw that is copied; the next one follows it. */
static void end_load(const struct clocks *clocks, struct draw_copies *copies)
{
    if (++copies->n_ended < clocks->n_loads)
        copies->end_us += clocks->took_us[copies->n_ended - clocks->first];
}

/* Ends the loads of a draw up to number last while computing waits, and gives the end of the wait,
 * which began at now_us. */
static double wait_for(const struct clocks *clocks, struct draw_copies *copies, int64_t last,
                       double now_us)
{
    while (copies->n_ended <= last) {
        now_us = copies->end_us;
        end_load(clocks, copies);
    }
    return now_us;
}

/* Gives the end of a step of layer that would end at end_us if no copies ran beside it from now_us
 * on. */
static double run_beside(const struct clocks *clocks, struct draw_copies *copies, int layer,
                         double now_us, double end_us)
{
    const double *beside = clocks->link->beside;
    double step_slower = beside ? beside[layer] - 1 : 0, copy_slower = beside ? beside[0] - 1 : 0;

    while (copies->n_ended < clocks->n_loads) {
        double step_end_us = end_us + (end_us - now_us) * step_slower;
        double copy_end_us = copies->end_us + (copies->end_us - now_us) * copy_slower;

        if (copy_end_us > step_end_us) {
            copies->end_us += (step_end_us - now_us) * (copy_slower / (1 + copy_slower));
            copies->end_us = fmax(copies->end_us, step_end_us);
            return step_end_us;
        }
        end_us += (copy_end_us - now_us) * (step_slower / (1 + step_slower));
        end_us = fmax(end_us, copy_end_us);
        copies->end_us = now_us = copy_end_us;
        end_load(clocks, copies);
    }
    return end_us;
}

static void compute(struct clocks *clocks, const struct vbs_replay_event *event,
                    const struct vbs_profile_row *row, const float *draws)
{
    for (int r = 0; r < clocks->n_draws; r++) {
        double took_us = event->share * (row->time_us + (double)draws[r]);
        double now_us = wait_for(clocks, &clocks->copies[r], event->load, clocks->compute_us[r]);

        clocks->compute_us[r] =
            run_beside(clocks, &clocks->copies[r], event->step->layer, now_us, now_us + took_us);
    }
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
    clocks.copies = calloc((size_t)n_draws, sizeof *clocks.copies);
    if (!clocks.copies)
        return vbs_no_memory(ctx);
    status = vbs_replay_observe(ctx, profile, schedule, -1, observe, &clocks, NULL);
    if (clocks.unknown) {
        *known = false;
        status = VBS_OK;
    }
    /* A load for which no step waits counts too: the request ends with its last step. */
    for (int r = 0; r < n_draws && *known && status == VBS_OK; r++)
        time_us[r] = wait_for(&clocks, &clocks.copies[r], clocks.n_loads - 1, time_us[r]);
    free(clocks.copies);
    free(clocks.took_us);
    return status;
}
