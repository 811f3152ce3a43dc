#include "base/fail.h"
#include "base/text.h"
#include "cli/common/common.h"
#include "cli/compare/compare.h"
#include "cli/print/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The profiles of one command and their comparisons. */
struct comparisons {
    int n;
    int n_compared; /* profiles compared so far; only the last of them may be interrupted */
    struct vbs_compare **compares;
    struct cli_comparing comparing;
    struct cli_pictures pictures;
    const char *form; /* the option of the machine form that was given, or null */
    struct execution execution;
};

static void release(struct comparisons *all)
{
    for (int i = 0; i < all->n; i++)
        vbs_compare_free(all->compares ? all->compares[i] : NULL);
    cli_comparing_clear(&all->comparing);
    cli_pictures_clear(&all->pictures);
    compare_clear_execution(&all->execution);
    free(all->compares);
}

/* Gives the option of one machine form that was given, or null. */
static const char *machine_form(struct cli *cli, const char *const *values)
{
    return cli_value(cli, values, "csv") ? "csv" : cli_value(cli, values, "json") ? "json" : NULL;
}

/* Gives whether word is standard input beside other profiles. */
static bool is_beside_others(const char *word, const struct comparisons *all)
{
    return all->n > 1 && strcmp(word, "-") == 0;
}

/* Says what "-" means beside another PROFILE, for somebody who means standard output by it: the
 * failure of reading a profile would not tell. */
static enum vbs_status explain_dash(struct cli *cli, enum vbs_status status, const char *form)
{
    char detail[VBS_DETAIL_SIZE];

    snprintf(detail, sizeof detail, "%s", vbs_detail(&cli->ctx));
    return vbs_fail(&cli->ctx, status,
                    "%s; '-' is a PROFILE, read from standard input: --%s takes no file and prints "
                    "to standard output",
                    detail, form);
}

/* Loads a profile; where schedules are executed, with its network, for which the program may be
 * started again. */
static enum vbs_status load(struct cli *cli, const char *word, struct comparisons *all,
                            struct cli_compared *one)
{
    struct execution *execution = &all->execution;
    struct run_job *subject = &execution->subject;
    enum vbs_status status;

    *one = (struct cli_compared){0};
    if (execution->seconds == 0)
        return cli_compared_load(cli, &all->comparing, word, one);
    VBS_TRY(run_find_subject(subject, word));
    status = cli_compared_take(cli, &all->comparing, subject->profile, subject->profile_id, one);
    one->options.watch = compare_keep_plan;
    one->options.watching = &execution->plans;
    return status;
}

/* Executes what was compared, unless that was interrupted. */
static enum vbs_status execute(struct comparisons *all, const struct cli_compared *one, int i)
{
    if (all->execution.seconds == 0 || all->compares[i]->interrupted)
        return VBS_OK;
    return compare_execute(&all->execution, one, all->compares[i]);
}

/* Loads profile i, compares, and executes. */
static enum vbs_status compare_profile(struct cli *cli, const char *word, struct comparisons *all,
                                       int i)
{
    struct cli_compared one;
    enum vbs_status status = load(cli, word, all, &one);

    if (status == VBS_FORMAT && is_beside_others(word, all) && all->form)
        return explain_dash(cli, status, all->form);
    if (status == VBS_OK)
        status = vbs_compare_run(&cli->ctx, &one.problem, &one.options, &all->compares[i]);
    if (status == VBS_OK) {
        all->compares[i]->profile_id = one.profile_id;
        all->compares[i]->judge_id = one.judge_id;
        cli_progress_end(cli);
        status = execute(all, &one, i);
    }
    cli_progress_end(cli);
    if (one.profile)
        all->execution.subject.profile = NULL; /* which was handed over */
    cli_compared_clear(&one);
    return status;
}

