/* Functions that the commands share which compare planners: the options of a comparison, and its
 * profiles. */
#ifndef VBS_CLI_COMMON_COMPARING_H
#define VBS_CLI_COMMON_COMPARING_H

#include "cli/common/cli.h"
#include "cli/common/solving.h"

/* Options of several commands, for an initializer. */
#define CLI_OPTION_BASELINES                                                                       \
    "baselines", "LIST",                                                                           \
        "baselines to show: all (default; weights included: fbs, fbs-best, mmcnn, vdnn), or "      \
        "names with commas, also of those that estimate: patch, fusion, ..."

#define CLI_OPTION_PLANNERS                                                                        \
    "planners", "LIST",                                                                            \
        "other planners to show: all (default; weights included: dp-vbs+ and joint), or names "    \
        "with commas"

#define CLI_OPTION_FURTHER                                                                         \
    "planner", "P",                                                                                \
        "a further planner, beside those of both lists: exec:PROGRAM or so:FILE from outside; "    \
        "several with commas"

#define CLI_OPTION_BUDGETS                                                                         \
    "memory", "RANGE",                                                                             \
        "budgets: 15MiB..40MiB:1MiB, 5MiB..1GiB:*1.25, or one (default: about 25 that matter)"

#define CLI_OPTION_JUDGE "judge", "PROFILE", "replay on this profile what was planned on the other"

/* The options of a comparison. */
struct cli_comparing {
    struct vbs_problem problem; /* without profile and link */
    struct cli_weights weights;
    const struct vbs_planner **planners; /* in the order of all planners */
    int64_t capacity;                    /* of planners */
    int n_planners;
    struct vbs_byte_range range; /* of budgets, where has_range is set */
    bool has_range;
    struct vbs_solver_options search; /* limits of planner optimal */
    struct vbs_profile *judge;        /* or null: each profile judges itself */
    int64_t judge_id;
};

/* Reads --baselines, --planners, --planner, --memory, --judge and the options of problems, weights
 * and searches into *comparing, which is {0} and which cli_comparing_clear clears, also where this
 * fails. */
enum vbs_status cli_comparing_read(struct cli *cli, const char *const *values,
                                   struct cli_comparing *comparing) VBS_MUST_CHECK;
void cli_comparing_clear(struct cli_comparing *comparing);

/* A profile that is compared. */
struct cli_compared {
    struct vbs_profile *profile;
    struct vbs_problem problem;
    struct vbs_compare_options options; /* all of them */
    int64_t profile_id, judge_id;
    struct vbs_store *store;
    struct vbs_store_samples *samples; /* of the profile that judges */
};

/* Loads the profile that word names, as cli_load_profile, and fills *one, which borrows from
 * comparing and which cli_compared_clear clears, also where this fails. */
enum vbs_status cli_compared_load(struct cli *cli, const struct cli_comparing *comparing,
                                  const char *word, struct cli_compared *one) VBS_MUST_CHECK;
/* Does the same with a profile that is loaded, and that *one owns from then on. id: in the store,
 * or 0. */
enum vbs_status cli_compared_take(struct cli *cli, const struct cli_comparing *comparing,
                                  struct vbs_profile *profile, int64_t id,
                                  struct cli_compared *one) VBS_MUST_CHECK;
void cli_compared_clear(struct cli_compared *one);

#endif
