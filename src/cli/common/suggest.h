/* Commands that messages suggest. */
#ifndef VBS_CLI_COMMON_SUGGEST_H
#define VBS_CLI_COMMON_SUGGEST_H

#include "cli/common/cli.h"

/* A command that works when it is typed. */
struct cli_suggestion {
    char text[200];
};

/* Writes "vbslab COMMAND SUBJECT" with the inputs and ends of the network that options or files of
 * the command that runs have chosen, with --model where model is not null, and with --db where it
 * is given. Returns its text, "vbslab COMMAND" alone where it is too long. Words are quoted as a
 * shell needs it. */
const char *cli_suggest(const struct cli *cli, const char *command, const char *subject,
                        const char *model, struct cli_suggestion *suggestion);

#endif
