/* Runs a request repeatedly. */
#include "cli/run/run.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/grow.h"
#include "base/lost.h"
#include "exec/cache_watch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOISY      0.05 /* share by which the median is above the fastest */
#define DISTURBED  0.02 /* share of a run that its threads waited for processors */
#define WAKES_US   20   /* waiting that the wake-ups of an idle machine take */
#define MOST_TIMES 3    /* as many runs as are asked for, to have enough undisturbed ones */

/* Reports of the runs so far, without steps. */
struct reports {
    struct vbs_exec_report *at;
    bool *disturbed;
    int64_t n, n_disturbed, capacity, max_disturbed;
    struct vbs_cache_watch cache;
};

static void raise_to(int64_t *most, int64_t value)
{
    if (value > *most)
        *most = value;
}

/* Copies the steps of the fastest run, because the next run overwrites them. */
static enum vbs_status copy_fastest(struct run_job *job, const struct vbs_exec_report *report)
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

/* Gives whether run number n, from 0, asks for memory: runs 1, 10, 100 and so on do. What a run
 * takes is much the same in all of them, and asking slows down the short ones. */
static bool asks_for_memory(int64_t n)
{
    int64_t power = 1;

    while (power < n + 1)
        power *= 10;
    return power == n + 1;
}

static enum vbs_status run_once(struct run_job *job, bool times_only,
                                struct vbs_exec_report *report)
{
    if (!times_only)
        run_keep_peak(job);
    vbs_exec_set_times_only(job->exec, times_only);
    return vbs_exec_run(&job->cli->ctx, job->exec, job->input, job->outputs, report);
}

/* Returns whether the last-level cache is slower than when the profile was measured: others that
 * the system does not see, such as other guests of the host, use it. */
static bool is_cache_slow(const struct run_job *job, struct reports *reports)
{
    return vbs_cache_watch_look(&reports->cache, vbs_exec_session(job->exec)) == VBS_CACHE_SLOWER;
}

/* Does the same; *disturbed: the run lost much of its time to other processes, or the last-level
 * cache was slow before or after it. Where neither is known, no run is disturbed. */
static enum vbs_status run_watched(struct run_job *job, bool times_only, struct reports *reports,
                                   struct vbs_exec_report *report, bool *disturbed)
{
    struct vbs_lost before, after;
    bool slow = is_cache_slow(job, reports);
    double lost_us;

    vbs_lost_read("/proc", &before);
    VBS_TRY(run_once(job, times_only, report));
    vbs_lost_read("/proc", &after);
    lost_us = (double)vbs_lost_between(&before, &after);
    slow = is_cache_slow(job, reports) || slow;
    *disturbed = slow || lost_us > fmax(WAKES_US, DISTURBED * report->time_us);
    return VBS_OK;
}

static enum vbs_status add_report(struct run_job *job, struct reports *reports,
                                  const struct vbs_exec_report *report, bool disturbed)
{
    struct run_times *times = &job->times;

    VBS_TRY(vbs_grow(&job->cli->ctx, &reports->at, &reports->capacity, reports->n + 1,
                     sizeof *reports->at));
    VBS_TRY(vbs_grow(&job->cli->ctx, &reports->disturbed, &reports->max_disturbed, reports->n + 1,
                     sizeof *reports->disturbed));
    reports->disturbed[reports->n] = disturbed;
    reports->n_disturbed += disturbed;
    raise_to(&times->touched_bytes, report->touched_bytes);
    raise_to(&times->high_water_bytes, report->high_water_bytes);
    raise_to(&times->base_bytes, report->base_bytes);
    raise_to(&times->heap_bytes, report->heap_bytes);
    if (report->high_water_bytes >= 0) {
        raise_to(&times->taken_bytes, report->high_water_bytes - report->file_bytes);
        raise_to(&times->total_bytes, report->base_bytes + report->high_water_bytes);
    }
    reports->at[reports->n] = *report;
    reports->at[reports->n++].steps = NULL;
    return copy_fastest(job, report);
}

/* Shows the progress of n runs in elapsed_s seconds, each of which took run_s. */
static void show_progress(const struct run_job *job, const struct vbs_progress *progress, int64_t n,
                          double elapsed_s, double run_s)
{
    double left_s = fmax(job->duration_s - elapsed_s, (double)(job->n_runs - n) * run_s);
    double all_s = elapsed_s + fmax(left_s, 0);

    if (progress->report)
        progress->report(progress->self, all_s > 0 ? elapsed_s / all_s : 1, fmax(left_s, 0),
                         "running");
}

