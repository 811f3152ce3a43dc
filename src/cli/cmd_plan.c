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

/* The budget: of an arena, or of a whole process. */
struct budget {
    int64_t memory_bytes;  /* of the arena; with a limit, the most that it can be */
    int64_t limit_bytes;   /* --total-memory; 0: none */
    int64_t process_bytes; /* of this process before planning */
};

/* Plans for the budget; *memory is filled where the process has a limit. */
static enum vbs_status make_plan(struct cli *cli, const struct vbs_problem *problem,
                                 struct vbs_solver *solver, const struct budget *budget,
                                 struct vbs_exec_memory *memory, struct vbs_schedule **schedule)
{
    const struct vbs_exec_memory_options options = {.struct_size = sizeof options,
                                                    .process_bytes = budget->process_bytes};

    if (budget->limit_bytes == 0)
        return vbs_solver_plan(&cli->ctx, solver, budget->memory_bytes, schedule);
    return vbs_exec_plan_within(&cli->ctx, solver, problem->profile, budget->limit_bytes, &options,
                                memory, schedule);
}

static void print_part(struct cli_table *table, const char *name, int64_t part_bytes,
                       const char *what)
{
    char bytes[24];

    cli_table_add(table, "%s", name);
    cli_table_add(table, "%s", vbs_format_bytes(part_bytes, bytes, sizeof bytes));
    cli_table_add(table, "%s", what);
}

/* Prints what the process is estimated to take. */
static enum vbs_status print_memory(struct cli *cli, const struct vbs_exec_memory *memory)
{
    static const struct cli_column COLUMNS[] = {{"memory", false}, {"", true}, {"", false}};
    struct cli_table table = {.columns = COLUMNS, .n_columns = 3};

    print_part(&table, "process", memory->process_bytes, "program, libraries, profile");
    print_part(&table, "planning", memory->planning_bytes, "before kernels are made");
    print_part(&table, "library", memory->library_bytes, "code that kernels bring in");
    print_part(&table, "kernels", memory->kernel_bytes, "objects and generated code");
    print_part(&table, "weights", memory->weight_bytes, "packed, beside the arena");
    print_part(&table, "packing", memory->packing_bytes, "of weights, before the arena is used");
    print_part(&table, "arena", memory->arena_bytes, "its pages that the plan uses");
    print_part(&table, "values", memory->value_bytes, "inputs and outputs");
    print_part(&table, "threads", memory->thread_bytes, "stacks, and kernels beside the arena");
    print_part(&table, "total", memory->total_bytes, "estimated, at most at once");
    printf("\n");
    return cli_table_print(cli, &table);
}

/* Plans, and writes the requested forms. */
static enum vbs_status plan(struct cli *cli, const char *const *values,
                            const struct vbs_planner *planner, const struct vbs_problem *problem,
                            int64_t id, const struct budget *budget)
{
    const char *json = cli_value(cli, values, "json");
    bool prints = !json || strcmp(json, "-") != 0;
    int64_t memory_bytes = budget->memory_bytes;
    struct vbs_exec_memory memory = {0};
    struct vbs_solver_options options = {.struct_size = sizeof(struct vbs_solver_options)};
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *schedule = NULL;
    char hash[VBS_PROFILE_HASH_SIZE];
    enum vbs_status status = cli_read_solver_options(cli, values, planner, &options);

    if (status == VBS_OK && options.table_bytes > memory_bytes)
        status = vbs_fail(&cli->ctx, VBS_USAGE, "--table %.40s is more than --memory %.40s",
                          cli_value(cli, values, "table"), cli_value(cli, values, "memory"));
    cli_limit_time(planner, CLI_PLAN_S, &memory_bytes, budget->limit_bytes > 0 ? 0 : 1, &options);
    options.most_bytes = budget->limit_bytes > 0 ? 0 : memory_bytes;
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
        status = make_plan(cli, problem, solver, budget, &memory, &schedule);
    cli_progress_end(cli);
    if (status == VBS_INFEASIBLE && solver && budget->limit_bytes == 0)
        status = cli_explain(cli, planner, problem, solver, memory_bytes);
    if (status != VBS_OK)
        goto done;
    schedule->provenance.profile_id = id;
    if (json)
        status = vbs_schedule_write_json(&cli->ctx, schedule, json);
    if (status != VBS_OK)
        goto done;
    if (prints)
        status = cli_print_schedule(cli, problem->profile, schedule);
    if (status == VBS_OK && prints && budget->limit_bytes > 0)
        status = print_memory(cli, &memory);
    if (status == VBS_OK && !schedule->solver.interrupted)
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
    const char *total = cli_value(cli, values, "total-memory");
    struct cli_task task;
    struct vbs_profile *profile = NULL;
    struct budget budget = {0};
    int64_t id = 0;
    enum vbs_status status;

    if (n_arguments != 1)
        return cli_usage(cli, "needs one PROFILE, got %d", n_arguments);
    if (!memory && !total)
        return cli_usage(cli, "needs --memory");
    if (memory && total)
        return cli_usage(cli, "takes one of --memory and --total-memory");
    if (total && cli_value(cli, values, "rows"))
        return cli_usage(cli, "--rows is for --memory");
    status = vbs_parse_bytes(&cli->ctx, memory ? memory : total, &budget.memory_bytes);
    if (status != VBS_OK)
        goto done;
    budget.limit_bytes = total ? budget.memory_bytes : 0;
    if (cli_value(cli, values, "rows")) {
        status = cli_print_rows(cli, values, arguments[0], budget.memory_bytes);
        goto done;
    }
    status = cli_load_task(cli, values, arguments[0], &task, &profile, &id);
    if (total)
        budget.process_bytes = vbs_exec_process_bytes();
    if (status == VBS_OK && total && vbs_planner_estimates(task.planner))
        status = vbs_fail(&cli->ctx, VBS_UNSUPPORTED,
                          "--total-memory is for planners with schedules; '%s' estimates",
                          vbs_planner_name(task.planner));
    if (status == VBS_OK)
        status = plan(cli, values, task.planner, &task.problem, id, &budget);
done:
    vbs_profile_free(profile);
    return cli_end(cli, status);
}

static const struct cli_option OPTIONS[] = {
    {CLI_OPTION_PLANNER},
    {"memory", "SIZE", "the budget: 20MiB, 15MB, 1048576"},
    {"total-memory", "SIZE",
     "in place of --memory: a process that runs the plan takes at most SIZE, by an estimate, "
     "program, libraries, kernels and weights included"},
    CLI_OPTIONS_PROBLEM,
    {CLI_OPTION_TIME_LIMIT("60")},
    {CLI_OPTION_NODE_LIMIT},
    {CLI_OPTION_SEED},
    {CLI_OPTION_TABLE},
    {CLI_OPTION_ROWS},
    {"json", "FILE", "write the schedule; - is standard output, instead of the table"},
    {CLI_OPTION_INPUT_SHAPE},
    {CLI_OPTION_FIX},
    {CLI_OPTION_UNTIL},
    {CLI_OPTION_PRECISION},
    {0},
};

const struct cli_command cli_plan = {
    .name = "plan",
    .summary = "one schedule for one budget",
    .usage = "PROFILE (--memory SIZE | --total-memory SIZE) [--planner P] [options]",
    .options = OPTIONS,
    .arguments = cli_profile_help,
    .example = "vbslab plan googlenet --planner dp-vbs --memory 20MiB --json plan.json",
    .run = run_plan,
};
