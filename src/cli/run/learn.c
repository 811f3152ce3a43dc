/* Learning from execution: schedules for the budget are executed by turns, before the run or when
 * the network is measured, and the fastest one is run. */
#include "base/fail.h"
#include "base/parse.h"
#include "cli/print/print.h"
#include "cli/run/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns whether plans count with copies that the machine does not make. */
static bool has_made_up_copies(const struct run_job *job)
{
    return cli_value(job->cli, job->values, "copy-rate") ||
           cli_value(job->cli, job->values, "copy-latency");
}

static void set_weights(const struct run_job *job, const struct cli_weights *weights,
                        struct vbs_learn_options *options)
{
    options->weights = weights->weights;
    if (weights->weights == VBS_WEIGHTS_EXCLUDED)
        return;
    options->copy_source = weights->source;
    options->direct = cli_value(job->cli, job->values, "direct") != NULL;
}

enum vbs_status run_learn_options(struct run_job *job, struct vbs_learn_options *options,
                                  int64_t *memory_bytes, bool *possible)
{
    const char *memory = cli_value(job->cli, job->values, "memory");
    struct cli_task task;

    *options = (struct vbs_learn_options){.struct_size = sizeof *options};
    *possible = false;
    if (cli_value(job->cli, job->values, "schedule"))
        return VBS_OK;
    VBS_TRY(run_read_task(job, &task));
    options->request = task.problem.request;
    options->io = task.problem.io;
    options->latency_us = task.problem.latency_us;
    options->whole_samples = task.problem.whole_samples;
    if (!memory || has_made_up_copies(job))
        return VBS_OK;
    VBS_TRY(vbs_parse_bytes(&job->cli->ctx, memory, memory_bytes));
    set_weights(job, &task.weights, options);
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
    const char *baseline = cli_baseline_words(budget->baseline);
    bool one = budget->n_schedules == 1;
    char executed[64];

    snprintf(executed, sizeof executed, "%d schedule%s executed by turns", budget->n_schedules,
             one ? " was" : "s were");
    if (budget->n_schedules == 0)
        cli_note(job->cli, "no schedule was executed: %s",
                 budget->tried ? "none can be placed in this memory" : "the time is too short");
    else if (budget->is_baseline)
        cli_note(job->cli, "%s; %s was the fastest", executed, baseline);
    else if (isfinite(budget->ratio))
        cli_note(job->cli,
                 "%s; the fastest takes %.1f%% less time than %s (95%% interval %.1f to %.1f%%)",
                 executed, 100 * (1 - budget->ratio), baseline, 100 * (1 - budget->ratio_high),
                 100 * (1 - budget->ratio_low));
    else
        cli_note(job->cli, "%s; %s does not fit", executed, baseline);
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

/* Reads --learn, which is given, and what is learned. VBS_USAGE: nothing can be learned. */
static enum vbs_status read_learn(struct run_job *job, struct vbs_learn_options *options,
                                  int64_t *memory_bytes)
{
    bool possible;

    VBS_TRY(run_learn_options(job, options, memory_bytes, &possible));
    if (!possible)
        return vbs_fail(&job->cli->ctx, VBS_USAGE, "%s",
                        has_made_up_copies(job)
                            ? "--learn executes copies, which are as fast as they are; --copy-rate "
                              "and --copy-latency are for plans alone"
                            : "--learn is for plans of --memory");
    return cli_read_seconds(job->cli, job->values, "learn", &options->time_limit_s);
}

enum vbs_status run_check_learn(struct run_job *job)
{
    struct vbs_learn_options options;
    int64_t memory_bytes;

    return cli_value(job->cli, job->values, "learn") ? read_learn(job, &options, &memory_bytes)
                                                     : VBS_OK;
}

/* Checks that the profile has the copies that are asked for. */
static enum vbs_status check_source(struct run_job *job)
{
    struct cli_task task;

    VBS_TRY(cli_read_task(job->cli, job->values, &task));
    return cli_set_profile(job->cli, job->profile, &task);
}

enum vbs_status run_learn(struct run_job *job)
{
    struct vbs_learn_options options;
    int64_t memory_bytes;

    if (!cli_value(job->cli, job->values, "learn"))
        return VBS_OK;
    VBS_TRY(read_learn(job, &options, &memory_bytes));
    VBS_TRY(check_source(job));
    if (job->learned) /* when the network was measured, just now */
        return VBS_OK;
    return learn(job, &options);
}

bool run_take_learned(struct run_job *job)
{
    struct vbs_learned_budget *budget =
        job->learned && job->learned->n_budgets == 1 ? &job->learned->budgets[0] : NULL;

    if (!budget || !budget->schedule || budget->memory_bytes != job->memory_bytes ||
        budget->schedule->request != job->request)
        return false;
    vbs_schedule_free(job->schedule);
    job->schedule = budget->schedule;
    budget->schedule = NULL;
    return true;
}
