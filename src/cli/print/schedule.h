/* A schedule as text for people, and the profile from which it was planned. */
#ifndef VBS_CLI_PRINT_SCHEDULE_H
#define VBS_CLI_PRINT_SCHEDULE_H

#include "cli/common/common.h"

/* Prints to standard output the prediction of a schedule, the provenance of its times, and its
 * steps by layer. */
enum vbs_status cli_print_schedule(struct cli *cli, const struct vbs_profile *profile,
                                   const struct vbs_schedule *schedule) VBS_MUST_CHECK;

/* Warns on standard error where the schedule names another model than the profile, or was planned
 * from another profile, whose content hash and device it then names. */
void cli_warn_origin(struct cli *cli, const struct vbs_profile *profile,
                     const struct vbs_schedule *schedule);

/* Is called for a schedule that the profile refused: adds the warning of cli_warn_origin to the
 * detail of the failure. Returns status. */
enum vbs_status cli_fail_origin(struct cli *cli, enum vbs_status status,
                                const struct vbs_profile *profile,
                                const struct vbs_schedule *schedule);

#endif
