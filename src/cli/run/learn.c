/* Learning from execution: schedules for the budget are executed by turns, before the run or when
 * the network is measured, and the fastest one is run. */
#include "base/fail.h"
#include "base/parse.h"
#include "cli/print/print.h"
#include "cli/run/run.h"

#include <math.h>
#include <stdlib.h>

enum vbs_status run_learn_options(struct run_job *job, struct vbs_learn_options *options,
                                  int64_t *memory_bytes, bool *possible)
{
    const char *memory = cli_value(job->cli, job->values, "memory");
    struct cli_task task;

    *options = (struct vbs_learn_options){.struct_size = sizeof *options};
    *possible = false;
    if (cli_value(job->cli, job->values, "schedule"))
        return VBS_OK;
    VBS_TRY(cli_read_task(job->cli, job->values, &task));
    options->request = task.problem.request;
    options->io = task.problem.io;
    options->latency_us = task.problem.latency_us;
    options->whole_samples = task.problem.whole_samples;
    if (!memory || task.weights.weights == VBS_WEIGHTS_INCLUDED)
        return VBS_OK;
    VBS_TRY(vbs_parse_bytes(&job->cli->ctx, memory, memory_bytes));
    options->planner = task.planner;
    options->n_budgets = 1;
    options->budgets = memory_bytes;
    *possible = true;
    return VBS_OK;
}

/* Keeps the learned profile, as a profile of its own with the samples of the other, where that one
 * is in the store. */
static enum vbs_status keep(struct run_job *job)
{
    struct vbs_store *store = NULL;
    enum vbs_status status;

    if (job->profile_id == 0 || job->learned->n_schedules == 0)
        return VBS_OK;
    status = cli_open_store(job->cli, true, &store);
    if (status == VBS_OK)
        status = vbs_store_revise(&job->cli->ctx, store, job->profile_id, job->learned->profile,
                                  &job->profile_id);
    vbs_store_close(store);
    if (status == VBS_OK)
        cli_note(job->cli, "what was learned is profile %lld", (long long)job->profile_id);
    return status;
}

static void tell(struct run_job *job, const struct vbs_learned_budget *budget)
{
    if (budget->n_schedules == 0)
        cli_note(job->cli, "no schedule was executed: %s",
                 budget->tried ? "none can be placed in this memory" : "the time is too short");
    else if (budget->is_baseline)
        cli_note(job->cli,
                 "%d schedules were executed by turns; one batch for all layers was the fastest",
                 budget->n_schedules);
    else if (isfinite(budget->ratio))
        cli_note(job->cli,
                 "%d schedules were executed by turns; the fastest takes %.1f%% less time than one "
                 "batch for all layers (95%% interval %.1f to %.1f%%)",
                 budget->n_schedules, 100 * (1 - budget->ratio), 100 * (1 - budget->ratio_high),
                 100 * (1 - budget->ratio_low));
}

/* Loads what learning starts from: medians, where the profile is in the store, because its times
 * may be those of earlier learning. */
static enum vbs_status load_medians(struct run_job *job, struct vbs_profile **medians)
{
    struct vbs_store *store = NULL;
    enum vbs_status status;

    *medians = NULL;
    if (job->profile_id == 0)
        return VBS_OK;
    status = cli_open_store(job->cli, false, &store);
    if (status == VBS_OK)
        status = vbs_store_load_medians(&job->cli->ctx, store, job->profile_id, medians);
    vbs_store_close(store);
    return status;
}

static enum vbs_status learn(struct run_job *job, struct vbs_learn_options *options)
{
    struct vbs_profile *medians = NULL;
    enum vbs_status status = load_medians(job, &medians);

    options->threads = job->threads;
    options->seed = 1;
    options->progress = cli_progress(job->cli);
    if (status == VBS_OK)
        status = vbs_learn(&job->cli->ctx, job->network, job->backend,
                           medians ? medians : job->profile, options, &job->learned);
    cli_progress_end(job->cli);
    vbs_profile_free(medians);
    if (status != VBS_OK)
        return status;
    VBS_TRY(keep(job));
    tell(job, &job->learned->budgets[0]);
    if (job->learned->n_schedules == 0)
        return VBS_OK;
    vbs_profile_free(job->profile);
    job->profile = job->learned->profile;
    job->learned->profile = NULL;
    return VBS_OK;
}

enum vbs_status run_learn(struct run_job *job)
{
    struct vbs_learn_options options;
    int64_t memory_bytes;
    bool possible;

    if (!cli_value(job->cli, job->values, "learn"))
        return VBS_OK;
    VBS_TRY(run_learn_options(job, &options, &memory_bytes, &possible));
    if (!possible)
        return vbs_fail(&job->cli->ctx, VBS_USAGE,
                        "--learn is for plans of --memory with weights outside the budget");
    VBS_TRY(cli_read_seconds(job->cli, job->values, "learn", &options.time_limit_s));
    if (job->learned) /* when the network was measured, just now */
        return VBS_OK;
    return learn(job, &options);
}

bool run_take_learned(struct run_job *job)
{
    struct vbs_learned_budget *budget =
        job->learned && job->learned->n_budgets == 1 ? &job->learned->budgets[0] : NULL;

    if (!budget || !budget->schedule || budget->memory_bytes != job->memory_bytes)
        return false;
    vbs_schedule_free(job->schedule);
    job->schedule = budget->schedule;
    budget->schedule = NULL;
    return true;
}