static enum vbs_status warm_up(struct run_job *job, double *run_s)
{
    struct vbs_exec_report report;

    for (int64_t i = 0; i < job->n_warm_up; i++) {
        VBS_TRY(run_once(job, true, &report));
        *run_s = report.time_us / 1e6;
    }
    return VBS_OK;
}

/* Gives whether the options require a further run. Where several runs and no duration are asked
 * for, disturbed runs are repeated, within limits. */
static bool needs_run(const struct run_job *job, const struct reports *reports, double elapsed_s)
{
    int64_t n_good = reports->n - reports->n_disturbed;

    if (reports->n >= RUN_MOST_RUNS)
        return false;
    if (reports->n < job->n_runs || elapsed_s < job->duration_s)
        return true;
    return job->duration_s == 0 && job->n_runs > 1 && n_good < job->n_runs &&
           reports->n < MOST_TIMES * job->n_runs;
}

/* Adds half of the arithmetic speed of the machine, where the profile knows that of its own time.
 * Asked before and after the runs. Where the whole process is limited, nothing is asked: what is
 * read of the last-level cache takes some MiB. */
static enum vbs_status add_speed(struct run_job *job, struct reports *reports)
{
    const struct vbs_session *session = vbs_exec_session(job->exec);
    struct vbs_speed now;

    if (!(job->profile->speed.flops_per_us > 0) || !session->ops->speed || job->limit_bytes > 0)
        return VBS_OK;
    VBS_TRY(session->ops->speed(&job->cli->ctx, session, NULL, 0, &now));
    job->times.speed.flops_per_us += now.flops_per_us / 2;
    vbs_cache_watch_add(&reports->cache, now.cache_bytes_per_us);
    return VBS_OK;
}

/* Returns the most runs that the options ask for, by the time of the runs so far. */
static int64_t most_runs(const struct run_job *job)
{
    double run_us = job->times.fastest_us, most = (double)(MOST_TIMES * job->n_runs);

    if (job->duration_s > 0)
        most = run_us > 0 ? fmax(most, 1.5 * 1e6 * job->duration_s / run_us) : RUN_MOST_RUNS;
    return (int64_t)fmin(most, RUN_MOST_RUNS);
}

int64_t run_record_bytes(const struct run_job *job)
{
    const struct reports *reports = NULL;

    /* Arrays grow by half or more, and their old and new memory are there at once. */
    return 3 * most_runs(job) *
           (int64_t)(sizeof *reports->at + sizeof *reports->disturbed + sizeof(double));
}

/* Runs as often and as long as the options require. */
static enum vbs_status run_repeatedly(struct run_job *job, struct reports *reports)
{
    struct vbs_progress progress = cli_progress(job->cli);
    double run_s = 0, start_s, elapsed_s = 0;
    enum vbs_status status = warm_up(job, &run_s);

    job->times = (struct run_times){.high_water_bytes = -1, .taken_bytes = -1, .total_bytes = -1};
    if (status == VBS_OK)
        status = add_speed(job, reports);
    start_s = vbs_clock_s();
    while (status == VBS_OK && needs_run(job, reports, elapsed_s)) {
        struct vbs_exec_report report;
        bool disturbed;

        show_progress(job, &progress, reports->n, elapsed_s, run_s);
        status = run_watched(job, !asks_for_memory(reports->n), reports, &report, &disturbed);
        if (status == VBS_OK)
            status = add_report(job, reports, &report, disturbed);
        elapsed_s = vbs_clock_s() - start_s;
        run_s = elapsed_s / (double)(reports->n > 0 ? reports->n : 1);
    }
    cli_progress_end(job->cli);
    if (reports->n >= RUN_MOST_RUNS && elapsed_s < job->duration_s)
        cli_note(job->cli, "%d runs, the most whose times are kept, took %.3g of the %.3g seconds",
                 RUN_MOST_RUNS, elapsed_s, job->duration_s);
    if (status == VBS_OK)
        status = add_speed(job, reports);
    if (reports->cache.n > 0)
        job->times.speed.cache_bytes_per_us = reports->cache.sum / (double)reports->cache.n;
    return status;
}

