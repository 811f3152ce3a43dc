/*
 * Streams: from compute steps to a schedule with transfers.
 *
 * The weights are divided into blocks. The compute steps, in their given order, visit the blocks
 * that they read in a known order, as in offline paging. Between two visits a block is kept, or
 * evicted and loaded again. The same holds between its last visit in a request and its first visit
 * in the next request: a block that is kept there is resident at the start. All is decided within a
 * budget:
 *
 *   keep      gaps between visits, shortest first, wherever the block fits beside every step of the
 *             gap (Belady's rule, "A study of replacement algorithms", 1966, for blocks of any size
 *             and a free memory that changes from step to step; a heuristic here, because the best
 *             choice is NP-hard);
 *   prefetch  loads in the order in which steps need them, each as early as the memory and the load
 *             before it allow, but not earlier than the copy clock can use. For given loads in this
 *             order no other positions end earlier: a load at a later position saves memory only
 *             before the position where the next load may begin. Where copies and computing slow
 *             each other down (struct vbs_link), this is a heuristic, and no load stands before a
 *             step beside which copying takes longer than copying and computing in turn.
 */
#ifndef VBS_PLAN_WEIGHTS_STREAM_H
#define VBS_PLAN_WEIGHTS_STREAM_H

#include "plan/problem/problem.h"

/* A slice of a layer's weights in one packed format, loaded and evicted as a whole. */
struct vbs_weight_block {
    int layer, format, slice, n_slices;
    int64_t bytes;
    double copy_us;
};

/* A step reads a block. */
struct vbs_visit {
    int slot; /* the step */
    int block;
    int next;     /* the next visit of the same block; after the last, the first */
    int previous; /* the previous visit of the same block */
};

/* The number of slices for the weights of each layer and format, at layer * n_formats + format; 0:
 * not divided. */
struct vbs_slicing {
    int n_formats; /* the largest format of the profile, plus 1 */
    int *n_slices;
};

static inline int *vbs_slicing_at(const struct vbs_slicing *slicing, int layer, int format)
{
    return &slicing->n_slices[(size_t)layer * (size_t)slicing->n_formats + (size_t)format];
}

struct vbs_stream {
    const struct vbs_task *task;
    struct vbs_step_list computes; /* slot by slot */
    int64_t *step_bytes;           /* [n_slots] of a step without weights */
    double *step_us;               /* [n_slots] */
    double compute_us;             /* of all, repetitions included */
    int n_blocks;
    struct vbs_weight_block *blocks;
    int n_visits;
    struct vbs_visit *visits; /* by slot */
    int *gaps;                /* [n_visits] visits, by the length of the gap after them */
    int64_t least_bytes;      /* the least budget */
    /* Slots repeated_from..repeated_to-1 stand for n_repeats more repetitions (vbs_stream_repeat).
     */
    int repeated_from, repeated_to;
    int n_repeats;
    struct vbs_arena arena;
};

/* Allocates *slicing in arena; every entry is 0. VBS_NO_MEMORY. */
enum vbs_status vbs_slicing_init(struct vbs_ctx *ctx, const struct vbs_task *task,
                                 struct vbs_arena *arena,
                                 struct vbs_slicing *slicing) VBS_MUST_CHECK;

/* In which order the steps of a stream run. */
struct vbs_stream_order {
    bool joins_steps; /* each slice runs all consecutive steps of its layer, so that one load serves
                         all of them; else each step runs all of its slices */
    int delayed_from; /* this layer and those behind it run among the steps of the layers before for
                         the samples that follow, so that copies of their weights run beside these;
                         0: no layer does */
};

/*
 * Makes a stream, freed by vbs_stream_clear. Where the row allows it (vbs_profile_divides) and the
 * weights of the layer are divided, steps run in slices. VBS_NO_MEMORY, VBS_INTERRUPTED.
 * O(steps log steps).
 */
enum vbs_status vbs_stream_init(struct vbs_ctx *ctx, const struct vbs_task *task,
                                const struct vbs_step *steps, int64_t n_steps,
                                const struct vbs_slicing *slicing,
                                const struct vbs_stream_order *order,
                                struct vbs_stream *stream) VBS_MUST_CHECK;
void vbs_stream_clear(struct vbs_stream *stream);

/* Makes a stream of at least three equal chunks of so many samples stand for one with n_repeats
 * more of them: times count the second chunk as often. What is planned for it is an estimate; only
 * a stream of the whole request leads to a schedule. O(slots). */
void vbs_stream_repeat(struct vbs_stream *stream, int chunk, int n_repeats);

struct vbs_stream_rule {
    bool keeps; /* gaps are kept; else every block is evicted after each run of visits in
                   consecutive steps */
    int64_t reserved_bytes; /* not used for keeping, so that prefetching can use them */
    const int *earliest; /* [n_visits] slot before which the visit's load must not stand; null: 0 */
    const int *gaps;     /* [n_visits] as in the stream, in the order in which they are tried; null:
                            shortest first */
    /* [n_visits] or null. Where it is given, vbs_stream_plan sets for each visit the share of its
     * load's time, 0..1, by which the request would end earlier without the load, as far as the
     * loads queued behind it tell; for a block that is kept, the share by which the request would
     * end later with a load. Both are estimates. */
    double *waited;
};

/* Totals of the schedule. */
struct vbs_streamed {
    double time_us;
    int64_t peak_bytes;
};

/* Plans the transfers within memory_bytes. VBS_INFEASIBLE (without a detail): the budget is below
 * least_bytes, or nothing can be copied and not all weights fit. When steps is not null, the whole
 * schedule is appended to it. VBS_NO_MEMORY, VBS_INTERRUPTED.
 * O((visits + steps) log steps + slots by which loads are early). */
enum vbs_status vbs_stream_plan(struct vbs_ctx *ctx, const struct vbs_stream *stream,
                                const struct vbs_stream_rule *rule, int64_t memory_bytes,
                                struct vbs_streamed *streamed,
                                struct vbs_step_list *steps) VBS_MUST_CHECK;

/* Counts the steps between visit v and the next of its block, across the end of the request if
 * necessary. */
int vbs_stream_gap_length(const struct vbs_stream *stream, int v);

/* Gives the bytes of the largest block. O(blocks). */
int64_t vbs_stream_largest_block(const struct vbs_stream *stream);

#endif
