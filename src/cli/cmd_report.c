#include "base/fail.h"
#include "base/grow.h"
#include "base/text.h"
#include "cli/common/common.h"

#include <stdlib.h>
#include <string.h>

/* Planner optimal searches so long at each budget unless the user says otherwise: a page of
 * GoogLeNet is then made in about three seconds. */
#define TIME_LIMIT_S 0.05

/* Planners from outside have the same limit of time, for which this one is too short. */
static bool has_outside(const struct cli_comparing *comparing)
{
    for (int i = 0; i < comparing->n_planners; i++)
        if (vbs_planner_is_outside(comparing->planners[i]))
            return true;
    return false;
}

/* Refuses planners that have no schedules, which are what a page shows. */
static enum vbs_status check_planners(struct cli *cli, const struct cli_comparing *comparing)
{
    for (int i = 0; i < comparing->n_planners; i++)
        if (vbs_planner_estimates(comparing->planners[i]))
            return vbs_fail(&cli->ctx, VBS_USAGE,
                            "a page shows schedules, and %s has none; 'vbslab compare' shows its "
                            "estimates",
                            vbs_planner_name(comparing->planners[i]));
    return VBS_OK;
}

/* ---- Runs ---- */

/* The runs of --run. */
struct report_runs {
    struct report_run {
        char *path;
        struct vbs_page_run *run;
        bool shown; /* its profile has been found */
    } * list;
    int n;
    int64_t capacity;
};

static void clear_runs(struct report_runs *runs)
{
    for (int i = 0; i < runs->n; i++) {
        free(runs->list[i].path);
        vbs_page_run_free(runs->list[i].run);
    }
    free(runs->list);
}

/* self: struct report_runs */
static enum vbs_status read_run(struct vbs_ctx *ctx, const char *item, void *self)
{
    struct report_runs *runs = self;
    struct report_run *run;

    VBS_TRY(vbs_grow(ctx, &runs->list, &runs->capacity, runs->n + 1, sizeof *runs->list));
    run = &runs->list[runs->n];
    *run = (struct report_run){.path = strdup(item)};
    if (!run->path)
        return vbs_no_memory(ctx);
    runs->n++;
    return vbs_page_run_read(ctx, item, &run->run);
}

/* Refuses a run of which the page has no profile. */
static enum vbs_status check_shown(struct cli *cli, const struct report_runs *runs)
{
    for (int i = 0; i < runs->n; i++)
        if (!runs->list[i].shown)
            return vbs_fail(
                &cli->ctx, VBS_INVALID,
                "--run '%.300s' was planned on the profile with content %.12s, which is "
                "no PROFILE of this page",
                runs->list[i].path, vbs_page_run_hash(runs->list[i].run));
    return VBS_OK;
}

/* Adds the runs of the profile that was added last. */
static enum vbs_status add_runs(struct cli *cli, const struct report_runs *runs,
                                const struct vbs_profile *profile, struct vbs_page *page)
{
    for (int i = 0; i < runs->n; i++)
        if (vbs_page_run_is_of(runs->list[i].run, profile))
            VBS_TRY(vbs_page_add_run(&cli->ctx, page, profile, runs->list[i].run));
    return VBS_OK;
}

/* ---- The page ---- */

/* What a page is made of. */
struct report_job {
    struct cli_comparing comparing;
    struct report_runs runs;
    struct vbs_page *page;
};

/* Adds the profile that word names, with its runs. last: it is the last one, so that a run of which
 * no profile has come can be refused before the plans are made. */
static enum vbs_status add_profile(struct cli *cli, struct report_job *job, const char *word,
                                   bool last)
{
    struct cli_compared one;
    enum vbs_status status = cli_compared_load(cli, &job->comparing, word, &one);

    if (one.options.time_limit_s == 0 && !has_outside(&job->comparing))
        one.options.time_limit_s = TIME_LIMIT_S;
    for (int i = 0; status == VBS_OK && i < job->runs.n; i++)
        if (vbs_page_run_is_of(job->runs.list[i].run, one.profile))
            job->runs.list[i].shown = true;
    if (status == VBS_OK && last)
        status = check_shown(cli, &job->runs);
    if (status == VBS_OK)
        status = vbs_page_add(&cli->ctx, job->page, &one.problem, &one.options, one.profile_id,
                              one.judge_id);
    if (status == VBS_OK)
        status = add_runs(cli, &job->runs, one.profile, job->page);
    cli_progress_end(cli);
    cli_compared_clear(&one);
    return status;
}

