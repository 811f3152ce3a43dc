/*
 * vbslab/plan.h - planners: from a profile, a request and a budget to a schedule.
 *
 * A problem (profile, request, io) is given to a planner, which makes a solver; the solver answers
 * any number of budgets. What is infeasible stays infeasible, and says from which budget on it is
 * not. Planners never round memory in their own favour: the schedule's exact peak is at most what
 * the planner reserved, and that is at most the budget.
 *
 * Threads: planners are constant and may be shared; a solver and what it explains belong to one
 * thread at a time. Frontiers are immutable.
 */
#ifndef VBSLAB_PLAN_H
#define VBSLAB_PLAN_H

#include "vbslab/profile.h"
#include "vbslab/progress.h"
#include "vbslab/schedule.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vbs_problem {
    const struct vbs_profile *profile; /* borrowed; must outlive the solvers made from it */
    int64_t request;                   /* samples, 1..VBS_MAX_REQUEST */
    enum vbs_io io;
    /*
     * Longest wait of any sample, 0: not bounded. A schedule falls into chunks, cut wherever every
     * layer has done the same samples and nothing is under way. With external io a sample waits
     * from the start of its chunk to the end of its last layer, so that the longest chunk is
     * bounded (inputs are fetched when their chunk starts); with resident io all inputs are there
     * from the start, so that the time of the whole request is. VBS III, end; COMP V-D.
     */
    double latency_us;
    /*
     * Weights included: they live inside the budget, and come in by copy (its source is borrowed).
     * Planners that do not transfer hold them all, resident, in the forms that pay best, and plan
     * in what is left.
     */
    enum vbs_weights weights;
    struct vbs_link copy;
};

/* How a solver works; {0} gives the defaults. */
struct vbs_solver_options {
    size_t struct_size; /* sizeof(struct vbs_solver_options) */
    /* dp-vbs only: Algorithm 1 of VBS as printed, memory in multiples of this; 0: exact curves. */
    int64_t table_bytes;
    /* The largest budget that the solver will be asked for; 0: any. Networks of hundreds of layers
     * are then planned in less time and memory, and where it is certain that the planner has no
     * schedule for this budget vbs_solver_new says so at once, as VBS_INFEASIBLE. */
    int64_t most_bytes;
    /*
     * optimal: seconds until the best schedule so far is given with its proven gap; the first plan
     * has what vbs_solver_new has left of them, every other one has them all; 0: VBS_TIME_LIMIT_S.
     * joint: seconds after which vbs_solver_new tries no further schedules; 0: it tries all.
     */
    double time_limit_s;
    /* optimal only, in the place of the time limit: states of the lattice that the search of a
     * budget expands. The plan is then the same on every machine. 0: by time. */
    int64_t node_limit;
    /* optimal only: where on the path of steps the local search begins; another seed may end in
     * another schedule as long as the optimum is not proven. 0: at the first step. */
    uint64_t seed;
    /* From vbs_solver_new on, as long as the solver lives. */
    struct vbs_progress progress;
};

#define VBS_TIME_LIMIT_S 60

struct vbs_planner; /* one way to plan; constant data */

/* All planners in the order in which tables show them, baselines first; null after the last. */
const struct vbs_planner *vbs_planner_at(int index);
const char *vbs_planner_name(const struct vbs_planner *planner);
/* For people, one line each: what the planner does; the paper and section that it comes from
 * ("vbslab" where there is none); how the time that planning takes grows. Never null. */
const char *vbs_planner_summary(const struct vbs_planner *planner);
const char *vbs_planner_source(const struct vbs_planner *planner);
const char *vbs_planner_cost(const struct vbs_planner *planner);

/* True of planners that load and drop weights (mmcnn, vdnn, joint): for weights included only. */
bool vbs_planner_transfers(const struct vbs_planner *planner);

/* By name; VBS_NOT_FOUND suggests the nearest. */
enum vbs_status vbs_planner_find(struct vbs_ctx *ctx, const char *name,
                                 const struct vbs_planner **planner) VBS_MUST_CHECK;

struct vbs_solver; /* a planner at work on one problem */

/* Copies *problem and *options (null: the defaults), borrows the profile. VBS_USAGE (request or
 * latency out of range, an option of another planner), VBS_NO_MEMORY, VBS_INTERRUPTED. All the
 * planning that does not depend on the budget happens here; each planner's file states its
 * complexity. */
enum vbs_status vbs_solver_new(struct vbs_ctx *ctx, const struct vbs_planner *planner,
                               const struct vbs_problem *problem,
                               const struct vbs_solver_options *options,
                               struct vbs_solver **solver) VBS_MUST_CHECK;
