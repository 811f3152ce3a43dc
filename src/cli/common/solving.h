/* Functions that the commands that solve share: the options of solvers, and infeasible results in a
 * line. */
#ifndef VBS_CLI_COMMON_SOLVING_H
#define VBS_CLI_COMMON_SOLVING_H

#include "cli/common/cli.h"

/* Options of several commands, for an initializer. */
/* seconds: the default of joint and dp-vbs+, as a text. */
#define CLI_OPTION_TIME_LIMIT(seconds)                                                             \
    "time-limit", "SECONDS",                                                                       \
        "planners optimal (default 60), joint and dp-vbs+ (default " seconds                       \
        "): end the search for a plan after this time with the best schedule so far and its gap; " \
        "planners from outside (default 10): fail after this time"

/* The seconds after which searches end that make all plans at once. */
#define CLI_PLAN_S 60

#define CLI_OPTION_NODE_LIMIT                                                                      \
    "node-limit", "N",                                                                             \
        "planner optimal: end each search after N states instead, so that every "                  \
        "machine finds the same schedule"

#define CLI_OPTION_SEED "seed", "N", "planner optimal: where its local search begins (default 0)"

#define CLI_OPTION_TABLE                                                                           \
    "table", "STEP",                                                                               \
        "planner dp-vbs: Algorithm 1 of VBS as printed, in a table whose memory goes in steps of " \
        "STEP (a SIZE), for teaching; without it to the byte"

#define CLI_OPTION_PLANNER                                                                         \
    "planner", "P",                                                                                \
        "one of " CLI_PLANNERS ", or from outside exec:PROGRAM or so:FILE (default: dp-vbs+; "     \
        "weights included: joint)"

/* The options of weights: outside or inside the budget, and their link. */
#define CLI_OPTION_WEIGHTS                                                                         \
    "weights", "WHERE",                                                                            \
        "excluded: outside the budget; included: inside, resident or copied in slices (default "   \
        "excluded; mmcnn, vdnn and joint: included)"

#define CLI_OPTION_COPY                                                                            \
    "copy", "SOURCE",                                                                              \
        "weights included: where copies come from, a source that the profile has (default: its "   \
        "first)"

#define CLI_OPTION_COPY_RATE                                                                       \
    "copy-rate", "SIZE",                                                                           \
        "weights included: copies bring SIZE a second (5GB) in place of what was measured; 0: "    \
        "nothing can be copied"

#define CLI_OPTION_COPY_LATENCY                                                                    \
    "copy-latency", "US",                                                                          \
        "weights included: each copy takes US microseconds and its bytes, in place of what was "   \
        "measured"

/* The options of the problem that planners solve on a profile, but for the budget. */
#define CLI_OPTIONS_PROBLEM                                                                        \
    {"request", "R", "samples of the request (default 12)"},                                       \
        {"io", "WHERE", "the request's inputs and outputs: external (default) or resident"},       \
        {CLI_OPTION_WEIGHTS}, {CLI_OPTION_COPY}, {CLI_OPTION_COPY_RATE},                           \
        {CLI_OPTION_COPY_LATENCY}, {CLI_OPTION_LATENCY},                                           \
    {                                                                                              \
        "stripes", "yes|no",                                                                       \
            "whether samples may pass layers by rows, where the profile has stripes (default: "    \
            "yes)"                                                                                 \
    }

/* The options of weights as they were given. */
struct cli_weights {
    enum vbs_weights weights;
    const char *source;  /* null: the profile's first */
    double bytes_per_us; /* below 0: that of the source */
    double latency_us;   /* below 0: that of the source */
};

/* Reads those of these options that the command has; planner (null: several) determines the
 * default. VBS_USAGE: malformed, or options of copies without weights included. */
enum vbs_status cli_read_weights(struct cli *cli, const char *const *values,
                                 const struct vbs_planner *planner,
                                 struct cli_weights *weights) VBS_MUST_CHECK;

