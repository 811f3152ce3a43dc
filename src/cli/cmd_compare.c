#include "base/fail.h"
#include "base/grow.h"
#include "base/text.h"
#include "cli/common/common.h"
#include "cli/print/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The profiles of one command and their comparisons. */
struct comparisons {
    int n;
    int n_compared; /* profiles compared so far; only the last of them may be interrupted */
    struct vbs_profile **profiles;
    struct vbs_profile *judge; /* or null: each judges itself */
    int64_t judge_id;
    struct vbs_compare **compares;
    struct cli_weights weights;
    const struct vbs_planner **planners;
    int64_t capacity; /* of planners */
    int n_planners;
    struct vbs_solver_options search; /* limits of planner optimal */
    const char *form;                 /* the option of the machine form that was given, or null */
};

static void release(struct comparisons *all)
{
    for (int i = 0; i < all->n; i++) {
        vbs_compare_free(all->compares ? all->compares[i] : NULL);
        vbs_profile_free(all->profiles ? all->profiles[i] : NULL);
    }
    vbs_profile_free(all->judge);
    free(all->compares);
    free(all->profiles);
    free(all->planners);
}

static bool is_all(const char *list)
{
    return !list || strcmp(list, "all") == 0;
}

/* One of the options --baselines, --planners and --planner. */
struct planner_choice {
    struct cli *cli;
    const char *option;
    bool baselines, others; /* takes planners of these kinds */
    enum vbs_weights weights;
    int n_own; /* planners of the library, each of which has a place in chosen; others come behind
                */
    struct comparisons *all;
};

/* Gives whether the option may name planner. */
static bool is_allowed(const struct planner_choice *choice, const struct vbs_planner *planner)
{
    return (vbs_planner_is_baseline(planner) ? choice->baselines : choice->others) &&
           vbs_compare_can(planner, choice->weights);
}

/* Writes the names that the list may hold, such as "fbs, fbs-best", cut off where they are more
 * than size. */
static const char *list_allowed(const struct planner_choice *choice, char *names, size_t size)
{
    const struct vbs_planner *planner;
    size_t length = 0;

    names[0] = '\0';
    for (int i = 0; (planner = vbs_planner_at(i)) && length < size; i++)
        if (is_allowed(choice, planner))
            length += (size_t)snprintf(names + length, size - length, "%s%s", length ? ", " : "",
                                       vbs_planner_name(planner));
    return names;
}

/* Adds a planner from outside behind those of the library. */
static enum vbs_status add_outside(struct vbs_ctx *ctx, struct planner_choice *choice,
                                   const struct vbs_planner *planner)
{
    struct comparisons *all = choice->all;
    const char *name = vbs_planner_name(planner);

    for (int i = choice->n_own; i < all->n_planners; i++)
        if (strcmp(vbs_planner_name(all->planners[i]), name) == 0)
            return vbs_fail(ctx, VBS_USAGE, "two planners are called '%s'; rename one of the files",
                            name);
    VBS_TRY(vbs_grow(ctx, &all->planners, &all->capacity, (int64_t)all->n_planners + 1,
                     sizeof *all->planners));
    all->planners[all->n_planners++] = planner;
    return VBS_OK;
}

/* Adds the planner called item to self, a struct planner_choice. */
static enum vbs_status choose(struct vbs_ctx *ctx, const char *item, void *self)
{
    struct planner_choice *choice = self;
    const struct vbs_planner *planner;
    char names[256];

    VBS_TRY(cli_find_planner(choice->cli, item, &planner));
    if (!(vbs_planner_is_baseline(planner) ? choice->baselines : choice->others))
        return vbs_fail(ctx, VBS_USAGE, "'%s' %s; %s takes all, or names out of: %s", item,
                        choice->baselines ? "is no baseline" : "is a baseline", choice->option,
                        list_allowed(choice, names, sizeof names));
    if (!is_allowed(choice, planner))
        return vbs_fail(ctx, VBS_USAGE, "'%s' copies weights; give --weights included", item);
    if (vbs_planner_is_outside(planner))
        return add_outside(ctx, choice, planner);
    for (int i = 0; i < choice->n_own; i++)
        if (vbs_planner_at(i) == planner)
            choice->all->planners[i] = planner;
    return VBS_OK;
}

/* Gives whether "all", or no list, stands for a planner. With weights included, baselines are the
 * default ones in both cases: greedy-vbs shows nothing there that fbs does not. */
static bool is_meant(const struct planner_choice *choice, const struct vbs_planner *planner,
                     bool told)
{
    return is_allowed(choice, planner) &&
           ((told && !choice->baselines) || vbs_planner_is_compared(planner, choice->weights));
}

/* Takes one list of names. */
static enum vbs_status choose_list(struct vbs_ctx *ctx, const char *list,
                                   struct planner_choice *choice)
{
    const struct vbs_planner *planner;
    char names[256];