static enum vbs_status compare_all(struct cli *cli, const char *const *words,
                                   struct comparisons *all)
{
    all->compares = calloc((size_t)all->n, sizeof *all->compares);
    if (!all->compares)
        return vbs_no_memory(&cli->ctx);
    for (int i = 0; i < all->n; i++) {
        enum vbs_status status = compare_profile(cli, words[i], all, i);

        /* The results of the profiles before are printed nevertheless. */
        if (status != VBS_OK && i > 0 && vbs_cancelled(&cli->ctx))
            break;
        if (status != VBS_OK)
            return status;
        all->n_compared++;
        if (all->compares[i]->interrupted)
            break;
    }
    return VBS_OK;
}

static bool is_interrupted(const struct comparisons *all)
{
    return all->n_compared < all->n || all->compares[all->n - 1]->interrupted;
}

/* Fails with VBS_INTERRUPTED, and tells how many plans are made. */
static enum vbs_status fail_interrupted(struct cli *cli, const struct comparisons *all)
{
    const struct vbs_compare *last = all->compares[all->n_compared - 1];
    int n_plans = last->n_budgets * last->n_planners, n_finished = 0;
    struct vbs_text text = {0};
    enum vbs_status status;

    for (int r = 0; r < n_plans; r++)
        n_finished += !last->rows[r].missing;
    vbs_text_add(&text, "interrupted; ");
    if (all->n > 1)
        vbs_text_addf(&text, "%d of %d profiles are compared", all->n_compared - last->interrupted,
                      all->n);
    if (all->n > 1 && last->interrupted)
        vbs_text_add(&text, ", and of the next one ");
    if (last->interrupted)
        vbs_text_addf(&text, "%d of %d plans are finished, whose noise is left out", n_finished,
                      n_plans);
    status = text.failed ? vbs_no_memory(&cli->ctx)
                         : vbs_fail(&cli->ctx, VBS_INTERRUPTED, "%s", text.data);
    vbs_text_clear(&text);
    return status;
}

static const struct vbs_compare *const *as_const(const struct comparisons *all)
{
    return (const struct vbs_compare *const *)all->compares;
}

static enum vbs_status plot(struct vbs_ctx *ctx, const struct vbs_plot_options *options,
                            const char *path, void *self)
{
    const struct comparisons *all = self;

    return vbs_compare_plot(ctx, as_const(all), all->n_compared, options, path);
}

/* Checks the names of series before the work: the planners, and the bound. */
static enum vbs_status check_series(struct cli *cli, const struct comparisons *all)
{
    const struct cli_comparing *comparing = &all->comparing;
    const char **names = calloc((size_t)comparing->n_planners + 1, sizeof *names);
    enum vbs_status status;

    if (!names)
        return vbs_no_memory(&cli->ctx);
    for (int i = 0; i < comparing->n_planners; i++)
        names[i] = vbs_planner_name(comparing->planners[i]);
    names[comparing->n_planners] = "bound";
    status = cli_pictures_check(cli, &all->pictures, names, comparing->n_planners + 1);
    free(names);
    return status;
}

/* Fails because nothing fits, and names a remedy. */
static enum vbs_status fail_infeasible(struct cli *cli, const struct vbs_problem *problem,
                                       const struct vbs_compare_row *least)
{
    const char *name = vbs_planner_name(least->planner);
    char asked[48], needed[48];

    if (least->least_bytes < INT64_MAX)
        return vbs_fail(&cli->ctx, VBS_INFEASIBLE,
                        "no planner fits any of the budgets; the least that works is %s, with %s",
                        vbs_format_exact(least->least_bytes, needed, sizeof needed), name);
    cli_format_typed(problem->latency_us, asked, sizeof asked);
    if (least->least_latency_us == 0) /* not known with weights inside the budget */
        return vbs_fail(&cli->ctx, VBS_INFEASIBLE, "no planner answers within %s us in any memory",
                        asked);
    return vbs_fail(
        &cli->ctx, VBS_INFEASIBLE,
        "no planner answers within %s us in any memory; the least latency that works is %s us, "
        "with %s",
        asked, cli_format_typed(cli_round_up(least->least_latency_us), needed, sizeof needed),
        name);
}

/* Compares the needs of two rows; where no budget is feasible, the shorter latency counts. Those of
 * planners from outside are not known, nor are latencies of planners that estimate. */
