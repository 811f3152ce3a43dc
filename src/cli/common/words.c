#include "cli/common/words.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

static const struct cli_option GLOBALS[CLI_N_GLOBALS + 1] = {
    [CLI_DB] = {"db", "FILE", "the store (default: $VBSLAB_DB, else db/vbslab.sqlite)"},
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

/* Index of the option that word[0..length) names, or -1. */
static int find_option(const struct cli_option *options, const char *word, size_t length)
{
    for (int i = 0; options[i].name; i++)
        if (strlen(options[i].name) == length && strncmp(options[i].name, word, length) == 0)
            return i;
    return -1;
}

static int unknown_option(struct cli *cli, const char *word)
{
    const struct cli_option *tables[] = {GLOBALS, cli->command ? cli->command->options : NULL};
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

/* Takes the option at argv[*next], which begins with "-", and its value. */
static int read_option(struct cli *cli, char **argv, int *next, struct cli_words *words)
{
    const char *word = argv[(*next)++];
    const char *name = word + 2, *equals = strchr(word, '=');
    const struct cli_option *option;
    const char **value;
    size_t length;
    int i = -1;

    if (strcmp(word, "-h") == 0) {
        words->globals[CLI_HELP] = "";
        return 0;
    }
    if (word[1] != '-')
        return unknown_option(cli, word);
    length = strcspn(name, "=");
    if (cli->command && (i = find_option(cli->command->options, name, length)) >= 0) {
        option = &cli->command->options[i];
        value = &words->values[i];
    } else if ((i = find_option(GLOBALS, name, length)) >= 0) {
        option = &GLOBALS[i];
        value = &words->globals[i];
    } else {
        return unknown_option(cli, word);
    }
    if (!option->value && equals)
        return cli_usage(cli, "--%s takes no value", option->name);
    if (option->value && !equals && (!argv[*next] || strncmp(argv[*next], "--", 2) == 0))
        return cli_usage(cli, "--%s needs a value: --%s %s", option->name, option->name,
                         option->value);
    *value = !option->value ? "" : equals ? equals + 1 : argv[(*next)++];
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

/* ---- Help ---- */

#define COLUMNS  80
#define MAX_LEFT 26

static void pad(int from, int to)
{
    if (from < to)
        printf("%*s", to - from, "");
}

/* How words flow into lines of COLUMNS. */
struct flow {
    int indent;       /* of a line that the text itself begins */
    int hang;         /* of a line that goes on */
    const char *tail; /* at the end of a line that goes on in the next */
};

/* Prints text from column at on; ends the line. */
static void print_flow(const char *text, int at, const struct flow *flow)
{
    int tail = (int)strlen(flow->tail);
    bool first = true; /* of its line */

    while (*text) {
        int length = (int)strcspn(text, " \n");

        if (!first && at + 1 + length + tail > COLUMNS) {
            printf("%s\n%*s", flow->tail, flow->hang, "");
            at = flow->hang;
            first = true;
        }
        at += printf("%s%.*s", first ? "" : " ", length, text);
        first = false;
        text += length;
        if (*text == '\n') {
            printf("\n%*s", flow->indent, "");
            at = flow->indent;
            first = true;
        }
        text += *text != '\0';
    }
    putchar('\n');
}

static void print_wrapped(const char *text, int at, int indent)
{
    print_flow(text, at, &(struct flow){.indent = indent, .hang = indent, .tail = ""});
}

/* Help of an option, with the names of the planners where it asks for them. */
static void print_help(const char *help, int left)
{
    const char *mark = strstr(help, CLI_PLANNERS);
    int length = mark ? (int)(mark - help) : (int)strlen(help);
    const struct vbs_planner *planner;
    char text[400];
    int at = snprintf(text, sizeof text, "%.*s", length, help);

    for (int i = 0; mark && (planner = vbs_planner_at(i)) && at < (int)sizeof text; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%s%s", i ? ", " : "",
                       vbs_planner_name(planner));
    if (mark && at < (int)sizeof text)
        snprintf(text + at, sizeof text - (size_t)at, "%s", mark + strlen(CLI_PLANNERS));
    print_wrapped(text, left, left);
}

/* "  --name VALUE" and its help beside it, or below where it is too long for that. */
static void print_option(const struct cli_option *option, int left)
{
    int at = printf("  --%s%s%s", option->name, option->value ? " " : "",
                    option->value ? option->value : "");

    if (at + 2 > left) {
        putchar('\n');
        at = 0;
    }
    pad(at, left);
    print_help(option->help, left);
}

static void print_argument(const struct cli_argument *argument, int left)
{
    pad(printf("  %s", argument->word), left);
    print_wrapped(argument->help, left, left);
}

static int option_width(const struct cli_option *option)
{
    return 4 + (int)strlen(option->name) + (option->value ? 1 + (int)strlen(option->value) : 0);
}

/* The column where help begins, common to both tables. */
static int help_column(const struct cli_option *own, const struct cli_argument *arguments)
{
    const struct cli_option *tables[] = {own, GLOBALS};
    int left = 0;

    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++)
        for (const struct cli_option *o = tables[t]; o->name; o++)
            if (option_width(o) > left && option_width(o) + 2 <= MAX_LEFT)
                left = option_width(o);
    for (const struct cli_argument *a = arguments; a && a->word; a++)
        if (2 + (int)strlen(a->word) > left)
            left = 2 + (int)strlen(a->word);
    return left + 2;
}

/* A line that is too long goes on after a backslash, as a shell takes it. */
static void print_example(const char *example)
{
    fputs("\nexample:\n  ", stdout);
    print_flow(example, 2, &(struct flow){.indent = 2, .hang = 6, .tail = " \\"});
}

static const struct cli_argument EXIT_CODES[] = {
    {"0", "done"},
    {"1", "failed: a file, the store, a library"},
    {"2", "wrong usage"},
    {"3", "no schedule fits, or a schedule breaks its budget"},
};

void cli_print_help(const struct cli_command *const *commands)
{
    int left = help_column(GLOBALS, NULL);

    fputs("usage: vbslab [--db FILE] [--quiet] COMMAND [ARGUMENTS]\n\n", stdout);
    print_wrapped("Runs convolutional networks inside a memory budget: measures layers, plans a "
                  "batch size for each, judges the plans and compares them.",
                  0, 0);
    fputs("\ncommands:\n", stdout);
    for (int i = 0; commands[i]; i++) {
        pad(printf("  %s", commands[i]->name), left);
        print_wrapped(commands[i]->summary, left, left);
    }
    fputs("\noptions:\n", stdout);
    for (const struct cli_option *option = GLOBALS; option->name; option++)
        print_option(option, left);
    fputs("\nexit codes:\n", stdout);
    for (size_t i = 0; i < sizeof EXIT_CODES / sizeof EXIT_CODES[0]; i++)
        print_argument(&EXIT_CODES[i], left);
    fputs("\n'vbslab COMMAND --help' describes a command.\n", stdout);
    print_example("vbslab measure googlenet && vbslab compare googlenet --baselines all");
}

void cli_print_command_help(const struct cli_command *command)
{
    int left = help_column(command->options, command->arguments);
    int at = printf("usage: vbslab %s ", command->name);

    print_wrapped(command->usage, at, at);
    putchar('\n');
    print_wrapped(command->summary, 0, 0);
    if (command->arguments)
        fputs("\narguments:\n", stdout);
    for (const struct cli_argument *a = command->arguments; a && a->word; a++)
        print_argument(a, left);
    if (command->options[0].name)
        fputs("\noptions:\n", stdout);
    for (const struct cli_option *option = command->options; option->name; option++)
        print_option(option, left);
    fputs("\noptions of every command:\n", stdout);
    for (const struct cli_option *option = GLOBALS; option->name; option++)
        print_option(option, left);
    if (command->example)
        print_example(command->example);
}