void vbs_solver_free(struct vbs_solver *solver);

/* The schedule for a budget, freed by vbs_schedule_free. A search that is interrupted once it has a
 * schedule ends, and gives that schedule with its proven gap and solver.interrupted set.
 * VBS_INFEASIBLE: the detail names the least budget that works and the layer with the largest step
 * there; vbs_solver_explain tells more. */
enum vbs_status vbs_solver_plan(struct vbs_ctx *ctx, struct vbs_solver *solver,
                                int64_t memory_bytes,
                                struct vbs_schedule **schedule) VBS_MUST_CHECK;

/* The least budget for which the planner has a schedule; INT64_MAX when no budget helps, because
 * of the latency, or none up to options.most_bytes. At most O(layers x batches). */
int64_t vbs_solver_least_bytes(const struct vbs_solver *solver);

/*
 * Why the budgets below vbs_solver_least_bytes are infeasible, and what would help. Budgets are
 * least ones: with the change that is named it works, with a byte less it does not. Latencies
 * likewise, to a billionth.
 */
struct vbs_infeasibility {
    int64_t least_bytes; /* vbs_solver_least_bytes; INT64_MAX: see least_latency_us */
    /* The largest step of the plan at least_bytes. What it takes and what the planner sets aside
     * beyond that are least_bytes together. */
    struct vbs_step step;
    int64_t tensor_bytes; /* live during the step, its output too */
    int64_t ws_bytes;
    int64_t extra_reserved_bytes;
    /* The least budget if only this were different; -1: no less than least_bytes. */
    int64_t without_ws_bytes;        /* no row of that layer had one; -1 too where ws_bytes is 0 */
    int64_t external_bytes;          /* io external */
    int64_t without_latency_bytes;   /* no bound of the latency */
    int64_t other_bytes;             /* another planner, the one that needs least */
    const struct vbs_planner *other; /* that one, or the one with other_latency_us; or null */
    /* Where no budget helps: the least bound that can be kept in some budget, and, if only this
     * were different, what it would be; -1: no less. */
    double least_latency_us;
    double external_latency_us;
    double other_latency_us;
};

/* Other planners are asked up to this many layers x request^2, with a latency that some budget
 * keeps up to a fortieth: about a second. */
#define VBS_EXPLAIN_EFFORT 4000000

/* Fills *infeasibility. Solves the problem anew for each thing that could be different, mostly
 * without times or bytes, which is fast; optimal is not asked what it could do instead, nor what it
 * could do with a change and a latency. VBS_USAGE (more than VBS_MAX_STEPS), VBS_NO_MEMORY,
 * VBS_INTERRUPTED. */
enum vbs_status vbs_solver_explain(struct vbs_ctx *ctx, struct vbs_solver *solver,
                                   struct vbs_infeasibility *infeasibility) VBS_MUST_CHECK;

/* Bytes that the solver held at most so far: curves, tables, states. */
size_t vbs_solver_peak_bytes(const struct vbs_solver *solver);

/* Time against memory: point i is the plan for every budget from memory_bytes[i] (included) up to
 * the next point's (excluded). Times fall strictly for dp-vbs and fbs-best (falls below 1e-12 of
 * the time are left out), and may rise for planners whose definition allows it (fbs, greedy-vbs).
 */
struct vbs_frontier_point {
    int64_t memory_bytes;
    double time_us; /* HUGE_VAL: no plan here, only greedy-vbs with a latency (more memory makes it
                       take larger batches, which may answer too late) */
};

struct vbs_frontier {
    int n_points; /* >= 1 */
    struct vbs_frontier_point *points;
};

/* VBS_INFEASIBLE: no budget helps, because of the latency. */
enum vbs_status vbs_solver_frontier(struct vbs_ctx *ctx, struct vbs_solver *solver,
                                    struct vbs_frontier **frontier) VBS_MUST_CHECK;
void vbs_frontier_free(struct vbs_frontier *frontier);

/*
 * Lower bound: microseconds that no schedule of the problem beats within memory_bytes; per layer
 * the cheapest composition of the request from the (batch, algorithm) rows whose step could fit
 * alone, summed over the layers. With weights included the bytes that stay throughout leave less
 * for that, all others are copied at least once: the larger of both clocks, for the number of bytes
 * that makes it least. HUGE_VAL where some layer has no row that fits. O(rows + layers x request x
 * batches), times the logarithm of the weights.
 */
enum vbs_status vbs_bound_us(struct vbs_ctx *ctx, const struct vbs_problem *problem,
                             int64_t memory_bytes, double *time_us) VBS_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
