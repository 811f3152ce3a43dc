/*
 * Walks through the lattice of progress, with the memory of each step as docs/accounting.md defines
 * it.
 *
 * For planners only; the replay has its own. A walk starts at the state in which no layer has done
 * any sample; steps must be possible (their inputs exist), which the caller ensures. Weights are
 * not counted here: timeline.h counts them.
 */
#ifndef VBS_PLAN_PROBLEM_LATTICE_H
#define VBS_PLAN_PROBLEM_LATTICE_H

#include "plan/problem/rows.h"

struct vbs_walk {
    const struct vbs_task *task;
    int *progress;                    /* [0..n] samples each layer has done; [0] = request */
    int64_t live_bytes;               /* of all samples kept inside the budget */
    int64_t done;                     /* sum of progress[1..n] */
    int furthest;                     /* largest of progress[1..n] */
    struct vbs_division *divisions;   /* [0..n], null until a layer runs in slices */
    int n_divided;                    /* layers of which some slices are ahead of others */
    struct vbs_walk_windows *windows; /* [0..n], null until a step has rows */
    int n_in_rows;                    /* layers that have begun samples by rows */
};

/* Progress of the slices of one layer. */
struct vbs_division {
    int n_slices;
    int begun;    /* samples that at least one slice has done */
    int n_behind; /* slices that have done no more samples than the layer */
    int *done;    /* [n_slices] samples that each slice has done */
};

enum vbs_status vbs_walk_init(struct vbs_ctx *ctx, struct vbs_walk *walk,
                              const struct vbs_task *task) VBS_MUST_CHECK;
void vbs_walk_clear(struct vbs_walk *walk);

/* Makes the step (layer, batch) and returns its bytes without workspace. O(inputs x readers). */
int64_t vbs_walk_step(struct vbs_walk *walk, int layer, int batch);

/* Does the same for a step on one slice of a layer; *bytes are its bytes without workspace.
 * VBS_NO_MEMORY. O(inputs x readers); O(slices) more when the last slice catches up. */
enum vbs_status vbs_walk_slice(struct vbs_ctx *ctx, struct vbs_walk *walk,
                               const struct vbs_step *step, int64_t *bytes) VBS_MUST_CHECK;

/* Does the same for a step with rows. VBS_NO_MEMORY. O(inputs x readers). */
enum vbs_status vbs_walk_rows(struct vbs_ctx *ctx, struct vbs_walk *walk,
                              const struct vbs_step *step, int64_t *bytes) VBS_MUST_CHECK;

/* True when every layer has done the same samples: with external io a chunk ends here. */
bool vbs_walk_between_chunks(const struct vbs_walk *walk);

#endif
