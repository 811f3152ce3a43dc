#include "backend/provenance.h"
#include "base/fail.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/common/common.h"
#include "cli/print/print.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A frontier with its problem and profile, and the picture that it is drawn in. */
struct curve {
    const struct vbs_problem *problem;
    const struct vbs_planner *planner;
    const struct vbs_frontier *frontier;
    size_t solver_bytes;
    int64_t profile_id; /* 0: not from the store */
    const struct cli_pictures *pictures;
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

/* ---- The picture ---- */

/* The curves of a picture, while further planners are solved for it. */
struct frontier_curves {
    struct cli *cli;
    const struct curve *first;
    const char *const *values;
    const struct vbs_planner **planners;
    struct vbs_frontier **frontiers; /* those behind the first are owned */
    int n;
};

/* Adds the planner of --beside to the curves, without its frontier. */
static enum vbs_status add_planner(struct vbs_ctx *ctx, const char *item, void *self)
{
    struct frontier_curves *curves = self;
    const struct vbs_problem *problem = curves->first->problem;
    const struct vbs_planner *planner;

    VBS_TRY(cli_find_planner(curves->cli, item, &planner));
    if (!vbs_compare_can(planner, problem->weights))
        return vbs_fail(ctx, VBS_USAGE, "--beside: planner %s does not plan with weights %s", item,
                        vbs_weights_word(problem->weights));
    for (int i = 0; i < curves->n; i++)
        if (curves->planners[i] == planner)
            return VBS_OK;
    curves->planners[curves->n++] = planner;
    return VBS_OK;
}

/* Finds the frontier of planner number i; one that has no plan at all gets an empty one, and a
 * warning. */
static enum vbs_status solve(struct frontier_curves *curves, int i)
{
    struct cli *cli = curves->cli;
    const struct vbs_planner *planner = curves->planners[i];
    struct vbs_solver_options options = {.struct_size = sizeof(struct vbs_solver_options)};
    struct vbs_solver *solver = NULL;
    enum vbs_status status;

    /* An option of searches is for those of the planners that search. */
    if (cli_read_solver_options(cli, curves->values, planner, &options) != VBS_OK)
        options = (struct vbs_solver_options){.struct_size = sizeof(struct vbs_solver_options)};
    cli_limit_time(planner, CLI_PLAN_S, NULL, 0, &options);
    options.progress = cli_progress(cli);
    status = vbs_solver_new(&cli->ctx, planner, curves->first->problem, &options, &solver);
    if (status == VBS_OK)
        status = vbs_solver_frontier(&cli->ctx, solver, &curves->frontiers[i]);
    cli_progress_end(cli);
    vbs_solver_free(solver);
    if (status == VBS_OK && curves->frontiers[i]->interrupted)
        return vbs_fail(&cli->ctx, VBS_INTERRUPTED, "interrupted");
    if (status != VBS_INFEASIBLE)
        return status;
    cli_warn(cli, "planner %s has no plan, and no curve in the picture", vbs_planner_name(planner));
    return VBS_OK;
}

/* Moves the planners without a curve out of the way. */
static void drop_empty(struct frontier_curves *curves)
{
    int n = 0;

    for (int i = 0; i < curves->n; i++)
        if (curves->frontiers[i]) {
            curves->planners[n] = curves->planners[i];
            curves->frontiers[n++] = curves->frontiers[i];
        }
    curves->n = n;
}

static enum vbs_status draw(struct vbs_ctx *ctx, const struct vbs_plot_options *options,
                            const char *path, void *self)
{
    const struct frontier_curves *curves = self;

    return vbs_frontier_plot(ctx, curves->first->problem, curves->planners,
                             (const struct vbs_frontier *const *)curves->frontiers, curves->n,
                             options, path);
}

/* Checks the names of series: the planners, and the bound. */
static enum vbs_status check_series(const struct frontier_curves *curves)
{
    const char **names = calloc((size_t)curves->n + 1, sizeof *names);
    enum vbs_status status;

    if (!names)
        return vbs_no_memory(&curves->cli->ctx);
    for (int i = 0; i < curves->n; i++)
        names[i] = vbs_planner_name(curves->planners[i]);
    names[curves->n] = "bound";
    status = cli_pictures_check(curves->cli, curves->first->pictures, names, curves->n + 1);
    free(names);
    return status;
}

static enum vbs_status plot_all(struct frontier_curves *curves, const char *beside)
{
    struct cli *cli = curves->cli;

    if (beside)
        VBS_TRY(cli_for_each(&cli->ctx, beside, add_planner, curves));
    VBS_TRY(check_series(curves));
    for (int i = 1; i < curves->n; i++)
        VBS_TRY(solve(curves, i));
    drop_empty(curves);
    return cli_pictures_draw(cli, curves->first->pictures, draw, curves);
}

static enum vbs_status plot(struct cli *cli, const char *const *values, const struct curve *curve)
{
    const char *beside = cli_value(cli, values, "beside");
    size_t most = 1 + (beside ? strlen(beside) : 0);
    struct frontier_curves curves = {.cli = cli,
                                     .first = curve,
                                     .values = values,
                                     .planners = calloc(most, sizeof *curves.planners),
                                     .frontiers = calloc(most, sizeof *curves.frontiers),
                                     .n = 1};
    enum vbs_status status = VBS_OK;

