/*
 * Lists of budgets.
 */
#ifndef VBS_PLAN_PROBLEM_BUDGET_LIST_H
#define VBS_PLAN_PROBLEM_BUDGET_LIST_H

#include "vbslab/status.h"

#include <stdint.h>

/* Budgets for which a planner tries schedules. After vbs_budget_list_sort they ascend, and each
 * occurs once. A list begins as {0}. */
struct vbs_budget_list {
    int n;
    int64_t capacity;
    int64_t *bytes;
};

enum vbs_status vbs_budget_list_add(struct vbs_ctx *ctx, struct vbs_budget_list *budgets,
                                    int64_t bytes) VBS_MUST_CHECK;
/* Adds both ends and the round budgets between them: 16 in each octave, the multiples of a 16th of
 * a power of two. Every even number of MiB below 64 is one of them. */
enum vbs_status vbs_budget_list_add_grid(struct vbs_ctx *ctx, struct vbs_budget_list *budgets,
                                         int64_t from_bytes, int64_t to_bytes) VBS_MUST_CHECK;
/* Gives the number of budgets of a sorted list that are at most bytes. O(log budgets). */
int vbs_budget_list_count(const struct vbs_budget_list *budgets, int64_t bytes);
void vbs_budget_list_sort(struct vbs_budget_list *budgets);
void vbs_budget_list_clear(struct vbs_budget_list *budgets);

#endif
