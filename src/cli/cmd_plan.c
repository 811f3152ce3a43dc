#include "base/fail.h"
#include "cli/cli.h"
#include "cli/number.h"
#include "cli/solving.h"
#include "cli/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One layer's steps in a schedule, as people want to read them. */
struct layer_use {
    char batches[32];    /* "6 6", "1 (12x)": in the order in which they run */
    char algorithms[64]; /* those it uses, each once */
    double time_us;
    int batch; /* of the latest run of equal steps, and their number */
    int64_t repeats;
};

/* Appends separator and text to line while there is room, then " ..." once and no more. */
static void append(char *line, size_t size, const char *separator, const char *text)
{
    size_t length = strlen(line), more = strlen(separator) + strlen(text);

    if (length >= 4 && strcmp(line + length - 4, " ...") == 0)
        return;
    if (length + more + sizeof " ..." <= size)
        snprintf(line + length, size - length, "%s%s", separator, text);
    else
        snprintf(line + length, size - length, " ...");
}

/* Writes the latest run of equal steps down. */
static void close_run(struct layer_use *use)
{
    char text[40];

    if (use->repeats == 0)
        return;
    if (use->repeats > 1)
        snprintf(text, sizeof text, "%d (%lldx)", use->batch, (long long)use->repeats);
    else
        snprintf(text, sizeof text, "%d", use->batch);
    append(use->batches, sizeof use->batches, use->batches[0] ? " " : "", text);
    use->repeats = 0;
}

/* Whether name is an item of list, which has ", " between its items. */
static bool has_item(const char *list, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = list; length > 0 && (at = strstr(at, name)); at++)
        if ((at == list || at[-1] == ' ') && (at[length] == '\0' || at[length] == ','))
            return true;
    return false;
}

static void append_algorithm(struct layer_use *use, const char *name)
{
    if (has_item(use->algorithms, name))
        return;
    append(use->algorithms, sizeof use->algorithms, use->algorithms[0] ? ", " : "", name);
}

/* Time of one step by the profile. */
static double step_us(const struct vbs_profile *profile, const struct vbs_schedule *schedule,
                      const struct vbs_step *step)
{
    int algorithm = vbs_profile_algorithm(profile, schedule->algorithms[step->algorithm]);
    int n_rows;
    const struct vbs_profile_row *rows = vbs_profile_rows(
        profile, step->layer, vbs_profile_batch_index(profile, step->batch), &n_rows);

    for (int i = 0; i < n_rows; i++)
        if (rows[i].algorithm == algorithm)
            return rows[i].time_us;
    return 0;
}

/* Fills uses[1..n_layers]. */
static void collect(const struct vbs_profile *profile, const struct vbs_schedule *schedule,
                    struct layer_use *uses)
{
    for (int64_t s = 0; s < schedule->n_steps; s++) {
        const struct vbs_step *step = &schedule->steps[s];
        struct layer_use *use = &uses[step->layer];

        if (step->batch != use->batch)
            close_run(use);
        use->batch = step->batch;
        use->repeats++;
        use->time_us += step_us(profile, schedule, step);
        append_algorithm(use, schedule->algorithms[step->algorithm]);
    }
    for (int k = 1; k <= profile->n_layers; k++)
        close_run(&uses[k]);
}

static void print_head(const struct vbs_schedule *schedule)
{
    char bytes[48];

    cli_print_name(schedule->model);
    printf("%s%lld sample%s in %s, io %s, planner %s\n\n", schedule->model[0] ? ": " : "",
           (long long)schedule->request, schedule->request == 1 ? "" : "s",
           vbs_format_exact(schedule->memory_bytes, bytes, sizeof bytes), vbs_io_word(schedule->io),
           schedule->planner);
}

static void print_times(const struct vbs_schedule *schedule)
{
    char time[32], number[32];
    double time_us = schedule->predicted.time_us;
    double per_sample_us = time_us / (double)schedule->request;

    printf("  time     %s, ", cli_format_time(time_us, time, sizeof time));
    printf("%s per sample", cli_format_time(per_sample_us, time, sizeof time));
    if (per_sample_us > 0)
        printf(", %s samples/s", cli_format_number(1e6 / per_sample_us, number, sizeof number));
    if (schedule->latency_us > 0) {
        printf("\n  latency  %s; ",
               cli_format_time(schedule->predicted.latency_us, time, sizeof time));
        printf("no sample may wait longer than %s us",
               cli_format_typed(schedule->latency_us, number, sizeof number));
    }
    printf("\n  bound    %s: no schedule is faster; this one takes %.2f%% longer\n",
           cli_format_time(schedule->bound.time_us, time, sizeof time),
           schedule->bound.gap_percent);
}

static void print_memory(const struct vbs_schedule *schedule)
{
    char bytes[48];

    printf("  peak     %s", vbs_format_exact(schedule->predicted.peak_bytes, bytes, sizeof bytes));
    if (schedule->predicted.reserved_bytes > schedule->predicted.peak_bytes)
        printf("; the planner had set %s aside",
               vbs_format_exact(schedule->predicted.reserved_bytes, bytes, sizeof bytes));
    printf("\n  solver   held %s at most\n\n",
           vbs_format_bytes(schedule->solver.peak_bytes, bytes, sizeof bytes));
}