static bool needs_less(const struct vbs_compare_row *a, const struct vbs_compare_row *b)
{
    if (a->least_bytes == 0 || b->least_bytes == 0)
        return b->least_bytes == 0 && a->least_bytes > 0;
    if (a->least_bytes != b->least_bytes)
        return a->least_bytes < b->least_bytes;
    if (a->least_latency_us == 0 || b->least_latency_us == 0)
        return b->least_latency_us == 0 && a->least_latency_us > 0;
    return a->least_latency_us < b->least_latency_us;
}

/* Finds the row with the least budget of all when nothing fits anywhere; else null. */
static const struct vbs_compare_row *find_least(const struct comparisons *all)
{
    const struct vbs_compare_row *least = NULL;

    for (int i = 0; i < all->n_compared; i++) {
        const struct vbs_compare *compare = all->compares[i];

        for (int r = 0; r < compare->n_budgets * compare->n_planners; r++) {
            if (compare->rows[r].feasible)
                return NULL;
            if (!least || needs_less(&compare->rows[r], least))
                least = &compare->rows[r];
        }
    }
    return least;
}

static enum vbs_status print_tables(struct cli *cli, const struct comparisons *all)
{
    for (int i = 0; i < all->n_compared; i++) {
        char *text = NULL;

        VBS_TRY(vbs_compare_table(&cli->ctx, all->compares[i], cli->columns, cli->colour, &text));
        cli_flow_begin(cli);
        printf("%s%s", i > 0 ? "\n" : "", text);
        cli_print_outside(all->compares[i]->weights, all->compares[i]->least_weight_bytes,
                          all->compares[i]->weight_bytes, "");
        cli_flow_end(cli);
        free(text);
    }
    return VBS_OK;
}

static enum vbs_status print(struct cli *cli, const char *const *values,
                             const struct comparisons *all)
{
    char *text = NULL;
    enum vbs_status status;

    if (cli_value(cli, values, "json"))
        status = vbs_compare_json(&cli->ctx, as_const(all), all->n_compared, &text);
    else if (cli_value(cli, values, "csv"))
        status = vbs_compare_csv(&cli->ctx, as_const(all), all->n_compared, &text);
    else
        return print_tables(cli, all);
    if (status == VBS_OK)
        fputs(text, stdout);
    free(text);
    return status;
}

/* Prints the times that were executed, and the verdict, as the end of all. */
static enum vbs_status print_executed(struct cli *cli, const struct comparisons *all)
{
    char *text = NULL;

    if (!all->compares[0]->executed)
        return VBS_OK;
    VBS_TRY(
        vbs_compare_executed_table(&cli->ctx, all->compares[0], cli->columns, cli->colour, &text));
    printf("\n%s", text);
    free(text);
    return VBS_OK;
}

/* Reads the options of the comparison. The program that was started again has said already what it
 * says of them. */
static enum vbs_status read_comparing(struct cli *cli, const char *const *values,
                                      struct comparisons *all)
{
    bool quiet = cli->quiet;
    enum vbs_status status;

    cli->quiet = quiet || cli_is_started_anew();
    status = cli_comparing_read(cli, values, &all->comparing);
    cli->quiet = quiet;
    return status;
}

static enum vbs_status compare(struct cli *cli, const char *const *values, const char *const *words,
                               struct comparisons *all)
{
    const char *plots = all->pictures.list;
    bool table = !cli_value(cli, values, "json") && !cli_value(cli, values, "csv");
    const struct vbs_compare_row *least;
    enum vbs_status plotted = VBS_OK;

