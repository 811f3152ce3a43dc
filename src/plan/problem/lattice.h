/*
 * Walking the lattice of progress: memory of each step as docs/accounting.md defines it.
 *
 * For planners only; the replay has its own. A walk starts at the state in which no layer has done
 * any sample; steps must be possible (their inputs exist), which is the caller's care. Weights are
 * not counted here: timeline.h.
 */
#ifndef VBS_PLAN_PROBLEM_LATTICE_H
#define VBS_PLAN_PROBLEM_LATTICE_H

#include "plan/problem/task.h"

struct vbs_walk {
    const struct vbs_task *task;
    int *progress;                  /* [0..n] samples each layer has done; [0] = request */
    int64_t live_bytes;             /* of all samples kept inside the budget */
    int64_t done;                   /* sum of progress[1..n] */
    int furthest;                   /* largest of progress[1..n] */
    struct vbs_division *divisions; /* [0..n], null until a layer is taken in parts */
    int n_divided;                  /* layers of which some parts are ahead of others */
};

/* How far the parts of a layer are. */
struct vbs_division {
    int n_slices;
    int begun;    /* samples that some part has done */
    int n_behind; /* parts that have done no more than the layer */
    int *done;    /* [parts] */
};

enum vbs_status vbs_walk_init(struct vbs_ctx *ctx, struct vbs_walk *walk,
                              const struct vbs_task *task) VBS_MUST_CHECK;
void vbs_walk_clear(struct vbs_walk *walk);

/* Takes the step (layer, batch) and returns its memory without workspace. O(inputs x readers). */
int64_t vbs_walk_step(struct vbs_walk *walk, int layer, int batch);

/* The same for part (1..parts) of a layer; *bytes is its memory. O(inputs x readers), and a
 * scan of the parts when the last of them comes up. */
enum vbs_status vbs_walk_slice(struct vbs_ctx *ctx, struct vbs_walk *walk,
                               const struct vbs_step *step, int64_t *bytes) VBS_MUST_CHECK;

/* True when every layer has done the same samples: with external io a chunk ends here. */
bool vbs_walk_between_chunks(const struct vbs_walk *walk);

#endif
