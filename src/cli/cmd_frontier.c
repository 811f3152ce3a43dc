#include "backend/provenance.h"
#include "base/fail.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/common/common.h"
#include "cli/print/print.h"

#include <math.h>
#include <stdio.h>

/* A frontier with its problem and profile. */
struct curve {
    const struct vbs_problem *problem;
    const struct vbs_planner *planner;
    const struct vbs_frontier *frontier;
    size_t solver_bytes;
    int64_t profile_id; /* 0: not from the store */
};

/* A point, as the forms print it. */
struct numbers {
    int64_t memory_bytes;
    bool feasible; /* false: the times have no meaning */
    double time_us, per_sample_us;
    double samples_per_s; /* 0 where nothing takes time */
};

static struct numbers numbers_of(const struct curve *curve, int i)
{
    const struct vbs_frontier_point *point = &curve->frontier->points[i];
    struct numbers numbers = {.memory_bytes = point->memory_bytes,
                              .feasible = point->time_us < HUGE_VAL,
                              .time_us = point->time_us,
                              .per_sample_us = point->time_us / (double)curve->problem->request};

    if (numbers.per_sample_us > 0)
        numbers.samples_per_s = 1e6 / numbers.per_sample_us;
    return numbers;
}

static enum vbs_status write_text(struct cli *cli, struct vbs_text *text, const char *path)
{
    enum vbs_status status = text->failed
                                 ? vbs_no_memory(&cli->ctx)
                                 : vbs_write_file(&cli->ctx, path, text->data, text->length);

    vbs_text_clear(text);
    return status;
}

static enum vbs_status write_csv(struct cli *cli, const struct curve *curve, const char *path)
{
    struct vbs_text text = {0}, provenance = {0};

    vbs_profile_add_columns(&provenance, curve->problem->profile);
    vbs_text_addf(&provenance, ",%lld,%s\n", (long long)curve->profile_id,
                  curve->frontier->interrupted ? "true" : "false");
    vbs_text_add(&text, "memory_bytes,time_us,per_sample_us,samples_per_s" VBS_PROVENANCE_COLUMNS
                        ",profile,interrupted\n");
    for (int i = 0; i < curve->frontier->n_points; i++) {
        struct numbers numbers = numbers_of(curve, i);

        vbs_text_addf(&text, "%lld,", (long long)numbers.memory_bytes);
        if (numbers.feasible) {
            vbs_text_add_double(&text, numbers.time_us);
            vbs_text_add(&text, ",");
            vbs_text_add_double(&text, numbers.per_sample_us);
            vbs_text_add(&text, ",");
            vbs_text_add_double(&text, numbers.samples_per_s);
        } else {
            vbs_text_add(&text, ",,");
        }
        vbs_text_add(&text, provenance.data ? provenance.data : "");
    }
    text.failed = text.failed || provenance.failed;
    vbs_text_clear(&provenance);
    return write_text(cli, &text, path);
}

static json_t *point_json(const struct numbers *numbers)
{
    if (!numbers->feasible)
        return json_pack("{s:I, s:n, s:n, s:n}", "memory_bytes", (json_int_t)numbers->memory_bytes,
                         "time_us", "per_sample_us", "samples_per_s");
    return json_pack("{s:I, s:f, s:f, s:f}", "memory_bytes", (json_int_t)numbers->memory_bytes,
                     "time_us", numbers->time_us, "per_sample_us", numbers->per_sample_us,
                     "samples_per_s", numbers->samples_per_s);
}

static json_t *points_json(const struct curve *curve, bool *failed)
{
    json_t *points = json_array();

    for (int i = 0; i < curve->frontier->n_points; i++) {
        struct numbers numbers = numbers_of(curve, i);

        cli_json_append(points, point_json(&numbers), failed);
    }
    return points;
}

static enum vbs_status write_json(struct cli *cli, const struct curve *curve, const char *path)
{
    const struct vbs_problem *problem = curve->problem;
    struct vbs_text text = {0};
    json_t *json =
        json_pack("{s:s, s:s, s:s, s:I, s:s}", "format", "vbslab-frontier-1", "model",
                  problem->profile->provenance.model, "planner", vbs_planner_name(curve->planner),
                  "request", (json_int_t)problem->request, "io", vbs_io_word(problem->io));