/* Gives the nearest rank: the least time that so many percent of the runs do not exceed. There is
 * none for so few runs that less than one of them is above it: p90 needs 10 runs, p99 100. */
static double percentile(const double *sorted_us, int64_t n, int percent)
{
    return n * (100 - percent) >= 100 ? sorted_us[(n * percent + 99) / 100 - 1] : NAN;
}

/* Gives the time of the median run; of two in the middle that of the faster one. */
static double middle(const double *sorted_us, int64_t n)
{
    return sorted_us[(n - 1) / 2];
}

/* Reports one run, the median, so that its parts add up: of the undisturbed runs, where they are as
 * many as were asked for, else of all. */
static void summarize(struct run_job *job, const struct reports *reports, double *times_us)
{
    struct run_times *times = &job->times;
    bool leaves_out = reports->n - reports->n_disturbed >= job->n_runs;
    int64_t n = 0;

    for (int64_t i = 0; i < reports->n; i++)
        times_us[i] = reports->at[i].time_us;
    vbs_measure_summary(times_us, (int)reports->n, &times->request); /* sorts times_us */
    times->n_all = reports->n;
    times->n_disturbed = reports->n_disturbed;
    times->fastest_us = times_us[0];
    times->slowest_us = times_us[reports->n - 1];
    times->p50_us = middle(times_us, reports->n);
    times->p90_us = percentile(times_us, reports->n, 90);
    times->p99_us = percentile(times_us, reports->n, 99);
    for (int64_t i = 0; i < reports->n; i++)
        if (!leaves_out || !reports->disturbed[i])
            times_us[n++] = reports->at[i].time_us;
    vbs_measure_summary(times_us, (int)n, &times->request);
    times->request.time_us = middle(times_us, n);
    for (int64_t i = 0; i < reports->n; i++)
        if (reports->at[i].time_us == times->request.time_us)
            times->median = reports->at[i];
}

static void warn_of_noise(struct run_job *job)
{
    const struct run_times *times = &job->times;
    double above = times->request.time_us / times->fastest_us - 1;

    if (times->n_all - times->n_disturbed < job->n_runs && job->duration_s == 0)
        cli_warn(job->cli,
                 "the machine was busy: %lld of %lld runs lost more than %.0f%% of their time to "
                 "other processes, or met a last-level cache that others use",
                 (long long)times->n_disturbed, (long long)times->n_all, 100 * DISTURBED);
    else if (above > NOISY)
        cli_warn(job->cli,
                 "the machine was busy: the median of %d runs is %.1f%% above the fastest; "
                 "--runs N runs more",
                 times->request.n_runs, 100 * above);
}

/* Warns of a rise above the budget. The arena is never exceeded, but the library may use other
 * memory. */
static void warn_of_rise(struct run_job *job)
{
    int64_t above = run_above_budget(job);
    char text[24], heap[24];

    if (above > 0 && job->limit_bytes == 0)
        cli_warn(job->cli,
                 "the process rose %s above the budget: stacks and kernels of the library take "
                 "memory beside "
                 "the arena, %s of it from the heap; --total-memory bounds the whole process",
                 vbs_format_bytes(above, text, sizeof text),
                 vbs_format_bytes(job->times.heap_bytes, heap, sizeof heap));
}

int64_t run_above_budget(const struct run_job *job)
{
    int64_t page = sysconf(_SC_PAGESIZE), pages = (job->memory_bytes + page - 1) / page;
    int64_t above = job->times.taken_bytes - pages * page;

    return job->backend->device || above < 0 ? 0 : above;
}

enum vbs_status run_measure(struct run_job *job)
{
    struct reports reports = {
        .cache.usual = job->limit_bytes > 0 ? 0 : job->profile->speed.cache_bytes_per_us};
    double *times_us = NULL;
    enum vbs_status status;

    free(job->times.steps);
    job->times.steps = NULL;
    vbs_exec_trim();
    status = run_repeatedly(job, &reports);
    if (status == VBS_OK) {
        times_us = calloc((size_t)reports.n, sizeof *times_us);
        status = times_us ? VBS_OK : vbs_no_memory(&job->cli->ctx);
    }
    if (status == VBS_OK) {
        summarize(job, &reports, times_us);
        warn_of_noise(job);
        warn_of_rise(job);
    }
    free(reports.at);
    free(reports.disturbed);
    free(times_us);
    return status;
}