    if (cli_is_empty_list(list))
        return vbs_fail(ctx, VBS_USAGE, "%s names no planner; it takes all, or names out of: %s",
                        choice->option, list_allowed(choice, names, sizeof names));
    if (!is_all(list))
        return cli_for_each(ctx, list, choose, choice);
    for (int i = 0; (planner = vbs_planner_at(i)); i++)
        if (is_meant(choice, planner, list != NULL))
            choice->all->planners[i] = planner;
    return VBS_OK;
}

/* Lists the planners of all lists in the order of all planners, those from outside behind them. */
static enum vbs_status choose_planners(struct cli *cli, const char *const *values,
                                       struct comparisons *all)
{
    struct planner_choice choice = {.cli = cli, .weights = all->weights.weights, .all = all};
    const char *further = cli_value(cli, values, "planner");
    int n = 0;

    while (vbs_planner_at(choice.n_own))
        choice.n_own++;
    all->planners = calloc((size_t)choice.n_own, sizeof *all->planners);
    if (!all->planners)
        return vbs_no_memory(&cli->ctx);
    all->n_planners = choice.n_own;
    all->capacity = choice.n_own;
    choice.option = "--baselines";
    choice.baselines = true;
    VBS_TRY(choose_list(&cli->ctx, cli_value(cli, values, "baselines"), &choice));
    choice.option = "--planners";
    choice.baselines = false;
    choice.others = true;
    VBS_TRY(choose_list(&cli->ctx, cli_value(cli, values, "planners"), &choice));
    choice.option = "--planner";
    choice.baselines = true;
    if (further)
        VBS_TRY(cli_for_each(&cli->ctx, further, choose, &choice));
    for (int i = 0; i < all->n_planners; i++)
        if (all->planners[i])
            all->planners[n++] = all->planners[i];
    all->n_planners = n;
    return VBS_OK;
}

/* Reads --time-limit, --node-limit and --seed, of which only optimal uses the last two. */
static enum vbs_status read_search(struct cli *cli, const char *const *values,
                                   struct comparisons *all)
{
    static const char *const OWN[] = {"node-limit", "seed"};
    const struct vbs_planner *optimal;
    bool compared = false;

    VBS_TRY(vbs_planner_find(&cli->ctx, "optimal", &optimal));
    VBS_TRY(cli_read_solver_options(cli, values, optimal, &all->search));
    for (int p = 0; p < all->n_planners; p++)
        compared = compared || all->planners[p] == optimal;
    for (size_t i = 0; i < sizeof OWN / sizeof OWN[0]; i++)
        if (!compared && cli_value(cli, values, OWN[i]))
            return vbs_fail(&cli->ctx, VBS_USAGE,
                            "--%s is for planner optimal, which is not compared", OWN[i]);
    return VBS_OK;
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

/* Loads profile i and compares, over the range or, where it is null, the default budgets. */
static enum vbs_status compare_profile(struct cli *cli, const char *word,
                                       const struct vbs_problem *asked,
                                       const struct vbs_byte_range *range, struct comparisons *all,
                                       int i)
{
    struct vbs_problem problem = *asked;
    struct vbs_compare_options options = {
        .struct_size = sizeof(struct vbs_compare_options),
        .judge = all->judge,
        .budgets = range,
        .planners = all->planners,
        .n_planners = all->n_planners,
        .time_limit_s = all->search.time_limit_s,
        .progress = cli_progress(cli),
        .node_limit = all->search.node_limit,
        .seed = all->search.seed,
    };
    struct vbs_store *store = NULL;
    struct vbs_store_samples *samples = NULL;
    int64_t id, judge_id;
    enum vbs_status status;

    status = cli_load_profile(cli, word, &all->profiles[i], &id);
    if (status == VBS_FORMAT && is_beside_others(word, all) && all->form)
        return explain_dash(cli, status, all->form);
    if (status != VBS_OK)
        return status;
    problem.profile = all->profiles[i];
    status = cli_set_weights(cli, &all->weights, &problem);
    if (status != VBS_OK)
        return status;
    judge_id = all->judge ? all->judge_id : id;
    if (judge_id != 0)
        status = cli_open_store(cli, false, &store);
    if (status == VBS_OK && store)
        status = vbs_store_samples_open(&cli->ctx, store, judge_id, &samples);
    if (samples)
        options.samples = vbs_store_samples_source(samples);
    if (status == VBS_OK)
        status = vbs_compare_run(&cli->ctx, &problem, &options, &all->compares[i]);
    if (status == VBS_OK) {
        all->compares[i]->profile_id = id;
        all->compares[i]->judge_id = judge_id;
    }
    cli_progress_end(cli);
    vbs_store_samples_free(samples);
    vbs_store_close(store);
    return status;
}

static enum vbs_status compare_all(struct cli *cli, const char *const *values,
                                   const struct vbs_problem *problem, const char *const *words,
                                   struct comparisons *all)
{
    const char *memory = cli_value(cli, values, "memory"), *judge = cli_value(cli, values, "judge");
    struct vbs_byte_range range;

