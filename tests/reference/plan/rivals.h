/*
 * All planners at work on one problem, side by side, and the budgets at which to compare them.
 * Planners that load and evict weights are among them where weights are included.
 */
#ifndef TESTS_RIVALS_H
#define TESTS_RIVALS_H

#include "vbslab/plan.h"

#include <stdbool.h>

#define MAX_RIVALS        16
#define MAX_RIVAL_BUDGETS 600

struct rival {
    const char *name;
    /* The properties that the planner declares, to which the tests hold it. */
    bool may_slow_down, may_be_late;
    struct vbs_solver *solver;
    struct vbs_frontier *frontier; /* null: no budget helps, because of the latency */
    int64_t least_bytes;
};

struct rivals {
    struct vbs_problem problem;
    int n;
    struct rival list[MAX_RIVALS]; /* in the order of vbs_planner_at */
    int n_budgets;
    int64_t budgets[MAX_RIVAL_BUDGETS]; /* ascending after rivals_sort_budgets */
};

/* Opens the solvers of all planners. time_limit_s is that of optimal, 0: the default, and then
 * optimal gives a frontier too. On failure nothing is left open; *which is the planner that failed,
 * or null. */
enum vbs_status rivals_open(struct vbs_ctx *ctx, struct rivals *rivals,
                            const struct vbs_problem *problem, double time_limit_s,
                            const char **which);
void rivals_close(struct rivals *rivals);

/* Gives the index of a planner in list; ends the program when there is no such planner. */
int rivals_find(const struct rivals *rivals, const char *name);

/* Adds a budget, unless it is below 0 or there are MAX_RIVAL_BUDGETS already. */
void rivals_add_budget(struct rivals *rivals, int64_t budget);
/* Adds every breakpoint of every planner, and one byte below each; returns the largest. */
int64_t rivals_add_breakpoints(struct rivals *rivals);
/* Sorts the budgets, and removes repeated ones. */
void rivals_sort_budgets(struct rivals *rivals);

/* Gives the time of a budget by the frontier; HUGE_VAL: infeasible. */
double rival_frontier_us(const struct rival *rival, int64_t budget);

/* A plan, judged by the replay. */
struct outcome {
    enum vbs_status status;
    double time_us; /* HUGE_VAL: infeasible */
    double bound_us, gap_percent, latency_us;
    int64_t peak_bytes, reserved_bytes;
    bool is_valid; /* the replay ran it */
    bool fits;     /* replayed peak = predicted peak <= reserved <= budget */
    bool in_time;  /* the replay keeps the bound of the latency */
    bool is_timed; /* replayed time and latency are the predicted ones (with weights included but
                      for rounding), and so are the bytes copied and resident */
};

struct outcome rival_plan(const struct rivals *rivals, int planner, int64_t budget);

#endif
