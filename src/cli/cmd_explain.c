#include "base/fail.h"
#include "cli/common/common.h"
#include "cli/explain/explain.h"
#include "cli/print/print.h"

#include <stdio.h>
#include <string.h>

#define FEW 12 /* candidates of the first decision that stand above the tree */

/* The options that say what is shown. */
struct showing {
    struct vbs_explain_options options;
    const char *json, *csv, *html;
    int depth; /* 0: as many levels as fit */
    bool steps;
};

static bool is_part(const struct showing *showing)
{
    return showing->options.first_layer || showing->options.last_layer || showing->options.samples;
}

static enum vbs_status read_number(struct cli *cli, const char *const *values, const char *option,
                                   int high, int *number)
{
    int64_t read = 0;

    VBS_TRY(cli_read_whole(cli, values, option, 1, high, &read));
    *number = (int)read;
    return VBS_OK;
}

static enum vbs_status read_showing(struct cli *cli, const char *const *values,
                                    const struct vbs_problem *problem, struct showing *showing)
{
    struct vbs_explain_options *options = &showing->options;
    bool has_table = cli_value(cli, values, "table") != NULL;
    int n = problem->profile->n_layers;

    *showing = (struct showing){.options.struct_size = sizeof *options,
                                .json = cli_value(cli, values, "json"),
                                .csv = cli_value(cli, values, "csv"),
                                .html = cli_value(cli, values, "html"),
                                .steps = cli_value(cli, values, "step")};
    VBS_TRY(read_number(cli, values, "from", n, &options->first_layer));
    VBS_TRY(read_number(cli, values, "to", n, &options->last_layer));
    VBS_TRY(read_number(cli, values, "samples", (int)problem->request, &options->samples));
    VBS_TRY(read_number(cli, values, "depth", INT32_MAX, &showing->depth));
    options->with_cells = has_table && (showing->csv || showing->json);
    if (showing->csv && !has_table)
        return vbs_fail(&cli->ctx, VBS_USAGE,
                        "--csv writes the cells of a table; it needs --table");
    if ((showing->json != NULL) + (showing->csv != NULL) + (showing->html != NULL) > 1)
        return vbs_fail(&cli->ctx, VBS_USAGE, "takes one of --json, --csv and --html");
    options->with_curves = showing->html;
    if (is_part(showing)) { /* what is not given is that of the whole */
        options->first_layer = options->first_layer ? options->first_layer : 1;
        options->last_layer = options->last_layer ? options->last_layer : n;
        options->samples = options->samples ? options->samples : (int)problem->request;
    }
    return VBS_OK;
}

static void print_head(const struct cli_explanation *about)
{
    const struct vbs_problem *problem = about->problem;
    const char *model = problem->profile->provenance.model;
    char bytes[48], time[32];

    cli_print_name(model);
    printf("%splanner %s, %lld sample%s, io %s, ", model[0] ? ": " : "", about->planner,
           (long long)problem->request, problem->request == 1 ? "" : "s", vbs_io_word(problem->io));
    vbs_format_exact(about->memory_bytes, bytes, sizeof bytes);
    printf("%s\n", bytes);
    if (about->schedule) {
        printf("time %s",
               cli_format_exact_time(about->schedule->predicted.time_us, time, sizeof time));
        printf(", peak %s\n",
               vbs_format_exact(about->schedule->predicted.peak_bytes, bytes, sizeof bytes));
    }
    if (about->made && about->made->weight_bytes > 0)
        printf("%s of weights stay in memory; all below is about the rest\n",
               vbs_format_exact(about->made->weight_bytes, bytes, sizeof bytes));
    printf("\n");
}

static bool has_batches(const struct vbs_explanation *made)
{
    const struct vbs_decision *last = &made->decisions[made->n_decisions - 1];

    return last->n_candidates > 0 && last->candidates[0].choice == VBS_CHOICE_BATCH;
}

/* Gives whether there are no decisions that follow each other; made may be null. */
static bool is_one_step(const struct vbs_explanation *made)
{
    return !made || made->has_bound || (has_batches(made) && made->n_decisions == 1);
}

static enum vbs_status print_text(const struct cli_explanation *about,
                                  const struct showing *showing)
{
    const struct vbs_explanation *made = about->made;

    print_head(about);
    if (showing->steps && is_one_step(made))
        printf("One step, because this planner has no decisions that follow each other.\n\n");
    if (!made)
        return cli_print_weights(about);
    if (made->has_bound)
        return cli_print_bound(about);
    if (showing->steps && !is_one_step(made))
        return cli_step_through(about, showing->depth);
    if (has_batches(made))
        return cli_print_batches(about);
    cli_print_order(made);
    VBS_TRY(cli_print_decision(about, 0, is_part(showing) ? 0 : FEW));
    printf("\n");
    VBS_TRY(cli_print_tree(about, showing->depth));
    if (is_part(showing) && made->n_points > 0) {
        printf("\n");
        VBS_TRY(cli_print_points(about));
    }
    if (made->n_cells > 0) {
        printf("\n");
        VBS_TRY(cli_print_cells(about));
    }
    return VBS_OK;
}

static enum vbs_status show(const struct cli_explanation *about, const struct showing *showing)
{
    if (showing->json)
        return cli_write_explanation(about, showing->json);
    if (showing->csv)
        return cli_write_cells(about, showing->csv);
    if (showing->html)
        return cli_write_explanation_page(about, showing->html);
    return print_text(about, showing);
}