    cli_json_put(json, "profile", json_integer(curve->profile_id), &text.failed);
    cli_json_put(json, "provenance", cli_provenance_json(problem->profile), &text.failed);
    cli_json_put(json, "weights", json_string(vbs_weights_word(problem->weights)), &text.failed);
    cli_json_put(json, "weight_bytes", json_integer(vbs_profile_weight_bytes(problem->profile)),
                 &text.failed);
    cli_json_put(json, "latency_us",
                 problem->latency_us > 0 ? json_real(problem->latency_us) : json_null(),
                 &text.failed);
    cli_json_put(json, "solver", json_pack("{s:I}", "peak_bytes", (json_int_t)curve->solver_bytes),
                 &text.failed);
    cli_json_put(json, "points", points_json(curve, &text.failed), &text.failed);
    cli_json_put(json, "interrupted", json_boolean(curve->frontier->interrupted), &text.failed);
    vbs_text_add_json(&text, json, JSON_INDENT(2));
    vbs_text_add(&text, "\n");
    json_decref(json);
    return write_text(cli, &text, path);
}

static void print_head(const struct curve *curve)
{
    const struct vbs_problem *problem = curve->problem;
    const char *model = problem->profile->provenance.model;
    char number[32];

    cli_print_name(model);
    printf("%s%lld sample%s, io %s, planner %s", model[0] ? ": " : "", (long long)problem->request,
           problem->request == 1 ? "" : "s", vbs_io_word(problem->io),
           vbs_planner_name(curve->planner));
    if (problem->weights == VBS_WEIGHTS_INCLUDED) {
        printf(", weights included");
        cli_print_link(&problem->copy);
    }
    if (problem->latency_us > 0)
        printf(", latency at most %s us",
               cli_format_typed(problem->latency_us, number, sizeof number));
    printf("\n\n");
}

/* Gives the number of digits behind the point with which the column of times is exact. */
static int time_decimals(const struct curve *curve)
{
    int most = 0;

    for (int i = 0; i < curve->frontier->n_points; i++) {
        struct numbers numbers = numbers_of(curve, i);
        int decimals = numbers.feasible ? cli_time_decimals(numbers.per_sample_us) : 0;

        most = decimals > most ? decimals : most;
    }
    return most;
}

static enum vbs_status print_table(struct cli *cli, const struct curve *curve)
{
    static const struct cli_column COLUMNS[] = {
        {"bytes", true}, {"memory", true}, {"time/sample", true}, {"samples/s", true}};
    struct cli_table table = {.columns = COLUMNS, .n_columns = 4};
    int decimals = time_decimals(curve);
    char bytes[24], time[48];

    for (int i = 0; i < curve->frontier->n_points; i++) {
        struct numbers numbers = numbers_of(curve, i);

        cli_table_add(&table, "%lld", (long long)numbers.memory_bytes);
        cli_table_add(&table, "%s", vbs_format_bytes(numbers.memory_bytes, bytes, sizeof bytes));
        if (numbers.feasible)
            cli_table_add(&table, "%s",
                          cli_format_time_with(numbers.per_sample_us, decimals, time, sizeof time));
        else
            cli_table_add(&table, "no plan");
        if (numbers.feasible && numbers.samples_per_s > 0)
            cli_table_add(&table, "%.2f", numbers.samples_per_s);
        else
            cli_table_add(&table, "-");
    }
    cli_flow_begin_text(cli);
    print_head(curve);
    cli_flow_end(cli);
    VBS_TRY(cli_table_print(cli, &table));
    cli_flow_begin_text(cli);
    printf("\n");
    cli_print_outside(curve->problem->weights, vbs_least_weight_bytes(curve->problem->profile),
                      vbs_profile_weight_bytes(curve->problem->profile), "  ");
    cli_print_provenance(cli, curve->problem->profile, curve->profile_id);
    printf("  solver   took %s of memory at its peak\n",
           vbs_format_bytes((int64_t)curve->solver_bytes, bytes, sizeof bytes));
    if (curve->frontier->interrupted)
        printf("  curve    incomplete: the command was interrupted\n");
    cli_flow_end(cli);
    return VBS_OK;
}

