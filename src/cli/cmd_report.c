#include "base/fail.h"
#include "base/text.h"
#include "cli/common/common.h"

#include <stdlib.h>
#include <string.h>

/* Planner optimal searches so long at each budget unless the user says otherwise: a page of
 * GoogLeNet is then made in about three seconds. */
#define TIME_LIMIT_S 0.05

/* Writes the command as the user gave it. */
static enum vbs_status write_command(struct cli *cli, struct vbs_text *command)
{
    vbs_text_add(command, "vbslab");
    for (char **word = cli->argv + 1; *word; word++) {
        vbs_text_add(command, " ");
        cli_quote(command, *word);
    }
    return command->failed ? vbs_no_memory(&cli->ctx) : VBS_OK;
}

/* Planners from outside have the same limit of time, for which this one is too short. */
static bool has_outside(const struct cli_comparing *comparing)
{
    for (int i = 0; i < comparing->n_planners; i++)
        if (vbs_planner_is_outside(comparing->planners[i]))
            return true;
    return false;
}

/* Adds the profile that word names. */
static enum vbs_status add_profile(struct cli *cli, const struct cli_comparing *comparing,
                                   const char *word, struct vbs_page *page)
{
    struct cli_compared one;
    enum vbs_status status = cli_compared_load(cli, comparing, word, &one);

    if (one.options.time_limit_s == 0 && !has_outside(comparing))
        one.options.time_limit_s = TIME_LIMIT_S;
    if (status == VBS_OK)
        status =
            vbs_page_add(&cli->ctx, page, &one.problem, &one.options, one.profile_id, one.judge_id);
    cli_progress_end(cli);
    cli_compared_clear(&one);
    return status;
}

static enum vbs_status make_page(struct cli *cli, const char *const *values,
                                 const char *const *words, int n_words, const char *path)
{
    struct cli_comparing comparing = {0};
    struct vbs_text command = {0};
    struct vbs_page *page = NULL;
    enum vbs_status status = write_command(cli, &command);

    if (status == VBS_OK)
        status = cli_comparing_read(cli, values, &comparing);
    if (status == VBS_OK)
        status =
            vbs_page_new(&cli->ctx,
                         &(struct vbs_page_options){.struct_size = sizeof(struct vbs_page_options),
                                                    .command = command.data,
                                                    .vbslab = cli_build,
                                                    .n_profiles = n_words},
                         &page);
    for (int i = 0; i < n_words && status == VBS_OK; i++)
        status = add_profile(cli, &comparing, words[i], page);
    if (status == VBS_OK)
        status = vbs_page_write(&cli->ctx, page, path);
    vbs_page_free(page);
    vbs_text_clear(&command);
    cli_comparing_clear(&comparing);
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
    {0},
};

const struct cli_command cli_report = {
    .name = "report",
    .summary = "a page in HTML: all plans of all planners, to look at",
    .usage = "PROFILE... -o FILE.html [options]",
    .options = OPTIONS,
    .letters = (const struct cli_letter[]){{'o', "output"}, {0}},
    .arguments = cli_profile_help,
    .example = "vbslab report googlenet -o googlenet.html",
    .run = run_report,
};