    if (curves.planners && curves.frontiers) {
        curves.planners[0] = curve->planner;
        curves.frontiers[0] = (struct vbs_frontier *)(uintptr_t)curve->frontier;
        status = plot_all(&curves, beside);
    } else {
        status = vbs_no_memory(&cli->ctx);
    }
    for (int i = 1; curves.frontiers && i < curves.n; i++)
        vbs_frontier_free(curves.frontiers[i]);
    free(curves.planners);
    free(curves.frontiers);
    return status;
}

/* ---- The command ---- */

static enum vbs_status report(struct cli *cli, const char *const *values, const struct curve *curve)
{
    const char *csv = cli_value(cli, values, "csv"), *json = cli_value(cli, values, "json");

    if (curve->pictures->list && !curve->frontier->interrupted)
        VBS_TRY(plot(cli, values, curve));
    if (csv)
        return write_csv(cli, curve, csv);
    if (json)
        return write_json(cli, curve, json);
    VBS_TRY(print_table(cli, curve));
    if (curve->pictures->list && !curve->frontier->interrupted)
        return cli_pictures_name(cli, curve->pictures);
    return VBS_OK;
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
                                const struct cli_task *task, const struct cli_pictures *pictures,
                                int64_t id)
{
    const struct vbs_planner *planner = task->planner;
    const struct vbs_problem *problem = &task->problem;
    struct vbs_solver_options options = {.struct_size = sizeof(struct vbs_solver_options)};
    struct vbs_solver *solver = NULL;
    struct vbs_frontier *found = NULL;
    enum vbs_status status = cli_read_solver_options(cli, values, planner, &options);

    cli_limit_time(planner, CLI_PLAN_S, NULL, 0, &options);
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
                                        .profile_id = id,
                                        .pictures = pictures});
    if (status == VBS_OK && !vbs_planner_estimates(planner) && !found->interrupted)
        status = cli_note_least(cli, problem, solver);
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
    struct cli_pictures pictures = {0};
    int64_t id;
    enum vbs_status status;

    if (n_arguments != 1)
        return cli_usage(cli, "needs one PROFILE, got %d", n_arguments);
    if (cli_value(cli, values, "csv") && cli_value(cli, values, "json"))
        return cli_usage(cli, "takes one of --json and --csv");
    if (cli_value(cli, values, "beside") && !cli_value(cli, values, "plot"))
        return cli_usage(cli, "--beside belongs to --plot");
    status = cli_pictures_read(cli, values, "plot", cli_value(cli, values, "plot"), &pictures);
    if (status == VBS_OK)
        status = cli_load_task(cli, values, arguments[0], &task, &profile, &id);
    if (status == VBS_OK)
        status = frontier(cli, values, &task, &pictures, id);
    cli_pictures_clear(&pictures);
    vbs_profile_free(profile);
    return cli_end(cli, status);
}

static const struct cli_option OPTIONS[] = {
    {CLI_OPTION_PLANNER},
    CLI_OPTIONS_PROBLEM,
    {"time-limit", "SECONDS",
     "planner optimal: end each search after this time (default 60), and the curve takes one or "
     "two searches for each of its budgets; joint and dp-vbs+: end the search for the whole curve "
     "after this time (default 60)"},
    {CLI_OPTION_NODE_LIMIT},
    {CLI_OPTION_SEED},
    {CLI_OPTION_TABLE},
    {"csv", "FILE", "write the curve as CSV; - is standard output"},
    {"json", "FILE", "write the curve as JSON; - is standard output"},
    {"plot", "FILE",
     "draw throughput as a step function of memory, exactly, as " CLI_PICTURE_ENDINGS "; several "
     "with commas. Series are the planners and bound"},
    {"beside", "LIST", "with --plot: planners whose curves the picture shows too, with commas"},
    CLI_OPTIONS_PICTURE,
    {CLI_OPTION_INPUT_SHAPE},
    {CLI_OPTION_FIX},
    {CLI_OPTION_UNTIL},
    {CLI_OPTION_PRECISION},
    {0},
};

const struct cli_command cli_frontier = {
    .name = "frontier",
    .summary = "the exact curve of time against memory: every budget at which the plan changes",
    .usage = "PROFILE [--planner P] [options]",
    .options = OPTIONS,
    .arguments = (const struct cli_argument[]){{CLI_ARGUMENT_PROFILE}, {0}},
    .example = "vbslab frontier googlenet --planner dp-vbs --csv curve.csv\n"
               "vbslab frontier googlenet --beside fbs,dp-vbs --plot curves.svg",
    .run = run_frontier,
};
