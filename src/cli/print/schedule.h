/* A schedule as people read it, and the profile that it was planned from. */
#ifndef VBS_CLI_PRINT_SCHEDULE_H
#define VBS_CLI_PRINT_SCHEDULE_H

#include "cli/common/common.h"

/* Prints what a schedule predicts, where its times come from and what it does with each layer, to
 * standard output. */
enum vbs_status cli_print_schedule(struct cli *cli, const struct vbs_profile *profile,
                                   const struct vbs_schedule *schedule) VBS_MUST_CHECK;

/* Warns on standard error where the schedule names another model than the profile, or was planned
 * from another profile, whose content hash and device it then says. */
void cli_warn_origin(struct cli *cli, const struct vbs_profile *profile,
                     const struct vbs_schedule *schedule);

/* Of a schedule that the profile refused: adds to the detail of that failure what cli_warn_origin
 * would warn of. Returns status. */
enum vbs_status cli_fail_origin(struct cli *cli, enum vbs_status status,
                                const struct vbs_profile *profile,
                                const struct vbs_schedule *schedule);

#endif
