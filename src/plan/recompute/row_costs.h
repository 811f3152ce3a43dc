/* Times of any number of rows of a layer, which kernels of the measured heights compute. Internal
 * to plan/recompute. */
#ifndef VBS_PLAN_RECOMPUTE_ROW_COSTS_H
#define VBS_PLAN_RECOMPUTE_ROW_COSTS_H

#include "plan/problem/problem.h"

/* The times of one layer for one sample, by the workspace that they may have. */
struct row_costs {
    int rows;         /* 0: whole samples only */
    int n_limits;     /* >= 1 */
    int64_t *limits;  /* [n_limits] workspaces, ascending */
    double *whole_us; /* [n_limits] of the fastest row for whole samples; HUGE_VAL: none fits */
    double *rows_us;  /* [n_limits][rows + 1] the least sum of times of steps that compute so many
                         rows; HUGE_VAL: no such steps fit */
};

/* Fills the costs of a layer, all of them in arena. VBS_NO_MEMORY. O(workspaces x rows x
 * heights). */
enum vbs_status vbs_row_costs_find(struct vbs_ctx *ctx, const struct vbs_task *task, int layer,
                                   struct vbs_arena *arena, struct row_costs *costs) VBS_MUST_CHECK;

#endif
