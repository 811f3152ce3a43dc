/*
 * dp-vbs with tables (--table STEP): declarations that table.c, which fills the tables, and ends.c,
 * which finds the range of budgets that they cover, share.
 */
#ifndef VBS_PLAN_TABLE_TABLE_H
#define VBS_PLAN_TABLE_TABLE_H

#include "plan/problem/problem.h"
#include "plan/dp/dp.h"

/* The planner dp-vbs where options.table_bytes is given. */
extern const struct vbs_planner vbs_planner_dp_vbs_table;

/* Is above every time: ticks of a schedule are below 2^61, and three of these can be added. */
#define VBS_TABLE_INFINITE (INT64_C(1) << 61)

/* Converts bytes to whole steps of the table, rounded up. */
static inline int64_t vbs_table_steps(const struct vbs_task *task, int64_t bytes)
{
    int64_t step_bytes = task->options.table_bytes;

    return bytes / step_bytes + (bytes % step_bytes != 0);
}

/* Sizes of memory, in steps. */
struct vbs_table_ends {
    int64_t least; /* the least memory with a plan, whatever its latency */
    int64_t most;  /* the memory above which no plan is faster; -1: none keeps the latency in any
                      memory */
};

/* Finds the range of budgets. *peak_bytes becomes the largest memory that the search used.
 * VBS_NO_MEMORY, VBS_INTERRUPTED. O(n^2 r (n + r)) for each chain and branch. */
enum vbs_status vbs_table_find_ends(struct vbs_ctx *ctx, const struct vbs_task *task,
                                    const struct vbs_chain *chain, struct vbs_table_ends *ends,
                                    size_t *peak_bytes) VBS_MUST_CHECK;

#endif
