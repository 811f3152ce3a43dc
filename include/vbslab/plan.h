/*
 * vbslab/plan.h - planners: from a profile, a request and a budget to a schedule.
 *
 * A planner makes a solver for a problem (profile, request, io), and the solver makes a schedule
 * for any number of budgets. Where a budget is infeasible, the solver names the least feasible
 * budget. Planners never round memory in their own favour: the exact peak of a schedule is at most
 * the memory that the planner reserved, which is at most the budget.
 *
 * Threads: planners are constant and may be shared by any number of threads. A solver belongs to
 * one thread at a time. Infeasibility reports and frontiers are immutable data and may be shared.
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

/* The problem that a planner solves, apart from the budget. A plain value: copy it freely. */
struct vbs_problem {
    const struct vbs_profile *profile; /* borrowed; must outlive the solvers made from it */
    int64_t request;                   /* samples, 1..VBS_MAX_REQUEST */
    enum vbs_io io;
    /*
     * The bound of the longest wait of any sample; 0: there is none. A schedule falls into chunks,
     * cut wherever every layer has done the same samples. With external io a sample waits from the
     * start of its chunk, when its input is fetched, to the end of its last layer, so that the
     * bound holds for the longest chunk. With resident io all inputs are there from the start, so
     * that the bound holds for the time of the whole request. VBS III, end; COMP V-D.
     */
    double latency_us;
    /*
     * Weights included: they live inside the budget, and loads copy them in over the link (its
     * source and its factors are borrowed; factors that are not null should be those of the
     * profile's copies from this source, for the replay takes these). Planners that do not transfer
     * weights keep them all resident, in the packed formats that lead to the least time, and plan
     * in the memory that is left.
     */
    enum vbs_weights weights;
    struct vbs_link copy;
    /* Schedules have no steps with rows (schedule.h), even where the profile has stripes. */
    bool whole_samples;
};

/* Options of a solver; all but struct_size may be 0, which gives the defaults. */
struct vbs_solver_options {
    size_t struct_size; /* sizeof(struct vbs_solver_options) */
    /* dp-vbs only: Algorithm 1 of VBS as printed, memory in multiples of this; 0: exact curves. */
    int64_t table_bytes;
    /* The largest budget that vbs_solver_plan will get; 0: any. Planning a network of hundreds of
     * layers then takes less time and memory, and vbs_solver_new fails with VBS_INFEASIBLE where
     * the planner certainly has no schedule for this budget. For smaller budgets, joint then makes
     * only some of the schedules of a long request, so that their plans may be slower. */
    int64_t most_bytes;
    /*
     * optimal: seconds after which a search ends with the best schedule so far and its proven gap;
     * 0: VBS_TIME_LIMIT_S. The first plan has the seconds that vbs_solver_new left; each further
     * plan has all of them. joint and dp-vbs+: seconds after which vbs_solver_new tries no further
     * schedules; 0: no limit. A first schedule is there even if they are few: for 1,000 layers and
     * a request of 12 after less than a second. More time never makes plans slower, but which ones
     * are found in some time depends on the machine. Planners from outside: seconds for each budget
     * (planner.h); 0: VBS_OUTSIDE_TIME_S.
     */
    double time_limit_s;
    /* optimal only, instead of the time limit: the number of states of the lattice that the search
     * of a budget expands. The plan is then the same on every machine. 0: the time limit holds. */
    int64_t node_limit;
    /* optimal only: the step of the schedule at which the local search begins. Another seed may
     * lead to another schedule as long as the optimum is not proven. 0: the first step. */
    uint64_t seed;
    /* Reported from vbs_solver_new on, as long as the solver lives. */
    struct vbs_progress progress;
    /* The content hash of the profile (vbs_profile_hash), which the schedules name as their
     * provenance; it is copied. Null: the schedules name the device and the library, but no hash.
     * The caller computes it, because this can take longer than a plan. VBS_USAGE: its length is
     * not that of a hash. */
    const char *profile_hash;
    /* [n_budgets] The budgets that vbs_solver_plan will get, where they are known; other budgets
     * are allowed nevertheless. A program from outside (planner.h) is then run once for all of them
     * and not once for each. joint, where its time is limited or the network is long, ends its
     * search when the plans for all of them (of at most four) are as fast as their lower bounds;
     * plans for other budgets may then be slower. Other planners do not read them. Read by
     * vbs_solver_new alone. */
    const int64_t *budgets;
    int n_budgets;
};

