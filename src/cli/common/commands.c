#include "cli/common/commands.h"

#include "base/fail.h"
#include "base/text.h"
#include "cli/common/common.h"
#include "cli/common/help.h"
#include "cli/common/inputs.h"
#include "cli/common/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_COMMANDS 64

const struct cli_command *cli_find_command(const struct cli *cli, const char *name)
{
    for (int i = 0; cli->commands[i]; i++)
        if (strcmp(cli->commands[i]->name, name) == 0)
            return cli->commands[i];
    return NULL;
}

int cli_unknown_command(struct cli *cli, const char *name)
{
    const char *names[MOST_COMMANDS], *nearest;
    int n = 0;

    for (; n < MOST_COMMANDS && cli->commands[n]; n++)
        names[n] = cli->commands[n]->name;
    nearest = vbs_nearest_name(name, names, n);
    if (nearest)
        return cli_usage(cli, "unknown command '%s'; did you mean '%s'?", name, nearest);
    return cli_usage(cli, "unknown command '%s'", name);
}

/* Obeys the options of every command. True when nothing else needs to be done, with the exit
 * code. */
static bool obey_globals(struct cli *cli, const struct cli_words *words, int *code)
{
    *code = 0;
    if (words->globals[CLI_DB]) {
        cli->db_path = words->globals[CLI_DB];
        cli->db_is_default = false;
        cli->db_is_given = true;
    }
    if (words->globals[CLI_QUIET])
        cli->quiet = true;
    if (cli->db_path[0] == '\0') {
        *code = cli_usage(cli, "--db needs the name of a file");
        return true;
    }
    if (words->globals[CLI_HELP] && cli->command)
        cli_print_command_help(cli, cli->command);
    else if (words->globals[CLI_HELP])
        cli_print_help(cli);
    else if (words->globals[CLI_VERSION])
        printf("vbslab %s\n", cli_build);
    else
        return false;
    return true;
}

static int count_options(const struct cli_command *command)
{
    int n = 0;

    while (command->options[n].name)
        n++;
    return n;
}

static int count_words(char **argv)
{
    int n = 0;

    while (argv[n])
        n++;
    return n;
}

/* Puts the precision of --precision behind the models among the arguments. The words are kept until
 * the command has run. */
static enum vbs_status add_precision(struct cli *cli, struct cli_words *words, char ***kept)
{
    const char *precision = cli_value(cli, words->values, "precision");
    enum vbs_precision parsed, own;

    *kept = NULL;
    if (!precision)
        return VBS_OK;
    VBS_TRY(vbs_precision_parse(&cli->ctx, precision, &parsed));
    *kept = calloc((size_t)words->n_arguments + 1, sizeof **kept);
    if (!*kept)
        return vbs_no_memory(&cli->ctx);
    for (int i = 0, n = 0; i < words->n_arguments; i++) {
        const char *word = words->arguments[i];

        if (!cli_is_model(word))
            continue;
        if (vbs_model_word_length(word, &own) != strlen(word))
            return vbs_fail(&cli->ctx, VBS_USAGE, "'%.100s' has a precision and so has --precision",
                            word);
        if (asprintf(&(*kept)[n], "%s:%s", word, precision) < 0) {
            (*kept)[n] = NULL;
            return vbs_no_memory(&cli->ctx);
        }
        words->arguments[i] = (*kept)[n++];
    }
    return VBS_OK;
}

/* Runs the command on words that are read. */
static int run_words(struct cli *cli, struct cli_words *words)
{
    const struct cli_words *before = cli->words;
    struct cli_choices choices = cli->choices;
    char **kept;
    enum vbs_status status = add_precision(cli, words, &kept);
    int code;

    cli->words = words;
    cli->choices = (struct cli_choices){.n = 0};
    if (status == VBS_OK)
        status = cli_read_choices(cli);
    code = status == VBS_OK
               ? cli->command->run(cli, words->values, words->n_arguments, words->arguments)
               : cli_end(cli, status);
    cli_forget_network(cli);
    cli_choices_clear(&cli->choices);
    cli->choices = choices;
    cli->words = before;
    for (int i = 0; kept && kept[i]; i++)
        free(kept[i]);
    free(kept);
    return code;
}

static int run_command(struct cli *cli, char **argv, int next, struct cli_words *words)
{
    int code;

    words->values = calloc((size_t)count_options(cli->command) + 1, sizeof *words->values);
    words->given = calloc((size_t)count_words(argv) + 1, sizeof *words->given);
    words->arguments = calloc((size_t)count_words(argv) + 1, sizeof *words->arguments);
    if (!words->values || !words->given || !words->arguments) {
        code = cli_fail(cli, VBS_NO_MEMORY);
    } else {
        code = cli_words_read(cli, argv, &next, words);
        if (code == 0 && !obey_globals(cli, words, &code))
            code = run_words(cli, words);
    }
    free(words->values);
    free(words->given);
    free(words->arguments);
    return code;
}

int cli_run_words(struct cli *cli, char **argv)
{
    const struct cli_command *before = cli->command;
    struct cli_words words = {0};
    int next = 0, code;

    cli->command = NULL;
    code = cli_words_read(cli, argv, &next, &words);
    if (code == 0 && !obey_globals(cli, &words, &code)) {
        if (!argv[next]) {
            code = cli_usage(cli, "no command; usage: vbslab [--db FILE] [--quiet] COMMAND "
                                  "[ARGUMENTS]");
        } else {
            cli->command = cli_find_command(cli, argv[next]);
            code = cli->command ? run_command(cli, argv, next + 1, &words)
                                : cli_unknown_command(cli, argv[next]);
        }
    }
    if (!before && vbs_leftover(&cli->ctx))
        cli_warn(cli, "%s", vbs_leftover(&cli->ctx));
    cli->command = before;
    return code;
}
