/*
 * Keeps the whole process within --total-memory. The budget of the plan is the limit less the base
 * (program, libraries, kernels, data and, with weights excluded, packed weights). The base depends
 * on the kernels of the plan. So it is estimated for the first plan and measured by a run of it,
 * and the plan is made again for the bytes that are then left.
 */
#include "cli/run/run.h"

#include "base/fail.h"
#include "cli/print/print.h"

#include <stdio.h>

#define MOST_PLANS 8
/* The reserve between the memory of one run and that of the next: some KiB by which the system's
 * counters are wrong, and the fragments of the allocator. */
#define MARGIN_BYTES ((int64_t)1 << 20)

/* Runs once, to measure the memory. */
static enum vbs_status try_once(struct run_job *job)
{
    int64_t n_runs = job->n_runs, n_warm_up = job->n_warm_up;
    double duration_s = job->duration_s;
    enum vbs_status status;

    job->n_runs = 1;
    job->n_warm_up = 0;
    job->duration_s = 0;
    status = run_measure(job);
    job->n_runs = n_runs;
    job->n_warm_up = n_warm_up;
    job->duration_s = duration_s;
    return status;
}

/* Says how large the weights are where they stay in memory and the limit fails because of them. */
static enum vbs_status describe_weights(const struct run_job *job, char *text, size_t size)
{
    int64_t weight_bytes;
    char weights[24];

    text[0] = '\0';
    VBS_TRY(vbs_exec_used_weights(&job->cli->ctx, job->profile, job->schedule, &weight_bytes));
    if (job->schedule->weights == VBS_WEIGHTS_EXCLUDED &&
        job->times.total_bytes - weight_bytes <= job->limit_bytes)
        snprintf(text, size,
                 "; %s of it are weights, which --weights included can copy in layer by "
                 "layer",
                 vbs_format_bytes(weight_bytes, weights, sizeof weights));
    return VBS_OK;
}

static enum vbs_status refuse(struct run_job *job)
{
    char limit[24], total[24], arena[48], weights[128];
    int64_t mib = (job->times.total_bytes + 2 * MARGIN_BYTES + (1 << 20) - 1) >> 20;

    VBS_TRY(describe_weights(job, weights, sizeof weights));
    return vbs_fail(
        &job->cli->ctx, VBS_INFEASIBLE,
        "the process takes %s where %s is the limit, with %s arena that %s can use, %s; "
        "--total-memory %lldMiB works%s",
        vbs_format_bytes(job->times.total_bytes, total, sizeof total),
        vbs_format_bytes(job->limit_bytes, limit, sizeof limit), job->least ? "the least" : "an",
        job->schedule->planner, vbs_format_exact(job->memory_bytes, arena, sizeof arena),
        (long long)mib, weights);
}

static void tell_again(struct run_job *job)
{
    char limit[24], total[24], arena[24];

    cli_note(job->cli, "the process took %s of %s; planned again for an arena of %s",
             vbs_format_bytes(job->times.total_bytes, total, sizeof total),
             vbs_format_bytes(job->limit_bytes, limit, sizeof limit),
             vbs_format_bytes(job->memory_bytes, arena, sizeof arena));
}

/* Plans again for the bytes that the last run left of the limit, or for less by the excess than
 * what the plan used of its arena. */
static enum vbs_status plan_again(struct run_job *job)
{
    int64_t spare_bytes = job->limit_bytes - job->times.total_bytes;
    int64_t arena_bytes = job->memory_bytes;
    /* Where there is room, the second plan must not take more while it is prepared, either. */
    int64_t margin_bytes = spare_bytes < 0 ? MARGIN_BYTES : 2 * MARGIN_BYTES;

    if (spare_bytes < 0 && job->least)
        return refuse(job);
    if (spare_bytes < 0 && job->placement.placed_bytes < arena_bytes)
        arena_bytes = job->placement.placed_bytes;
    VBS_TRY(run_prepare_again(job, arena_bytes + spare_bytes - margin_bytes));
    tell_again(job);
    return VBS_OK;
}

/* Gives whether the first plan leaves so much memory unused that another plan is worth its time. */
static bool is_wasteful(const struct run_job *job)
{
    int64_t eighth = job->memory_bytes / 8;

    return job->placement.placed_bytes > job->memory_bytes - eighth &&
           job->limit_bytes - job->times.total_bytes > 2 * MARGIN_BYTES + eighth;
}

enum vbs_status run_measure_within(struct run_job *job)
{
    enum vbs_status status = VBS_OK;

    if (job->limit_bytes == 0)
        return run_measure(job);
    for (int i = 0; i < MOST_PLANS; i++) {
        status = try_once(job);
        if (status != VBS_OK)
            return status;
        if (job->times.total_bytes < 0)
            return vbs_fail(&job->cli->ctx, VBS_UNSUPPORTED,
                            "--total-memory: the system does not tell how much memory the process "
                            "takes");
        job->times.total_bytes += run_record_bytes(job);
        if (job->times.total_bytes <= job->limit_bytes && !(i == 0 && is_wasteful(job))) {
            status = run_measure(job);
            if (status != VBS_OK || job->times.total_bytes <= job->limit_bytes)
                return status;
        }
        if (status == VBS_OK)
            status = plan_again(job);
        if (status != VBS_OK)
            return status;
    }
    return refuse(job);
}
