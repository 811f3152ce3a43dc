#include "base/fail.h"
#include "cli/common/common.h"
#include "cli/print/print.h"

#include <string.h>

/* Prints what a planner predicts that has no schedules. */
static enum vbs_status estimate(struct cli *cli, const struct vbs_planner *planner,
                                const struct vbs_problem *problem, struct vbs_solver *solver,
                                int64_t id, int64_t memory_bytes)
{
    struct vbs_estimate *made = NULL;
    enum vbs_status status = vbs_solver_estimate(&cli->ctx, solver, memory_bytes, &made);

    if (status == VBS_OK)
        status = cli_print_estimate(cli, problem, planner, made, id);
    vbs_estimate_free(made);
    return status;
}

/* Plans, and writes the requested forms. */
static enum vbs_status plan(struct cli *cli, const char *const *values,
                            const struct vbs_planner *planner, const struct vbs_problem *problem,
                            int64_t id, int64_t memory_bytes)
{
    const char *json = cli_value(cli, values, "json");
    struct vbs_solver_options options = {.struct_size = sizeof(struct vbs_solver_options)};
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *schedule = NULL;
    char hash[VBS_PROFILE_HASH_SIZE];
    enum vbs_status status = cli_read_solver_options(cli, values, planner, &options);

    if (status == VBS_OK && options.table_bytes > memory_bytes)
        status = vbs_fail(&cli->ctx, VBS_USAGE, "--table %.40s is more than --memory %.40s",
                          cli_value(cli, values, "table"), cli_value(cli, values, "memory"));
    cli_limit_time(planner, CLI_PLAN_S, &memory_bytes, 1, &options);
    options.most_bytes = memory_bytes;
    options.progress = cli_progress(cli);
    vbs_profile_hash(problem->profile, hash);
    options.profile_hash = hash;
    if (status == VBS_OK)
        status = vbs_solver_new(&cli->ctx, planner, problem, &options, &solver);
    if (status == VBS_OK && vbs_planner_estimates(planner) && !json) {
        status = estimate(cli, planner, problem, solver, id, memory_bytes);
        goto done;
    }
    if (status == VBS_OK)
        status = vbs_solver_plan(&cli->ctx, solver, memory_bytes, &schedule);
    cli_progress_end(cli);
    if (status == VBS_INFEASIBLE && solver)
        status = cli_explain(cli, planner, problem, solver, memory_bytes);
    if (status != VBS_OK)
        goto done;
    schedule->provenance.profile_id = id;
    if (json)
        status = vbs_schedule_write_json(&cli->ctx, schedule, json);
    if (status != VBS_OK)
        goto done;
    if (!(json && strcmp(json, "-") == 0))
        status = cli_print_schedule(cli, problem->profile, schedule);
    if (status == VBS_OK)
        status = cli_note_placed(cli, problem->profile, schedule);
    if (status != VBS_OK)
        goto done;
    if (schedule->solver.interrupted)
        status =
            vbs_fail(&cli->ctx, VBS_INTERRUPTED,
                     "interrupted; the schedule is the best so far, at most %.2f%% longer than "
                     "the fastest",
                     schedule->bound.gap_percent);
done:
    vbs_schedule_free(schedule);
    vbs_solver_free(solver);
    return status;
}

static int run_plan(struct cli *cli, const char *const *values, int n_arguments,
                    const char *const *arguments)
{
    const char *memory = cli_value(cli, values, "memory");
    struct cli_task task;
    struct vbs_profile *profile = NULL;
    int64_t memory_bytes = 0, id = 0;
    enum vbs_status status;

    if (n_arguments != 1)
        return cli_usage(cli, "needs one PROFILE, got %d", n_arguments);
    if (!memory)
        return cli_usage(cli, "needs --memory");
    status = vbs_parse_bytes(&cli->ctx, memory, &memory_bytes);
    if (status != VBS_OK)
        goto done;
    if (cli_value(cli, values, "rows")) {
        status = cli_print_rows(cli, values, arguments[0], memory_bytes);
        goto done;
    }
    status = cli_load_task(cli, values, arguments[0], &task, &profile, &id);
    if (status == VBS_OK)
        status = plan(cli, values, task.planner, &task.problem, id, memory_bytes);
done:
    vbs_profile_free(profile);
    return cli_end(cli, status);
}

static const struct cli_option OPTIONS[] = {
    {CLI_OPTION_PLANNER},
    {"memory", "SIZE", "the budget: 20MiB, 15MB, 1048576"},
    CLI_OPTIONS_PROBLEM,
    {CLI_OPTION_TIME_LIMIT("60")},
    {CLI_OPTION_NODE_LIMIT},
    {CLI_OPTION_SEED},
    {CLI_OPTION_TABLE},
    {CLI_OPTION_ROWS},
    {"json", "FILE", "write the schedule; - is standard output, instead of the table"},
    {CLI_OPTION_INPUT_SHAPE},
    {CLI_OPTION_FIX},
    {CLI_OPTION_PRECISION},
    {0},
};

const struct cli_command cli_plan = {
    .name = "plan",
    .summary = "one schedule for one budget",
    .usage = "PROFILE --memory SIZE [--planner P] [options]",
    .options = OPTIONS,
    .arguments = cli_profile_help,
    .example = "vbslab plan googlenet --planner dp-vbs --memory 20MiB --json plan.json",
    .run = run_plan,
};