/* Makes the explanation; one that text or a page can show has the cells of its table. */
static enum vbs_status make(struct cli *cli, struct vbs_solver *solver, int64_t memory_bytes,
                            struct showing *showing, struct vbs_explanation **made)
{
    int64_t most = showing->html ? CLI_MOST_PAGE_CELLS : CLI_MOST_CELLS;

    VBS_TRY(vbs_solver_explain_plan(&cli->ctx, solver, memory_bytes, &showing->options, made));
    if ((*made)->cells || (*made)->n_cells == 0 || (*made)->n_cells > most)
        return VBS_OK;
    showing->options.with_cells = true;
    vbs_explanation_free(*made);
    *made = NULL;
    return vbs_solver_explain_plan(&cli->ctx, solver, memory_bytes, &showing->options, made);
}

static enum vbs_status explain(struct cli *cli, const char *const *values,
                               const struct cli_task *task, int64_t memory_bytes)
{
    struct vbs_solver_options options = {.struct_size = sizeof(struct vbs_solver_options)};
    struct cli_explanation about = {.cli = cli,
                                    .problem = &task->problem,
                                    .planner = vbs_planner_name(task->planner),
                                    .memory_bytes = memory_bytes};
    struct showing showing;
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *schedule = NULL;
    struct vbs_explanation *made = NULL;
    enum vbs_status status = read_showing(cli, values, &task->problem, &showing);

    if (status == VBS_OK)
        status = cli_read_solver_options(cli, values, task->planner, &options);
    options.most_bytes = memory_bytes;
    options.progress = cli_progress(cli);
    about.table_bytes = options.table_bytes;
    if (status == VBS_OK)
        status = vbs_solver_new(&cli->ctx, task->planner, &task->problem, &options, &solver);
    if (status == VBS_OK && !is_part(&showing))
        status = vbs_solver_plan(&cli->ctx, solver, memory_bytes, &schedule);
    if (status == VBS_OK && !vbs_planner_transfers(task->planner))
        status = make(cli, solver, memory_bytes, &showing, &made);
    cli_progress_end(cli);
    if (status == VBS_INFEASIBLE && solver)
        status = cli_explain(cli, task->planner, &task->problem, solver, memory_bytes);
    about.schedule = schedule;
    about.made = made;
    if (status == VBS_OK)
        status = show(&about, &showing);
    vbs_explanation_free(made);
    vbs_schedule_free(schedule);
    vbs_solver_free(solver);
    return status;
}

static int run_explain(struct cli *cli, const char *const *values, int n_arguments,
                       const char *const *arguments)
{
    const char *memory = cli_value(cli, values, "memory"), *html = cli_value(cli, values, "html");
    struct cli_task task;
    struct vbs_profile *profile = NULL;
    int64_t memory_bytes = 0, id = 0;
    enum vbs_status status;

    if (n_arguments != 1)
        return cli_usage(cli, "needs one PROFILE, got %d", n_arguments);
    if (!memory)
        return cli_usage(cli, "needs --memory");
    status = vbs_parse_bytes(&cli->ctx, memory, &memory_bytes);
    if (status == VBS_OK && html && strcmp(html, "-") != 0)
        status = cli_check_output(cli, arguments[0], html, ".html", "a page");
    if (status == VBS_OK)
        status = cli_load_task(cli, values, arguments[0], &task, &profile, &id);
    if (status == VBS_OK)
        status = explain(cli, values, &task, memory_bytes);
    vbs_profile_free(profile);
    return cli_end(cli, status);
}

static const struct cli_option OPTIONS[] = {
    {CLI_OPTION_PLANNER},
    {"memory", "SIZE", "the budget; with --from, --to or --samples the memory of that part"},
    CLI_OPTIONS_PROBLEM,
    {CLI_OPTION_TIME_LIMIT("none")},
    {CLI_OPTION_NODE_LIMIT},
    {CLI_OPTION_SEED},
    {CLI_OPTION_TABLE},
    {"from", "I", "explain only the layers from I on"},
    {"to", "J", "explain only the layers up to J"},
    {"samples", "B", "explain only B samples"},
    {"depth", "D", "show D levels of the tree (default: as many as fit a page)"},
    {"step", NULL,
     "show all decisions with all candidates; in a terminal, wait for return after each"},
    {"csv", "FILE", "with --table: write all cells as CSV; - is standard output"},
    {"html", "FILE",
     "write a page that goes through the decisions with a slider, and ends in .html; - is standard "
     "output"},
    {"json", "FILE", "write the whole explanation as JSON; - is standard output"},
    {CLI_OPTION_INPUT_SHAPE},
    {CLI_OPTION_FIX},
    {CLI_OPTION_UNTIL},
    {CLI_OPTION_PRECISION},
    {0},
};

const struct cli_command cli_explain_command = {
    .name = "explain",
    .summary = "why a plan is as it is: the cuts, what was weighed at each, and what lost",
    .usage = "PROFILE --memory SIZE [--planner P] [options]",
    .options = OPTIONS,
    .arguments = cli_profile_help,
    .example = "vbslab explain googlenet --planner dp-vbs --memory 20MiB\n"
               "vbslab explain vbs-example --planner dp-vbs --request 2 --memory 7 --table 1 "
               "--html page.html",
    .run = run_explain,
};
