/* The help that describes commands, to standard output, in lines as wide as the terminal. */
#ifndef VBS_CLI_COMMON_HELP_H
#define VBS_CLI_COMMON_HELP_H

#include "cli/common/cli.h"

/* Print `vbslab --help`, and `vbslab COMMAND --help`. */
void cli_print_help(const struct cli *cli);
void cli_print_command_help(const struct cli *cli, const struct cli_command *command);

/* Prints "  word  text". */
void cli_print_entry(const struct cli *cli, const char *word, const char *text);

#endif
