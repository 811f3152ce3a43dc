/* From the options to an executor: a schedule, planned or read, and its placement. */
#include "cli/run/run.h"

#include "base/fail.h"
#include "cli/print/print.h"
#include "exec/replan.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* ---- The executor ---- */

static struct vbs_exec_options exec_options(struct run_job *job)
{
    struct cli *cli = job->cli;

    return (struct vbs_exec_options){
        .struct_size = sizeof(struct vbs_exec_options),
        .threads = job->threads,
        .memory_bytes = job->memory_bytes,
        .place_limit_s = cli_value(cli, job->values, "schedule") ? 0 : VBS_REPLAN_PLACE_S,
        .weights_path = cli_value(cli, job->values, "weights-file"),
        .direct = cli_value(cli, job->values, "direct") != NULL,
        .debug_checks = cli_value(cli, job->values, "debug-checks") != NULL,
        .check_finite = cli_value(cli, job->values, "check-finite") != NULL,
        .trace = cli_value(cli, job->values, "trace") || cli_value(cli, job->values, "gantt") ||
                 cli_value(cli, job->values, "profile") || cli_value(cli, job->values, "steps"),
    };
}

/* While kernels are made and weights are packed, large memory that is freed goes back to the
 * system; while the network runs it stays, because kernels take and free some at each call. */
void run_set_heap(bool runs)
{
    mallopt(M_MMAP_THRESHOLD, runs ? 32 << 20 : 1 << 20);
    mallopt(M_TRIM_THRESHOLD, runs ? 64 << 20 : 128 << 10);
}

/* Finds offsets before the executor is made, because they need no kernels. */
static enum vbs_status make_executor(struct run_job *job)
{
    struct vbs_exec_options options = exec_options(job);
    struct vbs_ctx *ctx = &job->cli->ctx;
    char detail[VBS_DETAIL_SIZE];
    enum vbs_status status;

    options.progress = cli_progress(job->cli);
    status = vbs_exec_place(ctx, job->profile, job->schedule, &options, &job->placement,
                            &options.placed);
    cli_progress_end(job->cli);
    if (status != VBS_OK)
        return status;
    vbs_exec_trim(); /* of what planning took */
    run_set_heap(false);
    options.progress = cli_progress(job->cli);
    status = vbs_exec_new(ctx, job->network, job->backend, job->profile, job->schedule, &options,
                          &job->placement, &job->exec);
    vbs_exec_placed_free(options.placed);
    run_set_heap(true);
    cli_progress_end(job->cli);
    if (status == VBS_NOT_FOUND)
        return vbs_fail(ctx, VBS_UNSUPPORTED,
                        "%s; a profile that is measured on this machine has none but its own",
                        strcpy(detail, vbs_detail(ctx)));
    return status;
}

/* Warns where copies do not come from the source that the plan counts with. */
static void compare_sources(struct run_job *job)
{
    const char *source = job->schedule->copy.source;
    bool direct = cli_value(job->cli, job->values, "direct") != NULL;

    if (job->schedule->weights != VBS_WEIGHTS_INCLUDED || !source ||
        job->schedule->predicted.copied_bytes == 0)
        return;
    if (!direct && strcmp(source, VBS_COPY_DISK) == 0)
        cli_warn(job->cli, "the plan counts with copies from the disk, and these come from the "
                           "page cache; --direct reads the disk");
    else if (direct && strcmp(source, VBS_COPY_PAGE_CACHE) == 0)
        cli_warn(job->cli, "the plan counts with copies from the page cache, and --direct reads "
                           "the disk; --copy disk plans for it");
}

enum vbs_status run_check_weights(struct cli *cli, const char *const *values,
                                  enum vbs_weights weights)
{
    static const char *const ONLY[] = {"weights-file", "direct"};

    for (size_t i = 0; i < sizeof ONLY / sizeof ONLY[0]; i++)
        if (weights == VBS_WEIGHTS_EXCLUDED && cli_value(cli, values, ONLY[i]))
            return vbs_fail(&cli->ctx, VBS_USAGE,
                            "--%s is for --weights included; excluded ones are never copied",
                            ONLY[i]);
    return VBS_OK;
}

/* ---- A schedule from a file ---- */

/* The options that a schedule read from a file determines. */
static const char *const PLANNING[] = {
    "request",      "io",         "weights", "copy",       "copy-rate",
    "copy-latency", "latency-us", "table",   "time-limit", "planner",
    "total-memory", "node-limit", "seed",    "stripes",    NULL};

