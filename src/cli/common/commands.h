/* Running a command by its words: the program's own, or one that another command names. */
#ifndef VBS_CLI_COMMON_COMMANDS_H
#define VBS_CLI_COMMON_COMMANDS_H

#include "cli/common/cli.h"

/* Gives the command of this name among cli->commands, or null. */
const struct cli_command *cli_find_command(const struct cli *cli, const char *name);

/* Prints "unknown command", with the nearest name, and returns the exit code. */
int cli_unknown_command(struct cli *cli, const char *name);

/* Runs the command line words[0..], which ends with null: options of every command, then a command
 * with its own options and arguments. Returns the exit code. */
int cli_run_words(struct cli *cli, char **words);

#endif
