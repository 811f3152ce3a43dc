/* A schedule as people read it. */
#ifndef VBS_CLI_COMMON_SCHEDULE_H
#define VBS_CLI_COMMON_SCHEDULE_H

#include "cli/common/cli.h"

/* Prints what a schedule predicts and what it does with each layer, to standard output. */
enum vbs_status cli_print_schedule(struct cli *cli, const struct vbs_profile *profile,
                                   const struct vbs_schedule *schedule) VBS_MUST_CHECK;

#endif
