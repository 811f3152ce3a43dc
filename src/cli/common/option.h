/* Values of a command's options, by their names. */
#ifndef VBS_CLI_COMMON_OPTION_H
#define VBS_CLI_COMMON_OPTION_H

#include "cli/common/cli.h"

/* Read the value of an option: a whole number within low..high, a number from 0 on, one of some
 * words. What they write stays as it is where the option is not given. VBS_USAGE names the option.
 */
enum vbs_status cli_read_whole(struct cli *cli, const char *const *values, const char *option,
                               int64_t low, int64_t high, int64_t *number) VBS_MUST_CHECK;
enum vbs_status cli_read_from_0(struct cli *cli, const char *const *values, const char *option,
                                double *number) VBS_MUST_CHECK;
/* A number of seconds above 0. */
enum vbs_status cli_read_seconds(struct cli *cli, const char *const *values, const char *option,
                                 double *seconds) VBS_MUST_CHECK;
enum vbs_status cli_read_word(struct cli *cli, const char *const *values, const char *option,
                              const char *const *words, int n_words, int *index) VBS_MUST_CHECK;

/* Checks that there is one argument, a model, and at most one of the options --json, --csv and
 * --toml. VBS_USAGE was printed where the result is not 0: it is the exit code. */
int cli_check_model(struct cli *cli, const char *const *values, int n_arguments);

#endif