#define VBS_TIME_LIMIT_S   60 /* the default limit of time of a planner that searches */
#define VBS_RUN_PLAN_S     20 /* the limit of time that plans for a run have where none is given */
#define VBS_OUTSIDE_TIME_S 10 /* the default limit of time of a planner from outside, by budget */

/* A planning algorithm: constant data of the library, never freed, or a planner from outside that
 * vbs_planner_load gave (planner.h). May be shared between threads. */
struct vbs_planner;

/* Gives all planners in the order in which tables show them, baselines first; null after the
 * last. */
const struct vbs_planner *vbs_planner_at(int index);
/* Gives the name by which commands and files call it ("dp-vbs+"); never null. */
const char *vbs_planner_name(const struct vbs_planner *planner);
/* Gives what the planner does, in one line for people; never null. */
const char *vbs_planner_summary(const struct vbs_planner *planner);
/* Gives the paper and section from which it comes, "vbslab" where there is none; never null. */
const char *vbs_planner_source(const struct vbs_planner *planner);
/* Gives how the time that planning takes grows, in one line for people; never null. */
const char *vbs_planner_cost(const struct vbs_planner *planner);

/* True of baselines: the planners against which gains are measured. */
bool vbs_planner_is_baseline(const struct vbs_planner *planner);

/* True of planners that give estimates and no schedules (vbs_solver_estimate): patch, fusion, and
 * the two of square tiles. They run one sample after another and compute rows twice, which
 * schedules cannot say, and plan with weights excluded. */
bool vbs_planner_estimates(const struct vbs_planner *planner);

/* True of planners whose plans get better with more time (optimal). */
bool vbs_planner_is_timed(const struct vbs_planner *planner);

/* True of the planners of a comparison that names none. With weights excluded these are all that
 * neither transfer weights nor estimate. With weights included they are all that do, and fbs,
 * fbs-best and dp-vbs+, which keep all weights resident. */
bool vbs_planner_is_compared(const struct vbs_planner *planner, enum vbs_weights weights);

/* True of planners that load and evict weights (mmcnn, vdnn, joint), which need weights included.
 */
bool vbs_planner_transfers(const struct vbs_planner *planner);

/* True of planners from outside (planner.h). They plan with weights excluded and included, and
 * their least budgets are not known. */
bool vbs_planner_is_outside(const struct vbs_planner *planner);

/* Finds a planner of the library by its name. VBS_NOT_FOUND: the detail suggests the nearest name.
 * O(planners). */
enum vbs_status vbs_planner_find(struct vbs_ctx *ctx, const char *name,
                                 const struct vbs_planner **planner) VBS_MUST_CHECK;

/* A planner at work on one problem, which makes plans for any number of budgets. Threads: one
 * thread at a time; solvers of one profile may run side by side. Freed by vbs_solver_free. */
struct vbs_solver;

/* Copies *problem and *options (null: the defaults) and borrows the profile; *solver is freed by
 * vbs_solver_free. VBS_USAGE (request or latency out of range, an option of another planner),
 * VBS_INFEASIBLE (see most_bytes), VBS_NO_MEMORY, VBS_INTERRUPTED. All planning that does not
 * depend on the budget happens here; its complexity is that of the planner (vbs_planner_cost). */
enum vbs_status vbs_solver_new(struct vbs_ctx *ctx, const struct vbs_planner *planner,
                               const struct vbs_problem *problem,
                               const struct vbs_solver_options *options,
                               struct vbs_solver **solver) VBS_MUST_CHECK;
