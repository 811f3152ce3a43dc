/*
 * A schedule as it was executed, set beside its replay: as CSV and as a picture.
 */
#include "vbslab/report.h"

#include "backend/provenance.h"
#include "base/fail.h"
#include "base/text.h"
#include "report/plot/gantt.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HEADER                                                                                     \
    "step,op,layer,name,batch,part,parts,planned_start_us,planned_end_us,start_us,"                \
    "end_us" VBS_PROVENANCE_COLUMNS ",profile\n"

static enum vbs_status check(struct vbs_ctx *ctx, const struct vbs_replay *replay,
                             const struct vbs_exec_report *executed)
{
    if (!replay->steps || !executed->steps)
        return vbs_fail(ctx, VBS_USAGE, "replay and run must have been made with a trace");
    if (replay->n_steps != executed->n_steps)
        return vbs_fail(ctx, VBS_INVALID, "the run has %" PRId64 " steps, the replay %" PRId64,
                        executed->n_steps, replay->n_steps);
    return VBS_OK;
}

/* ---- CSV ---- */

/* Rounds to nanoseconds, because the clock is no finer. */
static double nanoseconds(double us)
{
    return round(1e3 * us) / 1e3;
}

static void add_row(struct vbs_text *text, const struct vbs_profile *profile,
                    const struct vbs_schedule *schedule, const struct vbs_replay *replay,
                    const struct vbs_exec_step *ran, const char *provenance, int64_t index)
{
    const struct vbs_step *step = &schedule->steps[index];
    bool whole = step->n_slices <= 1;

    vbs_text_addf(text, "%" PRId64 ",%s,%d,", index + 1, vbs_step_word((enum vbs_step_op)step->op),
                  step->layer);
    vbs_text_add_csv(text, profile->layers[step->layer].name);
    vbs_text_add(text, ",");
    if (step->op == VBS_STEP_COMPUTE)
        vbs_text_addf(text, "%d", step->batch);
    vbs_text_addf(text, ",%d,%d,", whole ? 1 : step->slice, whole ? 1 : step->n_slices);
    vbs_text_add_double(text, replay->steps[index].start_us);
    vbs_text_add(text, ",");
    vbs_text_add_double(text, replay->steps[index].end_us);
    vbs_text_add(text, ",");
    vbs_text_add_double(text, nanoseconds(ran->start_us));
    vbs_text_add(text, ",");
    vbs_text_add_double(text, nanoseconds(ran->end_us));
    vbs_text_add(text, provenance);
    vbs_text_add(text, "\n");
}

enum vbs_status vbs_executed_write_csv(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                       const struct vbs_schedule *schedule,
                                       const struct vbs_replay *replay,
                                       const struct vbs_exec_report *executed, const char *path)
{
    struct vbs_text text = {0}, provenance = {0};
    enum vbs_status status;

    VBS_TRY(check(ctx, replay, executed));
    vbs_profile_add_columns(&provenance, profile);
    vbs_text_addf(&provenance, ",%" PRId64, replay->profile_id);
    text.failed = provenance.failed;
    vbs_text_add(&text, HEADER);
    for (int64_t i = 0; i < replay->n_steps && !text.failed; i++)
        add_row(&text, profile, schedule, replay, &executed->steps[i], provenance.data, i);
    status = text.failed ? vbs_no_memory(ctx) : vbs_write_file(ctx, path, text.data, text.length);
    vbs_text_clear(&text);
    vbs_text_clear(&provenance);
    return status;
}

/* ---- Picture ---- */

/* As a share of the run's time: a gap between two steps that is too short to be seen. It is drawn
 * as part of the second step. */
#define UNSEEN 1e-3

/* Writes the times of the run into steps, which are the replay's. A step whose gap to the one
 * before it on the same clock is that short is drawn as if it began at that one's end. */
static void set_times(const struct vbs_schedule *schedule, const struct vbs_exec_report *executed,
                      struct vbs_replay_step *steps)
{
    double unseen_us = UNSEEN * executed->time_us, ended_us[2] = {0, 0};

    for (int64_t i = 0; i < executed->n_steps; i++) {
        double *ended = &ended_us[schedule->steps[i].op != VBS_STEP_COMPUTE];

        steps[i].start_us = executed->steps[i].start_us;
        steps[i].end_us = executed->steps[i].end_us;
        if (schedule->steps[i].op == VBS_STEP_EVICT || schedule->steps[i].resident)
            continue;
        if (steps[i].start_us > *ended && steps[i].start_us - *ended < unseen_us)
            steps[i].start_us = *ended;
        *ended = steps[i].end_us;
    }
}

enum vbs_status vbs_executed_plot(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                  const struct vbs_schedule *schedule,
                                  const struct vbs_replay *replay,
                                  const struct vbs_exec_report *executed,
                                  const struct vbs_plot_options *options, const char *path)
{
    struct vbs_replay ran = *replay;
    enum vbs_status status;

    VBS_TRY(check(ctx, replay, executed));
    ran.steps = malloc((size_t)ran.n_steps * sizeof *ran.steps);
    if (!ran.steps)
        return vbs_no_memory(ctx);
    memcpy(ran.steps, replay->steps, (size_t)ran.n_steps * sizeof *ran.steps);
    set_times(schedule, executed, ran.steps);
    ran.time_us = executed->time_us;
    ran.compute_us = executed->compute_us;
    ran.copy_us = executed->copy_us;
    status = vbs_gantt_plot(ctx, profile, schedule, replay, &ran, options, path);
    free(ran.steps);
    return status;
}
