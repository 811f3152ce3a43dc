#include "cli/common/words.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

const struct cli_option cli_globals[CLI_N_GLOBALS + 1] = {
    [CLI_DB] = {"db", "FILE",
                "the store (default: $VBSLAB_DB; else db/vbslab.sqlite where there is a folder db; "
                "else vbslab/vbslab.sqlite in $XDG_DATA_HOME or ~/.local/share)"},
    [CLI_QUIET] = {"quiet", NULL, "no progress, no notes, no warnings; errors only"},
    [CLI_HELP] = {"help", NULL, "print this text"},
    [CLI_VERSION] = {"version", NULL, "print the version"},
};

const struct cli_argument cli_profile_help[] = {
    {CLI_ARGUMENT_PROFILE},
    {CLI_ARGUMENT_SIZE},
    {0},
};

#define MAX_OPTIONS 64

/* ---- Reading ---- */

/* Gives the index of the option that word[0..length) names, or -1. */
static int find_option(const struct cli_option *options, const char *word, size_t length)
{
    for (int i = 0; options[i].name; i++)
        if (strlen(options[i].name) == length && strncmp(options[i].name, word, length) == 0)
            return i;
    return -1;
}

/* Gives the index of the command's option, also by its earlier name, or -1. */
static int find_own(const struct cli_command *command, const char *word, size_t length)
{
    const struct cli_old_name *names = command->old_names;

    for (int i = 0; names && names[i].name; i++)
        if (strlen(names[i].old) == length && strncmp(names[i].old, word, length) == 0)
            return find_option(command->options, names[i].name, strlen(names[i].name));
    return find_option(command->options, word, length);
}

static int unknown_option(struct cli *cli, const char *word)
{
    const struct cli_option *tables[] = {cli_globals, cli->command ? cli->command->options : NULL};
    const char *names[MAX_OPTIONS], *nearest;
    int n = 0, length = (int)strcspn(word, "=");
    char name[64];

    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++)
        for (const struct cli_option *o = tables[t]; o && o->name && n < MAX_OPTIONS; o++)
            names[n++] = o->name;
    snprintf(name, sizeof name, "%.*s", length, word);
    nearest = vbs_nearest_name(name + strspn(name, "-"), names, n);
    if (nearest)
        return cli_usage(cli, "unknown option '%.*s'; did you mean '--%s'?", length, word, nearest);
    return cli_usage(cli, "unknown option '%.*s'", length, word);
}

/* Keeps the value of an option of the command. */
static void give(struct cli_words *words, int option, const char *value)
{
    words->values[option] = value;
    words->given[words->n_given++] = (struct cli_given){option, value};
}

/* Reads the option at argv[*next - 1], which is a letter behind "-", and its value: "-o VALUE" or
 * "-oVALUE". */
static int read_letter(struct cli *cli, char **argv, int *next, struct cli_words *words)
{
    const char *word = argv[*next - 1];
    const struct cli_letter *letters = cli->command ? cli->command->letters : NULL;
    int i = -1;

    for (int n = 0; letters && letters[n].name && i < 0; n++)
        if (letters[n].letter == word[1])
            i = find_own(cli->command, letters[n].name, strlen(letters[n].name));
    if (i < 0)
        return unknown_option(cli, word);
    if (!word[2] && (!argv[*next] || strncmp(argv[*next], "--", 2) == 0))
        return cli_usage(cli, "-%c needs a value: -%c %s", word[1], word[1],
                         cli->command->options[i].value);
    give(words, i, word[2] ? word + 2 : argv[(*next)++]);
    return 0;
}

/* Reads the option at argv[*next], which begins with "-", and its value. */
static int read_option(struct cli *cli, char **argv, int *next, struct cli_words *words)
{
    const char *word = argv[(*next)++];
    const char *name = word + 2, *equals = strchr(word, '=');
    const struct cli_option *option;
    const char *value;
    size_t length;
    int own = -1, i = -1;

    if (strcmp(word, "-h") == 0) {
        words->globals[CLI_HELP] = "";
        return 0;
    }
    if (word[1] != '-')
        return read_letter(cli, argv, next, words);
    length = strcspn(name, "=");
    if (cli->command && (own = find_own(cli->command, name, length)) >= 0)
        option = &cli->command->options[own];
    else if ((i = find_option(cli_globals, name, length)) >= 0)
        option = &cli_globals[i];
    else
        return unknown_option(cli, word);
    if (!option->value && equals)
        return cli_usage(cli, "--%s takes no value", option->name);
    if (option->value && !equals && (!argv[*next] || strncmp(argv[*next], "--", 2) == 0))
        return cli_usage(cli, "--%s needs a value: --%s %s", option->name, option->name,
                         option->value);
    value = !option->value ? "" : equals ? equals + 1 : argv[(*next)++];
    if (own >= 0)
        give(words, own, value);
    else
        words->globals[i] = value;
    return 0;
}

int cli_words_read(struct cli *cli, char **argv, int *next, struct cli_words *words)
{
    bool options_end = false;

    while (argv[*next]) {
        const char *word = argv[*next];
        int code;

        if (!options_end && word[0] == '-' && word[1] != '\0') {
            options_end = strcmp(word, "--") == 0;
            *next += options_end;
            code = options_end ? 0 : read_option(cli, argv, next, words);
            if (code != 0)
                return code;
        } else if (!cli->command) {
            return 0;
        } else {
            words->arguments[words->n_arguments++] = word;
            (*next)++;
        }
    }
    return 0;
}
