/* Weights and their copies in lines of text. */
#ifndef VBS_CLI_PRINT_WEIGHTS_H
#define VBS_CLI_PRINT_WEIGHTS_H

#include "cli/common/common.h"

/* Prints the line that tells the size of weights outside the budget, as vbs_exec_used_weights
 * computes it; nothing where there are none, or they are inside. indent: the text before it. */
void cli_print_held(enum vbs_weights weights, int64_t bytes, const char *indent);

/* Prints the same line for plans that are not known, in which weights take from least_bytes (coded)
 * to most_bytes (plain), and dense ones more where an algorithm packs them to more. */
void cli_print_outside(enum vbs_weights weights, int64_t least_bytes, int64_t most_bytes,
                       const char *indent);

/* Prints "9.1 GiB/s", the bytes that a link copies in a second, without its latency. */
void cli_print_rate(const struct vbs_link *copy);

/* Prints ", copies at 9.1 GiB/s from page-cache", the part of a line that tells of copies. */
void cli_print_link(const struct vbs_link *copy);

#endif
