/*
 * A plan whose buffers can be placed: planners count live bytes, and where the buffers of a plan do
 * not fit into an arena of the budget, plans for smaller budgets are tried. Internal to the library
 * and its program.
 */
#ifndef VBS_EXEC_REPLAN_H
#define VBS_EXEC_REPLAN_H

#include "vbslab/exec.h"
#include "vbslab/plan.h"

/* The seconds that a placement should search at most (struct vbs_exec_options) while there are
 * other plans to try. */
#define VBS_REPLAN_PLACE_S 2

/* Returns a budget below which plans for an arena of memory_bytes are rarely made. */
static inline int64_t vbs_replan_bytes(int64_t memory_bytes)
{
    return memory_bytes - memory_bytes / 8;
}

struct vbs_replan {
    struct vbs_solver *solver;
    int64_t memory_bytes; /* of the arena */

    /* The plan that is to be placed. It is freed where another one replaces it. */
    struct vbs_schedule **schedule;
    /* Makes the placement, or the executor, of *schedule. VBS_INFEASIBLE: it cannot be placed
     * within memory_bytes, and *placement tells the bytes of the best placement. */
    enum vbs_status (*make)(struct vbs_ctx *ctx, void *self);
    void *self;
    const struct vbs_exec_placement *placement;

    /* The results. */
    int n_replans;        /* plans that were tried after the first one */
    int64_t placed_bytes; /* size of the arena that the first plan needs; 0: make gave no
                             placement */
};

/* Calls make for *schedule, and, while it cannot be placed, for plans of less memory.
 * VBS_INFEASIBLE: none of them could be placed; else what make returns, or the solver. */
enum vbs_status vbs_replan(struct vbs_ctx *ctx, struct vbs_replan *replan) VBS_MUST_CHECK;

/*
 * Finds the least budget for which vbs_replan has a plan: that of the solver or, where the buffers
 * of its plan do not fit into so little, because samples that lie together or their alignment leave
 * holes, the size of the arena in which they were placed. limit_s: the processor time of a search
 * for offsets (struct vbs_exec_options). 0: the planner is from outside and has no least budget;
 * INT64_MAX: it has no plan for any budget. Fails as vbs_solver_plan and vbs_exec_place do.
 */
enum vbs_status vbs_replan_least(struct vbs_ctx *ctx, struct vbs_solver *solver,
                                 const struct vbs_profile *profile, double limit_s,
                                 int64_t *bytes) VBS_MUST_CHECK;

/* A plan that is placed, and its executor. */
struct vbs_replanned {
    struct vbs_schedule *schedule;
    struct vbs_exec *exec;
    struct vbs_exec_placed *placed; /* the offsets, with which exec can be made again; borrows
                                       profile and schedule */
    struct vbs_exec_placement placement;
    int64_t placed_bytes; /* size of the arena that the first plan needs; also on VBS_INFEASIBLE */
    int n_replans;
};

/* Plans for options->memory_bytes, and makes an executor of the plan, or of one for less memory as
 * vbs_replan does. Profile, backend and network are those of the solver; the profile may have other
 * times. The caller frees schedule, exec and placed; after a failure they are null. Fails as
 * vbs_solver_plan, vbs_exec_place and vbs_exec_new do; VBS_INFEASIBLE with placed_bytes 0: there is
 * no plan. */
enum vbs_status vbs_replan_exec(struct vbs_ctx *ctx, struct vbs_solver *solver,
                                const struct vbs_network *network,
                                const struct vbs_backend *backend,
                                const struct vbs_profile *profile,
                                const struct vbs_exec_options *options,
                                struct vbs_replanned *made) VBS_MUST_CHECK;

#endif
