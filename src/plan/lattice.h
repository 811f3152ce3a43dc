/*
 * Walking the lattice of progress (DESIGN 2, 3): memory of each step by the exact accounting.
 *
 * For planners only; the replay has its own. A walk starts at the state in which no layer has done
 * any sample; steps must be possible (their inputs exist), which is the caller's care.
 */
#ifndef VBS_PLAN_LATTICE_H
#define VBS_PLAN_LATTICE_H

#include "plan/planner.h"

struct vbs_walk {
    const struct vbs_task *task;
    int *progress;      /* [0..n] samples each layer has done; [0] = request */
    int64_t live_bytes; /* of all samples kept inside the budget */
    int64_t done;       /* sum of progress[1..n] */
    int furthest;       /* largest of progress[1..n] */
};

enum vbs_status vbs_walk_init(struct vbs_ctx *ctx, struct vbs_walk *walk,
                              const struct vbs_task *task) VBS_MUST_CHECK;
void vbs_walk_clear(struct vbs_walk *walk);

/* Takes the step (layer, batch) and returns its memory without workspace. O(inputs x readers). */
int64_t vbs_walk_step(struct vbs_walk *walk, int layer, int batch);

/* What a whole schedule comes to by the exact accounting. */
struct vbs_walked {
    int64_t peak_bytes;
    struct vbs_step peak_step; /* the first that reaches the peak */
    int64_t latency_ticks;     /* of the chunk that takes longest (struct vbs_problem) */
    double latency_us;         /* likewise, added up as reported */
};

/* Walks all steps; there must be one. */
enum vbs_status vbs_walk_all(struct vbs_ctx *ctx, const struct vbs_task *task,
                             const struct vbs_step_list *steps,
                             struct vbs_walked *walked) VBS_MUST_CHECK;

#endif
