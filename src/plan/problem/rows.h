/*
 * Rows of samples, as planners count them (docs/accounting.md, "Rows"). The replay has its own
 * arithmetic.
 */
#ifndef VBS_PLAN_PROBLEM_ROWS_H
#define VBS_PLAN_PROBLEM_ROWS_H

#include "plan/problem/task.h"
#include "profile/reach.h"

/* Gives the first row of an input of n rows that the output's row number row reads, or a later row
 * does; n where no row is left. The layer has rows in all. */
int64_t vbs_reach_first(const struct vbs_reach *reach, int64_t n, int64_t row, int64_t rows);

/* Gives how many rows of the output can be computed of an input of which done of n rows exist: none
 * before the first one, and all of the layer's rows only when the input is complete. */
int64_t vbs_reach_available(const struct vbs_reach *reach, int64_t n, int64_t done, int64_t rows);

/* Returns the bytes of the rows of the network's input that rows of a layer read, for one sample; 0
 * where it is kept inside anyway, or not read. */
int64_t vbs_outside_row_bytes(const struct vbs_task *task, int layer, int row, int rows);

/* Returns the bytes of the network's input that a step with rows has inside, for one sample: those
 * of the rows that it reads, and whole samples where it computes all rows of its layer. */
int64_t vbs_outside_step_bytes(const struct vbs_task *task, int layer, int row, int rows);

/* Gives the row of a profile that a step with rows runs, which must exist. */
const struct vbs_profile_row *vbs_task_stripe(const struct vbs_task *task,
                                              const struct vbs_step *step);

/* The samples of a layer's output that are in windows, within a walk (lattice.h): how many from
 * first on, and the bytes of each. Planners never have windows of two steps of samples alive at a
 * time. */
struct vbs_walk_windows {
    int first, n;
    int64_t bytes;
};

#endif
