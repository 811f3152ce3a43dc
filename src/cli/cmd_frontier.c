#include "base/fail.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/table.h"

#include <stdio.h>
#include <string.h>

static enum vbs_status write_csv(struct cli *cli, const struct vbs_frontier *frontier,
                                 int64_t request, const char *path)
{
    struct vbs_text text = {0};
    enum vbs_status status;

    vbs_text_add(&text, "memory_bytes,time_us,per_sample_us,samples_per_s\n");
    for (int i = 0; i < frontier->n_points; i++) {
        const struct vbs_frontier_point *point = &frontier->points[i];
        double per_sample_us = point->time_us / (double)request;

        vbs_text_addf(&text, "%lld,", (long long)point->memory_bytes);
        vbs_text_add_double(&text, point->time_us);
        vbs_text_add(&text, ",");
        vbs_text_add_double(&text, per_sample_us);
        vbs_text_add(&text, ",");
        vbs_text_add_double(&text, per_sample_us > 0 ? 1e6 / per_sample_us : 0);
        vbs_text_add(&text, "\n");
    }
    status = text.failed ? vbs_no_memory(&cli->ctx)
                         : vbs_write_file(&cli->ctx, path, text.data, text.length);
    vbs_text_clear(&text);
    return status;
}

static enum vbs_status print_table(struct cli *cli, const struct vbs_frontier *frontier,
                                   int64_t request)
{
    static const struct cli_column COLUMNS[] = {
        {"bytes", true}, {"memory", true}, {"ms/sample", true}, {"samples/s", true}};
    struct cli_table table = {.columns = COLUMNS, .n_columns = 4};

    for (int i = 0; i < frontier->n_points; i++) {
        const struct vbs_frontier_point *point = &frontier->points[i];
        double per_sample_us = point->time_us / (double)request;
        char memory[24];

        cli_table_add(&table, "%lld", (long long)point->memory_bytes);
        cli_table_add(&table, "%s", vbs_format_bytes(point->memory_bytes, memory, sizeof memory));
        cli_table_add(&table, "%.4f", per_sample_us / 1e3);
        if (per_sample_us > 0)
            cli_table_add(&table, "%.2f", 1e6 / per_sample_us);
        else
            cli_table_add(&table, "-");
    }
    return cli_table_print(&cli->ctx, &table);
}

static enum vbs_status frontier(struct cli *cli, const char *const *values,
                                const struct vbs_problem *problem)
{
    const char *csv = cli_value(cli, values, "csv");
    const struct vbs_planner *planner;
    struct vbs_solver *solver = NULL;
    struct vbs_frontier *curve = NULL;
    enum vbs_status status =
        vbs_planner_find(&cli->ctx, cli_value(cli, values, "planner"), &planner);

    if (status == VBS_OK)
        status = vbs_solver_new(&cli->ctx, planner, problem, NULL, &solver);
    if (status == VBS_OK)
        status = vbs_solver_frontier(&cli->ctx, solver, &curve);
    if (status == VBS_OK && csv)
        status = write_csv(cli, curve, problem->request, csv);
    if (status == VBS_OK && !csv)
        status = print_table(cli, curve, problem->request);
    vbs_frontier_free(curve);
    vbs_solver_free(solver);
    return status;
}

static int run(struct cli *cli, const char *const *values, int n_arguments,
               const char *const *arguments)
{
    struct vbs_problem problem = {0};
    struct vbs_profile *profile = NULL;
    int64_t id;
    enum vbs_status status;

    if (n_arguments != 1)
        return cli_usage(cli, "needs one PROFILE, got %d", n_arguments);
    if (!cli_value(cli, values, "planner"))
        return cli_usage(cli, "needs --planner");
    status = cli_read_problem(cli, values, &problem);
    if (status == VBS_OK)
        status = cli_load_profile(cli, arguments[0], &profile, &id);
    if (status == VBS_OK) {
        problem.profile = profile;
        status = frontier(cli, values, &problem);
    }
    vbs_profile_free(profile);
    return status == VBS_OK ? cli_finish(cli) : cli_fail(cli, status);
}

static const struct cli_option OPTIONS[] = {
    {"planner", "P", "one of " CLI_PLANNERS},
    {"request", "R", "samples of the request (default 12)"},
    {"io", "WHERE", "the request's inputs and outputs: external (default) or resident"},
    {"csv", "FILE", "write the curve as CSV; - is standard output"},
    {0},
};

const struct cli_command cli_frontier = {
    .name = "frontier",
    .summary = "the exact curve of time against memory: every budget at which the plan changes",
    .usage = "PROFILE --planner P [options]",
    .options = OPTIONS,
    .arguments = (const struct cli_argument[]){{CLI_ARGUMENT_PROFILE}, {0}},
    .example = "vbslab frontier googlenet --planner dp-vbs --csv curve.csv",
    .run = run,
};