    all->profiles = calloc((size_t)all->n, sizeof *all->profiles);
    all->compares = calloc((size_t)all->n, sizeof *all->compares);
    if (!all->profiles || !all->compares)
        return vbs_no_memory(&cli->ctx);
    if (memory)
        VBS_TRY(vbs_parse_byte_range(&cli->ctx, memory, &range));
    VBS_TRY(choose_planners(cli, values, all));
    VBS_TRY(read_search(cli, values, all));
    if (judge)
        VBS_TRY(cli_load_profile(cli, judge, &all->judge, &all->judge_id));
    for (int i = 0; i < all->n; i++) {
        enum vbs_status status =
            compare_profile(cli, words[i], problem, memory ? &range : NULL, all, i);

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

static enum vbs_status plot(struct vbs_ctx *ctx, const char *item, void *self)
{
    const struct comparisons *all = self;

    return vbs_compare_plot(ctx, as_const(all), all->n_compared, item);
}

/* Adds the path of the plot to the table; the machine forms have no place for it. */
static enum vbs_status name_plot(struct vbs_ctx *ctx, const char *item, void *self)
{
    (void)ctx;
    (void)self;
    fputs("plot: ", stdout);
    cli_print_name(item);
    putchar('\n');
    return VBS_OK;
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
 * planners from outside are not known. */
static bool needs_less(const struct vbs_compare_row *a, const struct vbs_compare_row *b)
{
    if (a->least_bytes == 0 || b->least_bytes == 0)
        return b->least_bytes == 0 && a->least_bytes > 0;
    return a->least_bytes != b->least_bytes ? a->least_bytes < b->least_bytes
                                            : a->least_latency_us < b->least_latency_us;
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

static enum vbs_status compare(struct cli *cli, const char *const *values, const char *const *words,
                               struct comparisons *all)
{
    const char *plots = cli_value(cli, values, "plot");
    bool table = !cli_value(cli, values, "json") && !cli_value(cli, values, "csv");
    struct vbs_problem problem = {0};
    const struct vbs_compare_row *least;
    enum vbs_status plotted = VBS_OK;

    VBS_TRY(cli_read_problem(cli, values, &problem));
    VBS_TRY(cli_read_weights(cli, values, NULL, &all->weights));
    VBS_TRY(compare_all(cli, values, &problem, words, all));
    if (is_interrupted(all)) {
        VBS_TRY(print(cli, values, all));
        return fail_interrupted(cli, all);
    }
    least = find_least(all);
    /* Plots come before the table, so that a path that cannot be plotted to is reported first and
     * alone; other failures of plots must not suppress the table. */
    if (plots && !least)
        plotted = cli_for_each(&cli->ctx, plots, plot, all);
    if (plotted == VBS_USAGE)
        return plotted;
    VBS_TRY(print(cli, values, all));
    if (least)
        return fail_infeasible(cli, &problem, least);
    if (plotted == VBS_OK && plots && table)
        VBS_TRY(cli_for_each(&cli->ctx, plots, name_plot, NULL));
    return plotted;
}

static int run_compare(struct cli *cli, const char *const *values, int n_arguments,
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
    for (int i = 0; i < n_arguments; i++)
        if (is_beside_others(arguments[i], &all) && all.form && isatty(STDIN_FILENO))
            return cli_usage(cli,
                             "'-' is a PROFILE, read from standard input, which is a terminal: "
                             "--%s takes no file and prints to standard output",
                             all.form);
    status = cli_check_pictures(cli, "plot", cli_value(cli, values, "plot"));
    if (status == VBS_OK)
        status = compare(cli, values, arguments, &all);
    release(&all);
    return cli_end(cli, status);
}

static const struct cli_option OPTIONS[] = {
    {"baselines", "LIST",
     "baselines to show: all (default; weights included: fbs, fbs-best, mmcnn, vdnn), or names "
     "with commas"},
    {"planners", "LIST",
     "other planners to show: all (default; weights included: dp-vbs+ and joint), or names with "
     "commas"},
    {"planner", "P",
     "a further planner, beside those of both lists: exec:PROGRAM or so:FILE from outside; several "
     "with commas"},
    {"memory", "RANGE",
     "budgets: 15MiB..40MiB:1MiB, 5MiB..1GiB:*1.25, or one (default: about 25 that matter)"},
    {"request", "R", "samples of the request (default 12)"},
    {"io", "WHERE", "the request's inputs and outputs: external (default) or resident"},
    {CLI_OPTION_WEIGHTS},
    {CLI_OPTION_COPY},
    {CLI_OPTION_COPY_RATE},
    {CLI_OPTION_COPY_LATENCY},
    {CLI_OPTION_LATENCY},
    {"time-limit", "SECONDS",
     "planner optimal: end the search at each of the budgets after this time with the best "
     "schedule so far (default 1); planners from outside: fail after this time for each of the "
     "budgets (default 10)"},
    {CLI_OPTION_NODE_LIMIT},
    {CLI_OPTION_SEED},
    {"judge", "PROFILE", "replay on this profile what was planned on the other"},
    {"json", NULL, "print JSON: one object, with an array of what each profile gives"},
    {"csv", NULL, "print CSV"},
    {"plot", "FILE", "throughput against memory as .svg, .png or .pdf; several with commas"},
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
    .run = run_compare,
};