/* Frees a solver, not its profile or its plans; null is allowed. */
void vbs_solver_free(struct vbs_solver *solver);

/* Makes the schedule for a budget, freed by vbs_schedule_free. A search that is interrupted after
 * it has found a schedule gives this schedule with its proven gap, and sets solver.interrupted in
 * it. VBS_INFEASIBLE: the detail names the least feasible budget and the layer with the largest
 * step there; vbs_solver_explain reports more. VBS_UNSUPPORTED: the planner estimates
 * (vbs_solver_estimate). VBS_NO_MEMORY, VBS_INTERRUPTED. O(steps), and for optimal a search. */
enum vbs_status vbs_solver_plan(struct vbs_ctx *ctx, struct vbs_solver *solver,
                                int64_t memory_bytes,
                                struct vbs_schedule **schedule) VBS_MUST_CHECK;

/* A part of an estimate: layers on whole samples one after the other, or a segment, which runs in
 * tiles of some rows of its last layer. */
struct vbs_estimate_part {
    int first_layer, last_layer;
    int tile_rows;    /* rows of the last layer in a tile; 0: whole samples */
    int n_tiles;      /* along rows */
    bool is_square;   /* there are as many along columns */
    bool accumulates; /* the last layer takes the rows of the one before it as they come, and has no
                         tiles itself: they are of the layer before it */
    double sample_us; /* time of one sample */
};

/* What a planner predicts that has no schedule: bytes and time by its model. Immutable, may be
 * shared between threads; freed by vbs_estimate_free. */
struct vbs_estimate {
    int64_t request;      /* samples */
    int64_t memory_bytes; /* the budget */
    double time_us;       /* of the request */
    double latency_us;    /* longest wait of a sample, as struct vbs_problem defines it */
    int64_t peak_bytes;
    int n_parts;
    struct vbs_estimate_part *parts; /* [n_parts] in the order of the layers */
};

/* Makes the estimate for a budget of a planner that estimates; freed by vbs_estimate_free.
 * VBS_UNSUPPORTED: the planner has schedules. VBS_INFEASIBLE: the detail names the least feasible
 * budget. VBS_NO_MEMORY. O(layers). */
enum vbs_status vbs_solver_estimate(struct vbs_ctx *ctx, struct vbs_solver *solver,
                                    int64_t memory_bytes,
                                    struct vbs_estimate **estimate) VBS_MUST_CHECK;
/* Frees an estimate; null is allowed. */
void vbs_estimate_free(struct vbs_estimate *estimate);

/* Gives the least budget for which the planner has a schedule; INT64_MAX when no budget is
 * feasible, because of the latency, or none up to options.most_bytes; 0 where it is not known,
 * because the planner is from outside. At most O(layers x batches). */
int64_t vbs_solver_least_bytes(const struct vbs_solver *solver);

/*
 * An infeasibility report: why the budgets below vbs_solver_least_bytes are infeasible, and which
 * changes would make smaller ones feasible. Each budget is the least: with the change that its
 * comment names it is feasible, and with a byte less it is not. The same holds for latencies, to a
 * billionth.
 */
struct vbs_infeasibility {
    int64_t least_bytes; /* vbs_solver_least_bytes; INT64_MAX: see least_latency_us */
    /* The largest step of the plan at least_bytes. Its tensors, its workspace and the bytes that
     * the planner reserves beyond them add up to least_bytes. */
    struct vbs_step step;
    int64_t tensor_bytes; /* live during the step, its output included */
    int64_t ws_bytes;
    int64_t extra_reserved_bytes;
    /* The least budget with one change; -1: it is not less than least_bytes. */
    int64_t without_ws_bytes;      /* no workspace in the rows of that layer; also -1 where ws_bytes
                                      is 0 */
    int64_t external_bytes;        /* io external */
    int64_t without_latency_bytes; /* no bound of the latency */
    int64_t other_bytes;           /* the planner that needs least */
    const struct vbs_planner *other; /* of other_bytes or other_latency_us; or null */
    /* Where no budget is feasible: the least latency that a schedule keeps in some budget, and the
     * same with io external and with another planner; -1: it is not less. */
    double least_latency_us;
    double external_latency_us;
    double other_latency_us;
};