static enum vbs_status read_schedule(struct run_job *job, const char *path)
{
    struct vbs_ctx *ctx = &job->cli->ctx;
    const char *memory = cli_value(job->cli, job->values, "memory");

    for (int i = 0; PLANNING[i]; i++)
        if (cli_value(job->cli, job->values, PLANNING[i]))
            return vbs_fail(ctx, VBS_USAGE, "--%s is for --planner; a schedule has its own",
                            PLANNING[i]);
    VBS_TRY(vbs_schedule_read_json(ctx, path, &job->schedule));
    job->request = job->schedule->request;
    job->memory_bytes = job->schedule->memory_bytes;
    if (memory)
        VBS_TRY(vbs_parse_bytes(ctx, memory, &job->memory_bytes));
    return VBS_OK;
}

/* Fails because a schedule from a file has no placement in the arena, and names the least arena
 * that works. */
static enum vbs_status refuse_placement(struct run_job *job)
{
    char budget[48], live[48], placed[48];

    return vbs_fail(
        &job->cli->ctx, VBS_INFEASIBLE,
        "the schedule has %s live at most, but no placement in %s was found; the least arena found "
        "for it is %s: --memory %lld",
        vbs_format_exact(job->placement.live_bytes, live, sizeof live),
        vbs_format_exact(job->memory_bytes, budget, sizeof budget),
        vbs_format_exact(job->placement.placed_bytes, placed, sizeof placed),
        (long long)job->placement.placed_bytes);
}

static enum vbs_status judge_schedule(struct run_job *job)
{
    struct vbs_ctx *ctx = &job->cli->ctx;
    char budget[48], least[48];
    enum vbs_status status =
        vbs_replay_run(ctx, job->profile, job->schedule, job->memory_bytes, true, &job->replay);

    if (status != VBS_OK)
        return status;
    job->replay->profile_id = job->profile_id;
    if (job->replay->fits)
        return VBS_OK;
    return vbs_fail(ctx, VBS_OVER_BUDGET,
                    "the schedule breaks its budget of %s in step %lld; the least that works is %s",
                    vbs_format_exact(job->memory_bytes, budget, sizeof budget),
                    (long long)job->replay->violation_step + 1,
                    vbs_format_exact(job->replay->peak_bytes, least, sizeof least));
}

static enum vbs_status read_and_judge(struct run_job *job, const char *path)
{
    VBS_TRY(read_schedule(job, path));
    VBS_TRY(run_check_weights(job->cli, job->values, job->schedule->weights));
    compare_sources(job);
    return judge_schedule(job);
}

static enum vbs_status prepare_read(struct run_job *job, const char *path)
{
    enum vbs_status status = read_and_judge(job, path);

    if (status == VBS_INVALID && job->schedule)
        return cli_fail_origin(job->cli, status, job->profile, job->schedule);
    if (status != VBS_OK)
        return status;
    cli_warn_origin(job->cli, job->profile, job->schedule);
    VBS_TRY(run_read_data(job));
    VBS_TRY(run_make_outputs(job));
    status = make_executor(job);
    return status == VBS_INFEASIBLE ? refuse_placement(job) : status;
}

/* ---- A schedule of a planner ---- */

struct planning {
    struct cli_task task;
    struct vbs_solver *solver;
    /* of the first plan, for messages */
    double time_us;
    int64_t placed_bytes;
};

/* Sets up the planner, and makes the outputs. */
static enum vbs_status set_up(struct run_job *job, struct planning *p)
{
    struct vbs_solver_options options = {.struct_size = sizeof(struct vbs_solver_options)};
    const int64_t budgets[] = {job->memory_bytes, vbs_replan_bytes(job->memory_bytes)};
    enum vbs_status status;

    VBS_TRY(run_read_task(job, &p->task));
    VBS_TRY(cli_set_profile(job->cli, job->profile, &p->task));
    VBS_TRY(cli_read_solver_options(job->cli, job->values, p->task.planner, &options));
    /* Where the whole process is limited, only a run shows how much memory its plan may have, and
     * several plans are made. */
    cli_limit_time(p->task.planner, job->limit_bytes > 0 ? VBS_RUN_PLAN_S / 2.0 : VBS_RUN_PLAN_S,
                   budgets, job->limit_bytes > 0 ? 0 : 2, &options);
    job->request = p->task.problem.request;
    if (!job->outputs)
        VBS_TRY(run_make_outputs(job));
    options.progress = cli_progress(job->cli);
    if (job->limit_bytes > 0 && job->process_bytes == 0)
        job->process_bytes = vbs_exec_process_bytes();
    status =
        vbs_solver_new(&job->cli->ctx, p->task.planner, &p->task.problem, &options, &p->solver);
    cli_progress_end(job->cli);
    return status;
}