static enum vbs_status fill_page(struct cli *cli, const char *const *values,
                                 const char *const *words, int n_words, struct report_job *job)
{
    const char *runs = cli_value(cli, values, "run");
    struct vbs_text command = {0};
    enum vbs_status status;

    cli_quote_command(&command, cli);
    status = command.failed ? vbs_no_memory(&cli->ctx) : VBS_OK;
    if (status == VBS_OK)
        status =
            vbs_page_new(&cli->ctx,
                         &(struct vbs_page_options){.struct_size = sizeof(struct vbs_page_options),
                                                    .command = command.data,
                                                    .vbslab = cli_build,
                                                    .n_profiles = n_words},
                         &job->page);
    vbs_text_clear(&command);
    if (status == VBS_OK)
        status = cli_comparing_read(cli, values, &job->comparing);
    if (status == VBS_OK)
        status = check_planners(cli, &job->comparing);
    if (status == VBS_OK && runs)
        status = cli_for_each(&cli->ctx, runs, read_run, &job->runs);
    for (int i = 0; i < n_words && status == VBS_OK; i++)
        status = add_profile(cli, job, words[i], i == n_words - 1);
    return status;
}

static enum vbs_status make_page(struct cli *cli, const char *const *values,
                                 const char *const *words, int n_words, const char *path)
{
    struct report_job job = {0};
    enum vbs_status status = fill_page(cli, values, words, n_words, &job);

    if (status == VBS_OK)
        status = vbs_page_write(&cli->ctx, job.page, path);
    vbs_page_free(job.page);
    clear_runs(&job.runs);
    cli_comparing_clear(&job.comparing);
    return status;
}

static int run_report(struct cli *cli, const char *const *values, int n_arguments,
                      const char *const *arguments)
{
    const char *path = cli_value(cli, values, "output");
    enum vbs_status status = VBS_OK;

    if (n_arguments < 1)
        return cli_usage(cli, "needs at least one PROFILE");
    if (!path)
        return cli_usage(cli, "needs -o FILE");
    if (cli_value(cli, values, "judge") && n_arguments > 1)
        return cli_usage(cli, "--judge judges one PROFILE, got %d", n_arguments);
    if (strcmp(path, "-") != 0)
        status = cli_check_output(cli, arguments[0], path, ".html", "a page");
    if (status == VBS_OK)
        status = make_page(cli, values, arguments, n_arguments, path);
    return cli_end(cli, status);
}

static const struct cli_option OPTIONS[] = {
    {"output", "FILE", "the page, which ends in .html; - is standard output"},
    {"run", "FILE.json",
     "a run to show beside what was planned, from 'vbslab run --json --steps' on one of the "
     "profiles; several with commas"},
    {CLI_OPTION_BASELINES},
    {CLI_OPTION_PLANNERS},
    {CLI_OPTION_FURTHER},
    {CLI_OPTION_BUDGETS},
    CLI_OPTIONS_PROBLEM,
    {"time-limit", "SECONDS",
     "planner optimal: end the search at each of the budgets after this time with the best "
     "schedule so far (default 0.05); planners from outside: fail after this time for each of the "
     "budgets (default 10)"},
    {CLI_OPTION_NODE_LIMIT},
    {CLI_OPTION_SEED},
    {CLI_OPTION_JUDGE},
    {CLI_OPTION_INPUT_SHAPE},
    {CLI_OPTION_FIX},
    {CLI_OPTION_UNTIL},
    {CLI_OPTION_PRECISION},
    {0},
};

const struct cli_command cli_report = {
    .name = "report",
    .summary = "a page in HTML: all plans of all planners, to look at",
    .usage = "PROFILE... -o FILE.html [options]",
    .options = OPTIONS,
    .letters = (const struct cli_letter[]){{'o', "output"}, {0}},
    .arguments = cli_profile_help,
    .example = "vbslab report googlenet -o googlenet.html\n"
               "vbslab report googlenet --run run.json -o googlenet.html",
    .run = run_report,
};