/* An explanation also runs other planners where layers x request^2 is at most this, or a fortieth
 * of this where the problem has a latency that some budget keeps. This takes about a second. */
#define VBS_EXPLAIN_EFFORT 4000000

/* Fills *infeasibility, which the caller owns. It solves the problem again for each change, mostly
 * on a profile without times or without bytes, which is fast. It does not try optimal as the other
 * planner, nor run optimal with a change and a latency. VBS_UNSUPPORTED (weights included, or a
 * planner from outside or one that estimates), VBS_USAGE (more than VBS_MAX_STEPS), VBS_NO_MEMORY,
 * VBS_INTERRUPTED. */
enum vbs_status vbs_solver_explain(struct vbs_ctx *ctx, struct vbs_solver *solver,
                                   struct vbs_infeasibility *infeasibility) VBS_MUST_CHECK;

/* Gives the most bytes of curves, tables and states that the solver has held so far. O(1). */
size_t vbs_solver_peak_bytes(const struct vbs_solver *solver);

/* Time against memory: point i is the plan for every budget from memory_bytes[i] (included) up to
 * the next point's (excluded). Times fall strictly for dp-vbs and fbs-best (falls below 1e-12 of
 * the time are left out), and may rise for planners whose definition allows it (fbs, greedy-vbs).
 */
struct vbs_frontier_point {
    int64_t memory_bytes;
    double time_us; /* HUGE_VAL: no plan; only greedy-vbs with a latency has such points, because
                       more memory makes its batches larger, which may exceed the latency */
};

/* All points of a frontier, memory_bytes ascending. Freed by vbs_frontier_free. */
struct vbs_frontier {
    int n_points; /* >= 1 */
    struct vbs_frontier_point *points;
    bool interrupted; /* see vbs_solver_frontier */
};

/* Makes the frontier, freed by vbs_frontier_free. It makes a plan for each budget at which the plan
 * may change; a planner from outside, of which these are not known, gets 16 budgets in each power
 * of two, from the least budget of dp-vbs+ (weights included: of joint) to the one with which that
 * planner has enough. A frontier that is interrupted after a schedule was found gives the points
 * that are known by then, with interrupted set: each of its points has a schedule, but points may
 * be missing, and where the planner searches, faster schedules may be, too. VBS_INFEASIBLE: no
 * budget is feasible, because of the latency, or the planner from outside has a plan for none of
 * them. VBS_NO_MEMORY; VBS_INTERRUPTED: no point is known yet. */
enum vbs_status vbs_solver_frontier(struct vbs_ctx *ctx, struct vbs_solver *solver,
                                    struct vbs_frontier **frontier) VBS_MUST_CHECK;
/* Frees a frontier; null is allowed. */
void vbs_frontier_free(struct vbs_frontier *frontier);

/*
 * Computes a lower bound of the time of every schedule of the problem within memory_bytes, in
 * microseconds: the sum over the layers of the fastest composition of the request from the (batch,
 * algorithm) rows whose step fits by itself. With weights included, resident weights reduce the
 * memory for the steps, and all other weights are copied at least once, those behind the last
 * sample's layer after it as far as they exceed the memory. The bound is then the larger of both
 * clocks, for the number of resident bytes that makes it least. HUGE_VAL where some
 * layer has no row that fits. O(rows + layers x request x batches), times the logarithm of the
 * weights.
 */
enum vbs_status vbs_bound_us(struct vbs_ctx *ctx, const struct vbs_problem *problem,
                             int64_t memory_bytes, double *time_us) VBS_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