static enum vbs_status report(struct cli *cli, const char *const *values, const struct curve *curve)
{
    const char *csv = cli_value(cli, values, "csv"), *json = cli_value(cli, values, "json");

    if (csv)
        return write_csv(cli, curve, csv);
    if (json)
        return write_json(cli, curve, json);
    return print_table(cli, curve);
}

/* Fails with VBS_INTERRUPTED, and tells how many points are known. */
static enum vbs_status fail_interrupted(struct cli *cli, const struct vbs_frontier *frontier)
{
    return vbs_fail(&cli->ctx, VBS_INTERRUPTED,
                    "interrupted; the curve is incomplete: %d point%s known, further points and "
                    "faster schedules may be missing",
                    frontier->n_points, frontier->n_points == 1 ? " is" : "s are");
}

static enum vbs_status frontier(struct cli *cli, const char *const *values,
                                const struct vbs_planner *planner,
                                const struct vbs_problem *problem, int64_t id)
{
    struct vbs_solver_options options = {.struct_size = sizeof(struct vbs_solver_options)};
    struct vbs_solver *solver = NULL;
    struct vbs_frontier *found = NULL;
    enum vbs_status status = cli_read_solver_options(cli, values, planner, &options);

    options.progress = cli_progress(cli);
    if (status == VBS_OK)
        status = vbs_solver_new(&cli->ctx, planner, problem, &options, &solver);
    if (status == VBS_OK)
        status = vbs_solver_frontier(&cli->ctx, solver, &found);
    cli_progress_end(cli);
    if (status == VBS_INFEASIBLE)
        status = cli_explain(cli, planner, problem, solver, INT64_MAX);
    if (status == VBS_OK)
        status = report(cli, values,
                        &(struct curve){.problem = problem,
                                        .planner = planner,
                                        .frontier = found,
                                        .solver_bytes = vbs_solver_peak_bytes(solver),
                                        .profile_id = id});
    if (status == VBS_OK && found->interrupted)
        status = fail_interrupted(cli, found);
    vbs_frontier_free(found);
    vbs_solver_free(solver);
    return status;
}

static int run_frontier(struct cli *cli, const char *const *values, int n_arguments,
                        const char *const *arguments)
{
    struct cli_task task;
    struct vbs_profile *profile = NULL;
    int64_t id;
    enum vbs_status status;

    if (n_arguments != 1)
        return cli_usage(cli, "needs one PROFILE, got %d", n_arguments);
    if (cli_value(cli, values, "csv") && cli_value(cli, values, "json"))
        return cli_usage(cli, "takes one of --json and --csv");
    status = cli_load_task(cli, values, arguments[0], &task, &profile, &id);
    if (status == VBS_OK)
        status = frontier(cli, values, task.planner, &task.problem, id);
    vbs_profile_free(profile);
    return cli_end(cli, status);
}

static const struct cli_option OPTIONS[] = {
    {CLI_OPTION_PLANNER},
    CLI_OPTIONS_PROBLEM,
    {"time-limit", "SECONDS",
     "planner optimal: end each search after this time (default 60), and the curve takes one or "
     "two searches for each of its budgets; joint: end the search for the whole curve after this "
     "time "
     "(default none)"},
    {CLI_OPTION_NODE_LIMIT},
    {CLI_OPTION_SEED},
    {CLI_OPTION_TABLE},
    {"csv", "FILE", "write the curve as CSV; - is standard output"},
    {"json", "FILE", "write the curve as JSON; - is standard output"},
    {0},
};

const struct cli_command cli_frontier = {
    .name = "frontier",
    .summary = "the exact curve of time against memory: every budget at which the plan changes",
    .usage = "PROFILE [--planner P] [options]",
    .options = OPTIONS,
    .arguments = (const struct cli_argument[]){{CLI_ARGUMENT_PROFILE}, {0}},
    .example = "vbslab frontier googlenet --planner dp-vbs --csv curve.csv",
    .run = run_frontier,
};
