/*
 * Lists of steps that grow while a planner makes a schedule.
 */
#ifndef VBS_PLAN_PROBLEM_STEPS_H
#define VBS_PLAN_PROBLEM_STEPS_H

#include "plan/problem/task.h"

/* Steps of a schedule that is being made; algorithm is an index into the profile's algorithms. */
struct vbs_step_list {
    struct vbs_step *steps;
    int64_t n_steps, capacity;
};

/* Appends a compute step. VBS_NO_MEMORY, or VBS_USAGE beyond VBS_MAX_STEPS. */
enum vbs_status vbs_step_list_add(struct vbs_ctx *ctx, struct vbs_step_list *list, int layer,
                                  int batch, int algorithm) VBS_MUST_CHECK;
/* Appends a step of any kind; errors as above. */
enum vbs_status vbs_step_list_append(struct vbs_ctx *ctx, struct vbs_step_list *list,
                                     const struct vbs_step *step) VBS_MUST_CHECK;
/* Appends n steps; errors as above. */
enum vbs_status vbs_step_list_copy(struct vbs_ctx *ctx, const struct vbs_step *steps, int64_t n,
                                   struct vbs_step_list *to) VBS_MUST_CHECK;
void vbs_step_list_clear(struct vbs_step_list *list);

/* Sums the steps' times in their order, as schedules and the replay report the sum with weights
 * excluded. */
double vbs_step_list_us(const struct vbs_task *task, const struct vbs_step_list *list);

/* Gives whether the list has n steps with the layers and batches of these. */
bool vbs_step_list_same_batches(const struct vbs_step_list *list, const struct vbs_step *steps,
                                int64_t n);

#endif
