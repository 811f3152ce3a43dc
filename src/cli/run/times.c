/* Running a request again and again. */
#include "cli/run/run.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

#define DISTURBED 0.05 /* the median above the fastest, in parts of it */

static void keep_most(int64_t *most, int64_t value)
{
    if (value > *most)
        *most = value;
}

/* The steps of the fastest run are kept: the next run writes over them. */
static enum vbs_status keep_fastest(struct run_job *job, const struct vbs_exec_report *report)
{
    struct run_times *times = &job->times;
    size_t size = (size_t)report->n_steps * sizeof *report->steps;

    if (times->fastest.time_us > 0 && report->time_us >= times->fastest.time_us)
        return VBS_OK;
    times->fastest = *report;
    if (!report->steps)
        return VBS_OK;
    if (!times->steps)
        times->steps = malloc(size);
    if (!times->steps)
        return vbs_no_memory(&job->cli->ctx);
    memcpy(times->steps, report->steps, size);
    times->fastest.steps = times->steps;
    return VBS_OK;
}

static enum vbs_status run_once(struct run_job *job, struct vbs_exec_report *report)
{
    return vbs_exec_run(&job->cli->ctx, job->exec, job->input, job->outputs, report);
}

static enum vbs_status run_all(struct run_job *job, int64_t n, struct vbs_exec_report *reports)
{
    struct run_times *times = &job->times;
    struct vbs_exec_report warm_up;
    struct vbs_progress progress = cli_progress(job->cli);
    enum vbs_status status = run_once(job, &warm_up);

    times->high_water_bytes = -1;
    for (int64_t i = 0; i < n && status == VBS_OK; i++) {
        if (progress.report)
            progress.report(progress.self, (double)i / (double)n,
                            (double)(n - i) * warm_up.time_us / 1e6, "running");
        status = run_once(job, &reports[i]);
        if (status != VBS_OK)
            break;
        keep_most(&times->touched_bytes, reports[i].touched_bytes);
        keep_most(&times->high_water_bytes, reports[i].high_water_bytes);
        keep_most(&times->base_bytes, reports[i].base_bytes);
        status = keep_fastest(job, &reports[i]);
        reports[i].steps = NULL;
    }
    cli_progress_end(job->cli);
    return status;
}

/* What is told is one run, the median; of two in the middle the faster, so that its parts add up.
 */
static void summarize(struct run_job *job, int64_t n, const struct vbs_exec_report *reports,
                      double *times_us)
{
    struct run_times *times = &job->times;

    for (int64_t i = 0; i < n; i++)
        times_us[i] = reports[i].time_us;
    vbs_measure_summary(times_us, (int)n, &times->request); /* sorts */
    times->fastest_us = times_us[0];
    times->slowest_us = times_us[n - 1];
    times->request.time_us = times_us[(n - 1) / 2];
    for (int64_t i = 0; i < n; i++)
        if (reports[i].time_us == times->request.time_us)
            times->median = reports[i];
}

static void warn_of_noise(struct run_job *job)
{
    const struct run_times *times = &job->times;
    double above = times->request.time_us / times->fastest_us - 1;

    if (above > DISTURBED)
        cli_warn(job->cli,
                 "the machine was busy: the median of %d runs is %.1f%% above the fastest; "
                 "--repeat N runs more",
                 times->request.n_runs, 100 * above);
}

enum vbs_status run_measure(struct run_job *job)
{
    int64_t n = job->n_repeats;
    struct vbs_exec_report *reports = calloc((size_t)n, sizeof *reports);
    double *times_us = calloc((size_t)n, sizeof *times_us);
    enum vbs_status status =
        reports && times_us ? run_all(job, n, reports) : vbs_no_memory(&job->cli->ctx);

    if (status == VBS_OK) {
        summarize(job, n, reports, times_us);
        warn_of_noise(job);
    }
    free(reports);
    free(times_us);
    return status;
}
