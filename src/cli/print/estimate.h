/* An estimate as text for people: of planners that have no schedules. */
#ifndef VBS_CLI_PRINT_ESTIMATE_H
#define VBS_CLI_PRINT_ESTIMATE_H

#include "cli/common/common.h"

/* Prints to standard output bytes and time of an estimate, the provenance of its times, and its
 * parts. id: number of the profile in the store, or 0. */
enum vbs_status cli_print_estimate(struct cli *cli, const struct vbs_problem *problem,
                                   const struct vbs_planner *planner,
                                   const struct vbs_estimate *estimate, int64_t id) VBS_MUST_CHECK;

#endif