static enum vbs_status plan(struct run_job *job, struct planning *p, int64_t bytes)
{
    struct vbs_schedule *schedule = NULL;
    enum vbs_status status = vbs_solver_plan(&job->cli->ctx, p->solver, bytes, &schedule);

    cli_progress_end(job->cli);
    if (status != VBS_OK)
        return status;
    vbs_schedule_free(job->schedule);
    job->schedule = schedule;
    return VBS_OK;
}

static enum vbs_status refuse_plans(struct run_job *job, const struct planning *p)
{
    char budget[48], placed[48];

    return vbs_fail(&job->cli->ctx, VBS_INFEASIBLE,
                    "no plan of %s for %s or less could be placed in it; the plan for it needs an "
                    "arena of %s: --memory %lld",
                    vbs_planner_name(p->task.planner),
                    vbs_format_exact(job->memory_bytes, budget, sizeof budget),
                    vbs_format_exact(p->placed_bytes, placed, sizeof placed),
                    (long long)p->placed_bytes);
}

static void tell_replan(struct run_job *job, const struct planning *p)
{
    double time_us = job->schedule->predicted.time_us;
    char budget[24], placed[48], again[48];

    if (job->n_replans == 0)
        return;
    vbs_format_bytes(job->memory_bytes, budget, sizeof budget);
    vbs_format_exact(p->placed_bytes, placed, sizeof placed);
    vbs_format_exact(job->schedule->memory_bytes, again, sizeof again);
    cli_note(job->cli,
             "the plan for %s needs %s once it is placed; planned again for %s, which takes %.2f%% "
             "longer",
             budget, placed, again, p->time_us > 0 ? 100 * (time_us - p->time_us) / p->time_us : 0);
}

static enum vbs_status make_of_plan(struct vbs_ctx *ctx, void *self)
{
    (void)ctx; /* the program's context is used */
    return make_executor(self);
}

static enum vbs_status place_plans(struct run_job *job, struct planning *p)
{
    struct vbs_replan replan = {.solver = p->solver,
                                .memory_bytes = job->memory_bytes,
                                .schedule = &job->schedule,
                                .make = make_of_plan,
                                .self = job,
                                .placement = &job->placement};
    enum vbs_status status = plan(job, p, job->memory_bytes);

    if (status == VBS_INFEASIBLE)
        return cli_explain(job->cli, p->task.planner, &p->task.problem, p->solver,
                           job->memory_bytes);
    if (status != VBS_OK)
        return status;
    compare_sources(job);
    p->time_us = job->schedule->predicted.time_us;
    status = vbs_replan(&job->cli->ctx, &replan);
    p->placed_bytes = replan.placed_bytes;
    job->n_replans = replan.n_replans;
    if (status == VBS_INFEASIBLE)
        return refuse_plans(job, p);
    if (status == VBS_OK)
        tell_replan(job, p);
    return status;
}

/* Plans with a limit of the whole process. No budget is too small then, because the memory of the
 * process is known only when it runs. */
static enum vbs_status place_within_limit(struct run_job *job, struct planning *p)
{
    int64_t least = vbs_solver_least_bytes(p->solver); /* 0: not known */
    enum vbs_status status;

    job->least = job->memory_bytes <= least;
    if (job->least)
        job->memory_bytes = least;
    status = place_plans(job, p);
    if (status != VBS_INFEASIBLE || least == INT64_MAX || least == 0)
        return status;
    /* This is the least plan, in an arena as large as its placement needs. */
    job->least = true;
    job->n_replans = 0;
    status = plan(job, p, least);
    if (status == VBS_OK)
        status = make_executor(job);
    if (status != VBS_INFEASIBLE)
        return status;
    job->memory_bytes = job->placement.placed_bytes;
    return make_executor(job);
}

/* Fails: by its estimate, the least plan, in an arena of least_bytes, exceeds the limit of the
 * process. */
