/*
 * Streams: from compute steps to a schedule with transfers.
 *
 * Given compute steps in their order, the weights that each reads, cut into pieces, are visited in
 * a known order, as pages are in offline paging. Between two visits a piece is kept, or dropped and
 * loaded again; from the last visit over the end of the request to its first visit in the next one
 * likewise (a piece kept there is resident at the start). All is decided within a budget:
 *
 *   keep      gaps between visits, shortest first, wherever the piece fits beside every step of the
 *             gap (Belady's rule, "A study of replacement algorithms", 1966, for pieces of any size
 *             and a memory whose free part changes from step to step; a heuristic here, for the
 *             best choice is NP-hard);
 *   prefetch  loads in the order in which they are needed, each as early as memory and the load
 *             before it allow, but not earlier than the copy clock can use. For given loads in
 *             this order no placement ends earlier: a load that stands later takes less memory only
 *             before the place where the next one may begin.
 */
#ifndef VBS_PLAN_WEIGHTS_STREAM_H
#define VBS_PLAN_WEIGHTS_STREAM_H

#include "plan/problem/problem.h"

/* A part of a layer's weights in one form, loaded and dropped as a whole. */
struct vbs_weight_block {
    int layer, format, slice, n_slices;
    int64_t bytes;
    double copy_us;
};

/* A step reads a piece. */
struct vbs_visit {
    int slot; /* the step */
    int block;
    int next;     /* the next visit of the same piece, the first after the last */
    int previous; /* likewise */
};

/* How finely the weights are cut: parts of layer and form, at layer * n_forms + form; 0: whole. */
struct vbs_slicing {
    int n_formats; /* the largest form of the profile, and 1 */
    int *n_slices;
};

struct vbs_stream {
    const struct vbs_task *task;
    struct vbs_step_list computes; /* slot by slot */
    int64_t *step_bytes;           /* [n_slots] of a step without weights */
    double *step_us;               /* [n_slots] */
    double compute_us;             /* of all */
    int n_blocks;
    struct vbs_weight_block *blocks;
    int n_visits;
    struct vbs_visit *visits; /* by slot */
    int *gaps;                /* [n_visits] visits, by the length of the gap after them */
    int64_t least_bytes;      /* the least budget */
    struct vbs_arena arena;
};

/* All in *cutting is allocated in arena; every entry is 0. */
enum vbs_status vbs_slicing_init(struct vbs_ctx *ctx, const struct vbs_task *task,
                                 struct vbs_arena *arena,
                                 struct vbs_slicing *cutting) VBS_MUST_CHECK;

/*
 * Steps are taken in parts where the row allows it (vbs_profile_divides) and the layer's weights
 * are cut: each part of a layer runs all of the steps of that layer that follow each other, so that
 * it is loaded once for all of them. joins false: for each step alone. O(steps log steps).
 */
enum vbs_status vbs_stream_init(struct vbs_ctx *ctx, const struct vbs_task *task,
                                const struct vbs_step *steps, int64_t n_steps,
                                const struct vbs_slicing *cutting, bool joins,
                                struct vbs_stream *stream) VBS_MUST_CHECK;
void vbs_stream_clear(struct vbs_stream *stream);

struct vbs_stream_rule {
    bool keeps; /* gaps are kept; else every piece is dropped after each run of visits in
                   steps that follow each other */
    int64_t reserved_bytes; /* not used for keeping: left to prefetching */
    const int *earliest; /* [n_visits] slot before which the visit's load must not stand; null: 0 */
};

/* What came of it. */
struct vbs_streamed {
    double time_us;
    int64_t peak_bytes;
};

/* The transfers within memory_bytes. VBS_INFEASIBLE (without a detail): below least_bytes, or
 * nothing can be copied and not all fits. When steps is not null, the whole schedule is appended.
 * O((visits + steps) log steps + slots by which loads are early). */
enum vbs_status vbs_stream_plan(struct vbs_ctx *ctx, const struct vbs_stream *stream,
                                const struct vbs_stream_rule *rule, int64_t memory_bytes,
                                struct vbs_streamed *streamed,
                                struct vbs_step_list *steps) VBS_MUST_CHECK;

#endif
