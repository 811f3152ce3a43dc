/*
 * A planner as the registry and the solver see it: functions that open a task and give a schedule
 * for each budget. CONTRIBUTING.md says what a new planner needs.
 */
#ifndef VBS_PLAN_PROBLEM_PLANNER_H
#define VBS_PLAN_PROBLEM_PLANNER_H

#include "plan/problem/steps.h"
#include "plan/problem/timeline.h"

/* The schedule of a planner for one budget. */
struct vbs_draft {
    struct vbs_step_list steps;
    int64_t reserved_bytes; /* bytes of the steps by the planner's own rule */
    double bound_us;        /* a lower bound of the time that the planner proved, 0: none */
    bool interrupted;       /* the search was ended by the caller */
    /* Of a planner from outside: the figures by which the replay judged the steps. They stand in
     * schedules in place of those that the solver counts itself for steps of the library's own
     * planners. Of a planner that estimates: its figures. */
    bool judged;
    struct vbs_timeline timeline;
};

/* Bounds of the least budget for which a planner has a schedule. */
struct vbs_bracket {
    int64_t low_bytes;  /* no smaller budget has a schedule */
    int64_t high_bytes; /* this budget has a schedule */
    int layer;          /* of the largest step in the schedule for high_bytes */
};

struct vbs_question;
struct vbs_reasons;

struct vbs_planner {
    const char *name;
    const char *summary;
    const char *source; /* the paper and its section, or "vbslab" */
    const char *cost;   /* growth of the time that planning takes, for people */
    bool baseline;      /* gains are measured against it, and it is never proposed */
    bool transfers;     /* loads and evicts weights itself: for weights included only */
    /* With weights included, comparisons without named planners have this planner, as they have all
     * that transfer weights. With weights excluded they have all planners. */
    bool compared_beside_weights;
    bool timed; /* its plans depend on the time that it gets */
    /* It finds some schedule quickly and a fast one slowly, so that infeasibility reports do not
     * run it in the place of another planner. */
    bool searches_long;
    bool may_slow_down; /* a larger budget may lead to a schedule that takes longer */
    bool may_be_late;   /* a larger budget may lead to a schedule that exceeds the latency */
    /* It is not the library's: its drafts are judged, it plans loads of weights itself where they
     * are included, its least budget is not known (least_bytes gives 0), and plan gives a detail
     * with VBS_INFEASIBLE. */
    bool outside;
    /* It computes rows twice, which no schedule says: its drafts have no steps and are judged, and
     * it has the function estimate. */
    bool estimates;
    /* Opens a task. *self is freed by close. */
    enum vbs_status (*open)(struct vbs_ctx *ctx, const struct vbs_task *task, void **self);
    /* Fills *draft, which is {0}, for a budget; reserved_bytes <= memory_bytes. VBS_INFEASIBLE
     * (without a detail). The caller clears draft->steps, after a failure too. */
    enum vbs_status (*plan)(struct vbs_ctx *ctx, void *self, int64_t memory_bytes,
                            struct vbs_draft *draft);
    /* Of a planner that estimates, else null: makes the estimate for a budget, without its budget
     * and request. VBS_INFEASIBLE (without a detail). */
    enum vbs_status (*estimate)(struct vbs_ctx *ctx, void *self, int64_t memory_bytes,
                                struct vbs_estimate **estimate);
    /* Gives the least feasible budget; INT64_MAX: there is none. */
    int64_t (*least_bytes)(const void *self);
    /* Bounds the least budget, in much less time than open takes on a long network; null: open is
     * quick. The bounds ignore the latency, and, unless the planner transfers weights, the weights
     * too. */
    enum vbs_status (*bracket)(struct vbs_ctx *ctx, const struct vbs_task *task,
                               struct vbs_bracket *bracket);
    /* Gives the largest memory that the planner has used so far. */
    size_t (*peak_bytes)(const void *self);
    /* Lists budgets at which the plan may change, in any order, some of them repeatedly. The caller
     * frees *bytes. */
    enum vbs_status (*thresholds)(struct vbs_ctx *ctx, const void *self, int64_t **bytes, int *n);
    /* Adds the decisions that lead to the plan of the question, or that are about its part; null:
     * the planner explains nothing. VBS_NOT_FOUND (without a detail): it has no such part. */
    enum vbs_status (*explain)(struct vbs_reasons *reasons, void *self,
                               const struct vbs_question *question);
    bool explains_parts; /* of the work, beside whole plans */
    void (*close)(void *self);
};

#endif
