/* Parses the words of the command line. */
#ifndef VBS_CLI_COMMON_WORDS_H
#define VBS_CLI_COMMON_WORDS_H

#include "cli/common/cli.h"

/* Options that every command takes, before or after its name. */
enum cli_global { CLI_DB, CLI_QUIET, CLI_HELP, CLI_VERSION, CLI_N_GLOBALS };

extern const struct cli_option cli_globals[]; /* ends with a null name */

/* An option of the command that is given. */
struct cli_given {
    int option; /* of struct cli_command's options */
    const char *value;
};

struct cli_words {
    const char *globals[CLI_N_GLOBALS]; /* in the form of values in struct cli_command's run */
    const char **values;                /* of the command's options */
    struct cli_given *given;            /* each time that one is given */
    int n_given;
    const char **arguments;
    int n_arguments;
};

/*
 * Reads argv from *next on. Without cli->command only options of all commands are known, and
 * reading ends at the first other word; with it, values must have room for its options,
 * given and arguments for every word, and reading ends at the end. Returns 0, or, after printing
 * the error, the exit code.
 */
int cli_words_read(struct cli *cli, char **argv, int *next, struct cli_words *words);

#endif
