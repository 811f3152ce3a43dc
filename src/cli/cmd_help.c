#include "cli/common/common.h"

#include <string.h>

/* Says what a word is that is no command, and what helps. */
static int refuse(struct cli *cli, const char *word)
{
    const struct vbs_planner *planner;

    cli->command = NULL; /* the list of commands helps, not the help of this one */
    for (int i = 0; (planner = vbs_planner_at(i)); i++)
        if (strcmp(vbs_planner_name(planner), word) == 0)
            return cli_usage(cli, "'%s' is a planner, no command; 'vbslab planners' describes it",
                             word);
    return cli_unknown_command(cli, word);
}

static int run_help(struct cli *cli, const char *const *values, int n_arguments,
                    const char *const *arguments)
{
    const struct cli_command *about;

    (void)values;
    if (n_arguments > 1)
        return cli_usage(cli, "takes one COMMAND at most, got %d", n_arguments);
    if (n_arguments == 0) {
        cli_print_help(cli);
        return cli_finish(cli);
    }
    about = cli_find_command(cli, arguments[0]);
    if (!about)
        return refuse(cli, arguments[0]);
    cli_print_command_help(cli, about);
    return cli_finish(cli);
}

static const struct cli_option OPTIONS[] = {{0}};

const struct cli_command cli_help = {
    .name = "help",
    .summary = "the commands, or the options of one",
    .usage = "[COMMAND]",
    .options = OPTIONS,
    .example = "vbslab help compare",
    .run = run_help,
};
