#include "cli/common/help.h"

#include "cli/common/words.h"

#include <stdio.h>
#include <string.h>

#define COLUMNS  80 /* where standard output is no terminal, or a wider one */
#define MAX_LEFT 26

static void pad(int from, int to)
{
    if (from < to)
        printf("%*s", to - from, "");
}

/* The layout of words in lines. */
struct flow {
    int columns;
    int indent;       /* indent of a line that begins with the text */
    int hang;         /* indent of a continued line */
    const char *tail; /* end of a line that continues in the next */
};

/* Prints text from column at on, and ends the line. */
static void print_flow(const char *text, int at, const struct flow *flow)
{
    int tail = (int)strlen(flow->tail);
    bool first = true; /* of its line */

    while (*text) {
        int length = (int)strcspn(text, " \n");

        if (!first && at + 1 + length + tail > flow->columns) {
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

static int columns_of(const struct cli *cli)
{
    return cli->columns > 0 && cli->columns < COLUMNS ? cli->columns : COLUMNS;
}

static void print_wrapped(const struct cli *cli, const char *text, int at, int indent)
{
    print_flow(
        text, at,
        &(struct flow){.columns = columns_of(cli), .indent = indent, .hang = indent, .tail = ""});
}

#define ENTRY_LEFT 15

void cli_print_entry(const struct cli *cli, const char *word, const char *text)
{
    pad(printf("  %s", word), ENTRY_LEFT);
    print_wrapped(cli, text, ENTRY_LEFT, ENTRY_LEFT);
}

/* Prints the help of an option, with the names of the planners where it contains CLI_PLANNERS. */
static void print_help(const struct cli *cli, const char *help, int left)
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
    print_wrapped(cli, text, left, left);
}

/* Writes " --name, -n VALUE"; command may be null. Gives its length. */
static int option_text(const struct cli_command *command, const struct cli_option *option,
                       char *text, size_t size)
{
    const struct cli_letter *letter = command ? command->letters : NULL;
    char behind[8] = "";

    for (; letter && letter->name; letter++)
        if (strcmp(letter->name, option->name) == 0)
            snprintf(behind, sizeof behind, ", -%c", letter->letter);
    return snprintf(text, size, "  --%s%s%s%s", option->name, behind, option->value ? " " : "",
                    option->value ? option->value : "");
}

/* Prints an option with its help beside it, or below it where it is too long. */
static void print_option(const struct cli *cli, const struct cli_command *command,
                         const struct cli_option *option, int left)
{
    char text[80];
    int at = option_text(command, option, text, sizeof text);

    fputs(text, stdout);
    if (at + 2 > left) {
        putchar('\n');
        at = 0;
    }
    pad(at, left);
    print_help(cli, option->help, left);
}

static void print_argument(const struct cli *cli, const struct cli_argument *argument, int left)
{
    pad(printf("  %s", argument->word), left);
    print_wrapped(cli, argument->help, left, left);
}

/* Gives the column where help begins, common to all tables: the options, and those of the command,
 * or the commands. */
static int help_column(const struct cli *cli, const struct cli_command *command)
{
    const struct cli_option *tables[] = {command ? command->options : cli_globals, cli_globals};
    int left = 0;

    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++)
        for (const struct cli_option *o = tables[t]; o->name; o++) {
            char text[80];
            int width = option_text(command, o, text, sizeof text);

            if (width > left && width + 2 <= MAX_LEFT)
                left = width;
        }
    for (const struct cli_argument *a = command ? command->arguments : NULL; a && a->word; a++)
        if (2 + (int)strlen(a->word) > left)
            left = 2 + (int)strlen(a->word);
    for (int i = 0; !command && cli->commands[i]; i++)
        if (2 + (int)strlen(cli->commands[i]->name) > left)
            left = 2 + (int)strlen(cli->commands[i]->name);
    return left + 2;
}

/* A long line continues after a backslash, as a shell accepts it. */
static void print_example(const struct cli *cli, const char *example)
{
    fputs("\nexample:\n  ", stdout);
    print_flow(example, 2,
               &(struct flow){.columns = columns_of(cli), .indent = 2, .hang = 6, .tail = " \\"});
}

static const struct cli_argument EXIT_CODES[] = {
    {"0", "done"},
    {"1", "failed: a file, the store, a library"},
    {"2", "wrong usage"},
    {"3", "no schedule fits, or a schedule breaks its budget"},
    {"130", "interrupted: 128 and the number of the signal"},
};

void cli_print_help(const struct cli *cli)
{
    int left = help_column(cli, NULL);

    fputs("usage: vbslab [--db FILE] [--quiet] COMMAND [ARGUMENTS]\n\n", stdout);
    print_wrapped(cli,
                  "Runs convolutional networks inside a memory budget: measures layers, plans a "
                  "batch size for each, judges the plans and compares them.",
                  0, 0);
    fputs("\ncommands:\n", stdout);
    for (int i = 0; cli->commands[i]; i++) {
        pad(printf("  %s", cli->commands[i]->name), left);
        print_wrapped(cli, cli->commands[i]->summary, left, left);
    }
    fputs("\noptions:\n", stdout);
    for (const struct cli_option *option = cli_globals; option->name; option++)
        print_option(cli, NULL, option, left);
    fputs("\nexit codes:\n", stdout);
    for (size_t i = 0; i < sizeof EXIT_CODES / sizeof EXIT_CODES[0]; i++)
        print_argument(cli, &EXIT_CODES[i], left);
    fputs("\n'vbslab help COMMAND' describes a command.\n", stdout);
    print_example(cli, "vbslab measure googlenet && vbslab compare googlenet --baselines all");
}

void cli_print_command_help(const struct cli *cli, const struct cli_command *command)
{
    int left = help_column(cli, command);
    int at = printf("usage: vbslab %s", command->name);

    if (command->usage[0]) {
        at += printf(" ");
        print_wrapped(cli, command->usage, at, at);
    } else {
        putchar('\n');
    }
    putchar('\n');
    print_wrapped(cli, command->summary, 0, 0);
    if (command->arguments)
        fputs("\narguments:\n", stdout);
    for (const struct cli_argument *a = command->arguments; a && a->word; a++)
        print_argument(cli, a, left);
    if (command->options[0].name)
        fputs("\noptions:\n", stdout);
    for (const struct cli_option *option = command->options; option->name; option++)
        print_option(cli, command, option, left);
    fputs("\noptions of every command:\n", stdout);
    for (const struct cli_option *option = cli_globals; option->name; option++)
        print_option(cli, command, option, left);
    if (command->example)
        print_example(cli, command->example);
}
