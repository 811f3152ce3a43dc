/*
 * The numbers of samples for which guillotine cuttings are solved.
 */
#ifndef VBS_PLAN_DP_COUNTS_H
#define VBS_PLAN_DP_COUNTS_H

#include "base/arena.h"
#include "plan/problem/problem.h"

/*
 * All numbers up to the request, or fewer where task->exact_samples is e > 0: all up to e (at least
 * 8), then the multiples of 8 up to 8 e, the multiples of 64 up to 64 e and so on, the request, and
 * the remainders that it leaves. Each number above 1 is the sum of two others, so that every number
 * of samples can be split.
 */
struct vbs_counts {
    int n;
    int *list;  /* [n] ascends; the last is the request */
    int *index; /* [0..request] in list, or -1 */
    int exact;  /* all numbers up to this one are in the list */
};

/* Fills *counts, allocated in arena. VBS_NO_MEMORY. O(request). */
enum vbs_status vbs_counts_find(struct vbs_ctx *ctx, const struct vbs_task *task,
                                struct vbs_arena *arena, struct vbs_counts *counts) VBS_MUST_CHECK;

#endif