static enum vbs_status refuse_limit(struct run_job *job, const struct vbs_exec_memory *memory,
                                    int64_t least_bytes)
{
    char limit[24], total[24], arena[48], weights[64] = "", beside[24];

    if (memory->weight_bytes > 0)
        snprintf(weights, sizeof weights, "; about %s of it are weights",
                 vbs_format_bytes(memory->weight_bytes, beside, sizeof beside));
    return vbs_fail(
        &job->cli->ctx, VBS_INFEASIBLE,
        "the process would take about %s where %s is the limit, with the least arena that the "
        "planner can use, %s%s; --total-memory %lldMiB works",
        vbs_format_bytes(memory->total_bytes, total, sizeof total),
        vbs_format_bytes(job->limit_bytes, limit, sizeof limit),
        vbs_format_exact(least_bytes, arena, sizeof arena), weights,
        (long long)(memory->total_bytes >> 20) + 2);
}

/* Returns the bytes that the least plan takes whatever the estimate is off by: those of what is
 * there before, of which runs may give a part back, of weights, arena, inputs and outputs. */
static double certain_bytes(const struct vbs_exec_memory *memory, int64_t least_bytes)
{
    return 0.75 * (double)memory->process_bytes + 0.9 * (double)memory->weight_bytes +
           (double)least_bytes + (double)memory->value_bytes;
}

/* Chooses the first budget for a limit of the whole process, by an estimate, so that not even the
 * first plan exceeds it: a container would end the process. VBS_INFEASIBLE: the least plan
 * certainly does. */
static enum vbs_status choose_budget(struct run_job *job, const struct planning *p)
{
    const struct vbs_exec_memory_options options = {.struct_size = sizeof options,
                                                    .process_bytes = job->process_bytes,
                                                    .threads = job->threads,
                                                    .more_bytes = run_record_bytes(job)};
    int64_t least = vbs_solver_least_bytes(p->solver); /* 0: not known */
    struct vbs_schedule *schedule = NULL;
    struct vbs_exec_memory memory = {0};
    enum vbs_status status;

    job->memory_bytes = run_first_budget(job);
    if (least == 0 || least == INT64_MAX)
        return VBS_OK;
    status = vbs_exec_plan_within(&job->cli->ctx, p->solver, job->profile, job->limit_bytes,
                                  &options, &memory, &schedule);
    if (status == VBS_INFEASIBLE && certain_bytes(&memory, least) > (double)job->limit_bytes)
        return refuse_limit(job, &memory, least);
    if (status == VBS_OK)
        job->memory_bytes = schedule->memory_bytes;
    else if (status == VBS_INFEASIBLE)
        job->memory_bytes = 0; /* the least plan may do */
    vbs_schedule_free(schedule);
    return status == VBS_INFEASIBLE ? VBS_OK : status;
}

static enum vbs_status prepare_planned(struct run_job *job, bool first)
{
    struct planning p = {0};
    enum vbs_status status = set_up(job, &p);

    if (status != VBS_OK)
        goto done;
    if (first && job->limit_bytes > 0)
        status = choose_budget(job, &p);
    if (status != VBS_OK)
        goto done;
    if (first && run_take_learned(job))
        status = make_executor(job);
    else
        status = job->limit_bytes > 0 ? place_within_limit(job, &p) : place_plans(job, &p);
    if (status != VBS_OK)
        goto done;
    status = judge_schedule(job);
done:
    vbs_solver_free(p.solver);
    return status;
}

enum vbs_status run_prepare_again(struct run_job *job, int64_t memory_bytes)
{
    vbs_exec_free(job->exec);
    job->exec = NULL;
    vbs_replay_free(job->replay);
    job->replay = NULL;
    job->n_replans = 0;
    job->memory_bytes = memory_bytes > 0 ? memory_bytes : 0;
    return prepare_planned(job, false);
}

enum vbs_status run_prepare(struct run_job *job)
{
    const char *path = cli_value(job->cli, job->values, "schedule");
    const char *memory = cli_value(job->cli, job->values, "memory");
    const char *total = cli_value(job->cli, job->values, "total-memory");
    enum vbs_status status = VBS_OK;

    if (path)
        return prepare_read(job, path);
    if (memory)
        status = vbs_parse_bytes(&job->cli->ctx, memory, &job->memory_bytes);
    if (total)
        status = vbs_parse_bytes(&job->cli->ctx, total, &job->limit_bytes);
    if (status != VBS_OK)
        return status;
    if (total && job->backend->device)
        return vbs_fail(&job->cli->ctx, VBS_UNSUPPORTED,
                        "--total-memory is for backends that compute in memory of this process; "
                        "with '%s' --memory bounds the device's",
                        job->backend->name);
    return prepare_planned(job, true);
}
