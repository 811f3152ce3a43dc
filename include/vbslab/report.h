/*
 * vbslab/report.h - comparisons of planners, as table, JSON, CSV and plot.
 */
#ifndef VBSLAB_REPORT_H
#define VBSLAB_REPORT_H

#include "vbslab/plan.h"
#include "vbslab/units.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One planner at one budget (INTERFACE "Compare, JSON"). Where it is not feasible all numbers but
 * memory_bytes and least_bytes are 0, gap_percent too: a 0 there is no measurement, ask feasible
 * first. Times come from the replay of the schedule, not from the planner. */
struct vbs_compare_row {
    int64_t memory_bytes;
    const struct vbs_planner *planner;
    bool feasible;
    double per_sample_us;
    double samples_per_s;
    int64_t peak_bytes;
    double gain_over_fbs_percent; /* percent less time per sample; NAN where fbs is infeasible */
    double gain_over_fbs_best_percent; /* likewise */
    double gap_percent;                /* above the lower bound; 0 where that is 0 */
    int max_batch, min_batch;          /* over the steps */
    double plan_us;                    /* wall clock of the planning; a solve for all budgets is
                                          divided among them */
    int64_t least_bytes;               /* the least budget at which this planner is feasible */
};

struct vbs_compare {
    int64_t profile_id; /* 0: not from the store; vbs_compare_run leaves it to the caller */
    int64_t judge_id;   /* likewise, of the profile that judged */
    const char *model;
    int64_t request;
    enum vbs_io io;
    /* The profile planned on and the one that judged; self_judged when both hold the same rows. */
    struct vbs_circumstances circumstances, judge;
    bool self_judged;
    int n_budgets, n_planners;
    const int64_t *budgets; /* ascending */
    const double *bound_us; /* [n_budgets] lower bound of the whole request; HUGE_VAL: none */
    const struct vbs_planner *const *planners;
    const struct vbs_compare_row *rows; /* [n_budgets][n_planners] */
};

/* True of fbs, fbs-best and greedy-vbs, which VBS and COMP measure their planners against. */
bool vbs_compare_is_baseline(const struct vbs_planner *planner);

/*
 * Runs planners (null: all) over the budgets (null: those of vbs_compare_default_budgets, which
 * then share the solvers and cost little). Schedules are planned on profile and judged by replay on
 * judge (null: profile itself): a second, independent profile tells how much of a gain is choosing
 * among noisy numbers; bounds and gaps are the judge's too. Gains need the plans of fbs and
 * fbs-best and make them when planners has them not.
 *
 * VBS_USAGE: no planner, an empty range or more than VBS_MAX_BUDGETS, what vbs_solver_new refuses.
 * VBS_INVALID: judge is of another network, or lacks an algorithm or a batch that a plan uses.
 * VBS_OVER_BUDGET: a schedule breaks its budget in the replay, an error of the planner unless judge
 * counts other workspaces. VBS_INTERRUPTED, VBS_NO_MEMORY.
 */
enum vbs_status vbs_compare_run(struct vbs_ctx *ctx, const struct vbs_problem *problem,
                                const struct vbs_profile *judge,
                                const struct vbs_byte_range *budgets,
                                const struct vbs_planner *const *planners, int n_planners,
                                struct vbs_compare **compare) VBS_MUST_CHECK;
void vbs_compare_free(struct vbs_compare *compare);

/* A range of about 25 budgets in round steps (1, 2, 5, 10, ... bytes, KiB, MiB, ...) from the least
 * that any planner needs to the least with which the fastest plan is reached, or one within a
 * thousandth of it. Plans some ten times with every planner. Errors as vbs_compare_run. */
enum vbs_status vbs_compare_default_budgets(struct vbs_ctx *ctx, const struct vbs_problem *problem,
                                            struct vbs_byte_range *budgets) VBS_MUST_CHECK;

/*
 * Forms of the same result; each gives a text to be freed, ending with a newline. Only
 * VBS_NO_MEMORY can happen.
 *
 * The table is for people: at most 100 columns, control characters of names made visible; colour
 * adds ANSI sequences. JSON is INTERFACE's object for one comparison and an array of them for
 * several; CSV has its fields, the outer ones repeated in each line. Numbers there are exact;
 * gains over an infeasible baseline, or of an infeasible row, are null or empty. An infeasible row
 * keeps 0 for its other numbers, as struct vbs_compare_row does; its feasible is false.
 */
enum vbs_status vbs_compare_table(struct vbs_ctx *ctx, const struct vbs_compare *compare,
                                  bool colour, char **text) VBS_MUST_CHECK;
enum vbs_status vbs_compare_json(struct vbs_ctx *ctx, const struct vbs_compare *const *compares,
                                 int n_compares, char **text) VBS_MUST_CHECK;
enum vbs_status vbs_compare_csv(struct vbs_ctx *ctx, const struct vbs_compare *const *compares,
                                int n_compares, char **text) VBS_MUST_CHECK;

/*
 * Throughput against memory, one panel per comparison: every planner and the limit by the lower
 * bound, as .svg, .png or .pdf by the ending of path, written whole or not at all. Drawn by gnuplot
 * in a private folder under $TMPDIR; no name reaches a command line or a command.
 *
 * VBS_USAGE: another ending. VBS_INFEASIBLE: nothing fits anywhere, the detail names the least
 * budget. VBS_UNSUPPORTED: no gnuplot. VBS_LIBRARY: gnuplot failed, with its reason. VBS_IO,
 * VBS_INTERRUPTED, VBS_NO_MEMORY.
 */
enum vbs_status vbs_compare_plot(struct vbs_ctx *ctx, const struct vbs_compare *const *compares,
                                 int n_compares, const char *path) VBS_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
