/* A tour in a few seconds, of ordinary commands on profiles that come with the program. */
#include "base/fail.h"
#include "cli/common/common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_WORDS 16

/* A command of the tour: its subject, and its words. Words that end in .csv are profiles that come
 * with the program. */
struct stop {
    const char *text;
    const char *words[MOST_WORDS];
};

static const struct stop STOPS[] = {
    {"AlexNet in 6 MiB: a batch size and an algorithm for each layer. The profile was measured on "
     "a CPU with two cores.",
     {"plan", "alexnet-a.csv", "--memory", "6MiB", NULL}},
    {"GoogLeNet in several budgets with one batch size for all layers (fbs, fbs-best) and with a "
     "batch size for each, planned on one measurement and judged by a second one.",
     {"compare", "googlenet-a.csv", "--judge", "googlenet-b.csv", "--planners",
      "dp-monotone,dp-vbs,dp-vbs+", "--memory", "15MiB..35MiB:10MiB", NULL}},
    {"AlexNet in 32 MiB with its 233 MiB of weights inside the budget: some weights stay, the "
     "others are copied in while layers compute.",
     {"plan", "alexnet-weights-a.csv", "--weights", "included", "--memory", "32MiB", "--request",
      "64", NULL}},
};

#define N_STOPS (sizeof STOPS / sizeof STOPS[0])

/* Prints the command in the form in which it is typed in the folder of the profiles, on several
 * lines where the terminal is too narrow. */
static void print_command(const struct cli *cli, const char *const *words)
{
    int at = printf("\n$ vbslab") - 1;

    for (int i = 0; words[i]; i++) {
        if (cli->columns > 0 && at + 1 + (int)strlen(words[i]) + 2 > cli->columns)
            at = printf(" \\\n     ") - 3;
        at += printf(" %s", words[i]);
    }
    printf("\n\n");
}

static void announce(const struct cli *cli, const struct stop *stop, int number)
{
    char text[24];

    snprintf(text, sizeof text, "%d", number);
    printf("%s", number > 1 ? "\n" : "");
    cli_print_entry(cli, text, stop->text);
    print_command(cli, stop->words);
    fflush(stdout);
}

/* Runs a command and returns its exit code. */
static int visit(struct cli *cli, const struct stop *stop)
{
    char *words[MOST_WORDS + 1] = {0};
    enum vbs_status status = VBS_OK;
    int n = 0, code = 0;

    for (; stop->words[n] && status == VBS_OK; n++) {
        if (cli_ends_in(stop->words[n], ".csv"))
            status = cli_find_shipped_profile(cli, stop->words[n], &words[n]);
        else if (!(words[n] = strdup(stop->words[n])))
            status = vbs_no_memory(&cli->ctx);
    }
    code = status == VBS_OK ? cli_run_words(cli, words) : cli_fail(cli, status);
    for (int i = 0; i < n; i++)
        free(words[i]);
    return code;
}

static int run_demo(struct cli *cli, const char *const *values, int n_arguments,
                    const char *const *arguments)
{
    enum vbs_status status;
    char *path, *folder;
    int code = 0;

    (void)values;
    if (n_arguments > 0)
        return cli_usage(cli, "'%s': the command takes no arguments", arguments[0]);
    status = cli_find_shipped_profile(cli, STOPS[0].words[1], &path);
    if (status != VBS_OK)
        return cli_fail(cli, status);
    for (size_t i = 0; i < N_STOPS && code == 0 && !vbs_cancelled(&cli->ctx); i++) {
        announce(cli, &STOPS[i], (int)i + 1);
        code = visit(cli, &STOPS[i]);
    }
    folder = realpath(path, NULL);
    if (code == 0 && folder)
        printf("\nThe profiles are in %.*s\n", (int)(strrchr(folder, '/') - folder), folder);
    free(folder);
    free(path);
    if (code != 0)
        return code;
    printf("With networks of your own: vbslab run FILE.onnx --memory 20MiB\n");
    return cli_finish(cli);
}

static const struct cli_option OPTIONS[] = {{0}};

const struct cli_command cli_demo = {
    .name = "demo",
    .summary = "a tour in ten seconds, on profiles that come with the program",
    .usage = "",
    .options = OPTIONS,
    .run = run_demo,
};
