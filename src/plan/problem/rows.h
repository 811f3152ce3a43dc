/*
 * Rows of samples, as planners count them (docs/accounting.md, "Rows"). The replay has its own
 * arithmetic.
 */
#ifndef VBS_PLAN_PROBLEM_ROWS_H
#define VBS_PLAN_PROBLEM_ROWS_H

#include "plan/problem/task.h"

/* Gives whether schedules of the task may have steps with rows. O(layers). */
bool vbs_task_has_rows(const struct vbs_task *task);

/* Computes floor(a / b), b above 0. */
static inline int64_t vbs_floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Gives the first row of an input of n rows that the output's row number row reads, or a later row
 * does; n where no row is left. The layer has rows in all. */
int64_t vbs_reach_first(const struct vbs_reach *reach, int64_t n, int64_t row, int64_t rows);

/* Gives the row behind the last one of an input of n rows that the output's rows before row number
 * end read, end above 0. */
int64_t vbs_reach_end(const struct vbs_reach *reach, int64_t n, int64_t end);

/* Gives how many rows of the output can be computed of an input of which done of n rows exist: none
 * before the first one, and all of the layer's rows only when the input is complete. */
int64_t vbs_reach_available(const struct vbs_reach *reach, int64_t n, int64_t done, int64_t rows);

/* Gives the bytes of a window of one sample of a tensor. */
int64_t vbs_window_bytes(const struct vbs_task *task, int tensor, int window);

/* Gives the bytes of the network's input that a step with rows needs inside, for one sample; 0
 * where it is kept inside anyway, or not read. */
int64_t vbs_outside_row_bytes(const struct vbs_task *task, int layer, int row, int rows);

/* Gives the row of a profile that a step with rows runs, which must exist. */
const struct vbs_profile_row *vbs_task_stripe(const struct vbs_task *task,
                                              const struct vbs_step *step);

/* The progress of one layer by rows, within a walk (lattice.h). */
struct vbs_row_progress {
    int batch, done; /* of the samples that are begun: how many, and their rows that are done */
    /* The samples whose windows are not the sample: how many from first on, and the bytes of each.
     * Planners never have windows of two steps of samples alive at a time. */
    int first, n_windows;
    int64_t bytes;
};

#endif