/* Reads only the options of copies, for a command whose weights are those of a schedule. */
enum vbs_status cli_read_copy(struct cli *cli, const char *const *values,
                              struct cli_weights *weights) VBS_MUST_CHECK;

/* Gives the requested link of a profile, from which it borrows; {0} with weights excluded.
 * VBS_USAGE: the profile has no such source, or none at all. */
enum vbs_status cli_find_link(struct cli *cli, const struct cli_weights *weights,
                              const struct vbs_profile *profile,
                              struct vbs_link *link) VBS_MUST_CHECK;

/* Sets the weights and the link of a problem that has its profile. */
enum vbs_status cli_set_weights(struct cli *cli, const struct cli_weights *weights,
                                struct vbs_problem *problem) VBS_MUST_CHECK;

/* Finds a planner by its name, or loads one from outside; it stays valid until cli_unload.
 * Errors as vbs_planner_load. */
enum vbs_status cli_find_planner(struct cli *cli, const char *name,
                                 const struct vbs_planner **planner) VBS_MUST_CHECK;

/* Gives all planners back that cli_find_planner loaded, at the end of the program. */
void cli_unload(struct cli *cli);

/* A planner, and the problem that it solves. */
struct cli_task {
    const struct vbs_planner *planner;
    struct cli_weights weights;
    struct vbs_problem problem;
};

/* Reads a task from the options, without a profile. The planner is that of --planner, or the
 * default: joint with --weights included, else dp-vbs+; mmcnn where the command has a switch --rows
 * that is given. VBS_USAGE, VBS_NOT_FOUND. */
enum vbs_status cli_read_task(struct cli *cli, const char *const *values,
                              struct cli_task *task) VBS_MUST_CHECK;

/* Completes a task with a profile, which it borrows. VBS_USAGE: the profile has no such copies. */
enum vbs_status cli_set_profile(struct cli *cli, const struct vbs_profile *profile,
                                struct cli_task *task) VBS_MUST_CHECK;

/* Reads the task, then the profile that word names, as cli_load_profile, and completes the task
 * with it. The caller frees *profile, also where this fails; it is null before. */
enum vbs_status cli_load_task(struct cli *cli, const char *const *values, const char *word,
                              struct cli_task *task, struct vbs_profile **profile,
                              int64_t *id) VBS_MUST_CHECK;

/* Reads the options of solvers that the command has into *options, which is {0}; VBS_USAGE, also
 * where planner does not use one. */
enum vbs_status cli_read_solver_options(struct cli *cli, const char *const *values,
                                        const struct vbs_planner *planner,
                                        struct vbs_solver_options *options) VBS_MUST_CHECK;

/* Limits the time of a planner that makes its plans for all budgets at once (joint, dp-vbs+), where
 * no option has set another limit, and tells it the budgets that it will get, the largest first,
 * where there are any; options borrow them. Does nothing for other planners. */
void cli_limit_time(const struct vbs_planner *planner, double limit_s, const int64_t *budgets,
                    int n_budgets, struct vbs_solver_options *options);

/* Explains why planner, as solver on problem, had no plan for memory_bytes, or no frontier (any
 * number); the detail is its refusal. Prints the reason, the step that binds, and remedies. Returns
 * VBS_INFEASIBLE, or the status of another failure. */
enum vbs_status cli_explain(struct cli *cli, const struct vbs_planner *planner,
                            const struct vbs_problem *problem, struct vbs_solver *solver,
                            int64_t memory_bytes) VBS_MUST_CHECK;

/* Tells by how much a plan exceeds its budget once its buffers are placed; nothing where it does
 * not, or where it is too large to be placed. */
enum vbs_status cli_note_placed(struct cli *cli, const struct vbs_profile *profile,
                                const struct vbs_schedule *schedule) VBS_MUST_CHECK;

/* Tells the same of the plan of the least budget. */
enum vbs_status cli_note_least(struct cli *cli, const struct vbs_problem *problem,
                               struct vbs_solver *solver) VBS_MUST_CHECK;

#endif
