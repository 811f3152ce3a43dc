/* What the commands that solve share: the options of solvers, and infeasible answers in a line. */
#ifndef VBS_CLI_SOLVING_H
#define VBS_CLI_SOLVING_H

#include "cli/cli.h"

/* An option of several commands, for an initializer. */
#define CLI_OPTION_TIME_LIMIT                                                                      \
    "time-limit", "SECONDS",                                                                       \
        "planner optimal: end the search of a budget after this time with the best schedule so "   \
        "far and its proven gap (default 60)"

#define CLI_OPTION_TABLE                                                                           \
    "table", "STEP",                                                                               \
        "planner dp-vbs: Algorithm 1 of VBS as printed, in a table whose memory goes in steps of " \
        "STEP (a SIZE), for teaching; without it to the byte"

/* The options of solvers that the command knows into *options, which is {0}; VBS_USAGE, also where
 * planner has no use for one. */
enum vbs_status cli_read_solver_options(struct cli *cli, const char *const *values,
                                        const struct vbs_planner *planner,
                                        struct vbs_solver_options *options) VBS_MUST_CHECK;

/* planner, at work as solver on problem, had no plan for memory_bytes, or no frontier (any number):
 * says why, what binds and what would help. Returns VBS_INFEASIBLE, or what went wrong on the way.
 */
enum vbs_status cli_explain(struct cli *cli, const struct vbs_planner *planner,
                            const struct vbs_problem *problem, struct vbs_solver *solver,
                            int64_t memory_bytes) VBS_MUST_CHECK;

#endif
