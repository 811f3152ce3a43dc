/* Weights and their copies in lines of text. */
#ifndef VBS_CLI_PRINT_WEIGHTS_H
#define VBS_CLI_PRINT_WEIGHTS_H

#include "cli/common/common.h"

/* Gives the bytes of the weights that the steps of a schedule are computed from: of each layer the
 * plain weights where a step takes dense ones, and each form of coded weights that a step takes. */
enum vbs_status cli_used_weights(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                 const struct vbs_schedule *schedule,
                                 int64_t *weight_bytes) VBS_MUST_CHECK;

/* Prints the line that tells the size of weights outside the budget, which goes from least_bytes to
 * most_bytes; nothing where there are none, or they are inside. indent: the text before it. */
void cli_print_outside(enum vbs_weights weights, int64_t least_bytes, int64_t most_bytes,
                       const char *indent);

/* Prints "9.1 GiB/s", the bytes that a link copies in a second, without its latency. */
void cli_print_rate(const struct vbs_link *copy);

/* Prints ", copies at 9.1 GiB/s from page-cache", the part of a line that tells of copies. */
void cli_print_link(const struct vbs_link *copy);

#endif