static enum vbs_status print_layers(struct cli *cli, const struct vbs_profile *profile,
                                    const struct vbs_schedule *schedule)
{
    static const struct cli_column COLUMNS[] = {
        {"layer", true}, {"name", false}, {"batches", false}, {"algorithms", false}, {"ms", true}};
    struct cli_table table = {.columns = COLUMNS, .n_columns = 5};
    struct layer_use *uses = calloc((size_t)profile->n_layers + 1, sizeof *uses);

    if (!uses)
        return vbs_no_memory(&cli->ctx);
    collect(profile, schedule, uses);
    for (int k = 1; k <= profile->n_layers; k++) {
        cli_table_add(&table, "%d", k);
        cli_table_add(&table, "%s", profile->layers[k].name);
        cli_table_add(&table, "%s", uses[k].batches);
        cli_table_add(&table, "%s", uses[k].algorithms);
        cli_table_add(&table, "%.3f", uses[k].time_us / 1e3);
    }
    free(uses);
    return cli_table_print(&cli->ctx, &table);
}

static enum vbs_status print_schedule(struct cli *cli, const struct vbs_profile *profile,
                                      const struct vbs_schedule *schedule)
{
    print_head(schedule);
    print_times(schedule);
    print_memory(schedule);
    return print_layers(cli, profile, schedule);
}

/* Plans, and writes what was asked for. */
static enum vbs_status plan(struct cli *cli, const char *const *values,
                            const struct vbs_problem *problem, int64_t memory_bytes)
{
    const char *name = cli_value(cli, values, "planner"), *json = cli_value(cli, values, "json");
    const struct vbs_planner *planner;
    struct vbs_solver_options options = {0};
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *schedule = NULL;
    enum vbs_status status = vbs_planner_find(&cli->ctx, name, &planner);

    if (status == VBS_OK)
        status = cli_read_solver_options(cli, values, planner, &options);
    if (status == VBS_OK && options.table_bytes > memory_bytes)
        status = vbs_fail(&cli->ctx, VBS_USAGE, "--table %.40s is more than --memory %.40s",
                          cli_value(cli, values, "table"), cli_value(cli, values, "memory"));
    if (status == VBS_OK)
        status = vbs_solver_new(&cli->ctx, planner, problem, &options, &solver);
    if (status == VBS_OK)
        status = vbs_solver_plan(&cli->ctx, solver, memory_bytes, &schedule);
    if (status == VBS_INFEASIBLE)
        status = cli_explain(cli, planner, problem, solver, memory_bytes);
    if (status == VBS_OK && json)
        status = vbs_schedule_write_json(&cli->ctx, schedule, json);
    if (status == VBS_OK && !(json && strcmp(json, "-") == 0))
        status = print_schedule(cli, problem->profile, schedule);
    vbs_schedule_free(schedule);
    vbs_solver_free(solver);
    return status;
}

static enum vbs_status check_weights(struct cli *cli, const char *where)
{
    if (!where || strcmp(where, "excluded") == 0)
        return VBS_OK;
    if (strcmp(where, "included") == 0)
        return vbs_fail(&cli->ctx, VBS_UNSUPPORTED,
                        "--weights included is not known to this version; weights live outside "
                        "the budget");
    return vbs_fail(&cli->ctx, VBS_USAGE, "--weights '%s' is neither excluded nor included", where);
}

static int run(struct cli *cli, const char *const *values, int n_arguments,
               const char *const *arguments)
{
    const char *memory = cli_value(cli, values, "memory");
    struct vbs_problem problem = {0};
    struct vbs_profile *profile = NULL;
    int64_t memory_bytes = 0, id;
    enum vbs_status status;

    if (n_arguments != 1)
        return cli_usage(cli, "needs one PROFILE, got %d", n_arguments);
    if (!cli_value(cli, values, "planner"))
        return cli_usage(cli, "needs --planner");
    if (!memory)
        return cli_usage(cli, "needs --memory");
    status = vbs_parse_bytes(&cli->ctx, memory, &memory_bytes);
    if (status == VBS_OK)
        status = check_weights(cli, cli_value(cli, values, "weights"));
    if (status == VBS_OK)
        status = cli_read_problem(cli, values, &problem);
    if (status == VBS_OK)
        status = cli_load_profile(cli, arguments[0], &profile, &id);
    if (status == VBS_OK) {
        problem.profile = profile;
        status = plan(cli, values, &problem, memory_bytes);
    }
    vbs_profile_free(profile);
    return status == VBS_OK ? cli_finish(cli) : cli_fail(cli, status);
}

static const struct cli_option OPTIONS[] = {
    {"planner", "P", "one of " CLI_PLANNERS},
    {"memory", "SIZE", "the budget: 20MiB, 15MB, 1048576"},
    {"request", "R", "samples of the request (default 12)"},
    {"io", "WHERE", "the request's inputs and outputs: external (default) or resident"},
    {"weights", "WHERE", "excluded (default): weights live outside the budget"},
    {CLI_OPTION_LATENCY},
    {CLI_OPTION_TIME_LIMIT},
    {CLI_OPTION_TABLE},
    {"json", "FILE", "write the schedule; - is standard output, instead of the table"},
    {0},
};

const struct cli_command cli_plan = {
    .name = "plan",
    .summary = "one schedule for one budget",
    .usage = "PROFILE --planner P --memory SIZE [options]",
    .options = OPTIONS,
    .arguments = cli_profile_help,
    .example = "vbslab plan googlenet --planner dp-vbs --memory 20MiB --json plan.json",
    .run = run,
};