    VBS_TRY(read_comparing(cli, values, all));
    VBS_TRY(check_series(cli, all));
    VBS_TRY(compare_all(cli, words, all));
    if (is_interrupted(all)) {
        VBS_TRY(print(cli, values, all));
        return fail_interrupted(cli, all);
    }
    least = find_least(all);
    /* Plots come before the table, so that a path that cannot be plotted to is reported first and
     * alone; other failures of plots must not suppress the table. */
    if (plots && !least)
        plotted = cli_pictures_draw(cli, &all->pictures, plot, all);
    if (plotted == VBS_USAGE)
        return plotted;
    VBS_TRY(print(cli, values, all));
    if (least)
        return fail_infeasible(cli, &all->comparing.problem, least);
    if (plotted == VBS_OK && plots && table)
        VBS_TRY(cli_pictures_name(cli, &all->pictures));
    if (table)
        VBS_TRY(print_executed(cli, all));
    return plotted == VBS_OK ? compare_end_execution(&all->execution) : plotted;
}

static int run_comparison(struct cli *cli, const char *const *values, int n_arguments,
                          const char *const *arguments)
{
    struct comparisons all = {.n = n_arguments, .form = machine_form(cli, values)};
    enum vbs_status status;

    if (n_arguments < 1)
        return cli_usage(cli, "needs at least one PROFILE");
    if (cli_value(cli, values, "json") && cli_value(cli, values, "csv"))
        return cli_usage(cli, "takes one of --json and --csv");
    if (cli_value(cli, values, "judge") && n_arguments > 1)
        return cli_usage(cli, "--judge judges one PROFILE, got %d", n_arguments);
    if (cli_value(cli, values, "model") && !cli_value(cli, values, "execute"))
        return cli_usage(cli, "--model names the network to execute; give --execute SECONDS");
    if (cli_value(cli, values, "execute") && n_arguments > 1)
        return cli_usage(cli, "--execute executes one PROFILE, got %d", n_arguments);
    for (int i = 0; i < n_arguments; i++)
        if (is_beside_others(arguments[i], &all) && all.form && isatty(STDIN_FILENO))
            return cli_usage(cli,
                             "'-' is a PROFILE, read from standard input, which is a terminal: "
                             "--%s takes no file and prints to standard output",
                             all.form);
    status = cli_pictures_read(cli, values, "plot", cli_value(cli, values, "plot"), &all.pictures);
    if (status == VBS_OK)
        status = compare_read_execution(cli, values, &all.execution);
    if (status == VBS_OK)
        status = compare(cli, values, arguments, &all);
    release(&all);
    return cli_end(cli, status);
}

static const struct cli_option OPTIONS[] = {
    {CLI_OPTION_BASELINES},
    {CLI_OPTION_PLANNERS},
    {CLI_OPTION_FURTHER},
    {CLI_OPTION_BUDGETS},
    CLI_OPTIONS_PROBLEM,
    {"time-limit", "SECONDS",
     "planner optimal: end the search at each of the budgets after this time with the best "
     "schedule so far (default 1); planners from outside: fail after this time for each of the "
     "budgets (default 10)"},
    {CLI_OPTION_NODE_LIMIT},
    {CLI_OPTION_SEED},
    {CLI_OPTION_JUDGE},
    {"execute", "SECONDS",
     "then execute all schedules on this machine, those of each budget by turns, in about so many "
     "seconds, and tell gains as executed; at least 6 turns"},
    {"model", "MODEL", "with --execute: the network, where the profile does not say where it is"},
    {"json", NULL, "print JSON: one object, with an array of what each profile gives"},
    {"csv", NULL, "print CSV"},
    {"plot", "FILE",
     "throughput against memory as " CLI_PICTURE_ENDINGS "; several with commas. Series are the "
     "planners, and bound"},
    CLI_OPTIONS_PICTURE,
    {CLI_OPTION_INPUT_SHAPE},
    {CLI_OPTION_FIX},
    {CLI_OPTION_UNTIL},
    {CLI_OPTION_PRECISION},
    {0},
};

const struct cli_command cli_compare = {
    .name = "compare",
    .summary = "every planner's gain over the baselines, every schedule replayed",
    .usage = "PROFILE... [--baselines all] [--memory RANGE] [options]",
    .options = OPTIONS,
    .arguments = cli_profile_help,
    .example = "vbslab compare googlenet --baselines all --memory 15MiB..40MiB:1MiB "
               "--plot googlenet.svg",
    .run = run_comparison,
};
