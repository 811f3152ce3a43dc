/*
 * plan/stripes: segments, runs of layers through which one sample passes by rows.
 *
 * A segment is a range of a topological order of the layers. Each of its layers computes some rows
 * of its output at a time, its height; tensors that only the segment reads live in windows, all
 * others are whole. Steps have one of two orders. In the late one a layer runs at its height when
 * the last layers of the segment need its rows; in the early one as soon as it can, the last ones
 * first. They differ where branches meet: what a short branch reads waits for it late, and what
 * it makes waits early. Layers lag: a convolution of 3 rows has one row less than its input. The
 * rows that a layer computes first are fewer by what it lags, so that from then on a step of the
 * input is enough for a step of the layer. Rows that remain at the end, and those at the
 * beginning, are computed in the heights that the profile has.
 *
 * Where weights count (task->rows_source), the weights of some layers of the segment are loaded
 * once and stay until its end; those of the others are loaded for every step that follows a step of
 * another layer. For each workspace, the layers whose weights stay are tried in the order in which
 * this saves most loads for their bytes. This is an estimate that leads to segments: which weights
 * stay is decided when the loads of a schedule are planned (plan/weights/stream.h).
 *
 * Bytes and times of a segment without weights are exact, found by walking through its steps. Which
 * heights are tried is a choice (search.c): the same height for all layers, heights in proportion
 * to the rows of the layers, and between the two; then single layers are made higher or lower where
 * this is better.
 */
#ifndef VBS_PLAN_STRIPES_STRIPES_H
#define VBS_PLAN_STRIPES_STRIPES_H

#include "plan/problem/problem.h"

/* A segment, as it can be chosen: its bytes hold all that is live. */
struct vbs_segment {
    int64_t bytes, ticks;
    int64_t once_ticks; /* of ticks: loads of weights that stay, once for all samples that run the
                           segment one behind the other */
    int from, to;       /* places in the order */
    bool early;         /* the order of the steps */
    const int *heights; /* [to - from + 1] rows of a step of each layer */
    int64_t most_ws;    /* no step has more workspace; where weights count: and weights */
};

/* Segments that are added one after the other. */
struct vbs_segment_list {
    struct vbs_segment *list;
    int64_t n, capacity;
};

/* Finds segments of one order of the layers. */
struct vbs_stripes;

/* Opens a finder for a topological order [n_layers], which is borrowed as the task is. Steps are
 * those of task->rows_source where there is one; ticks are always the task's.
 * VBS_NO_MEMORY. O(layers + stripes of the profile). */
enum vbs_status vbs_stripes_open(struct vbs_ctx *ctx, const struct vbs_task *task, const int *order,
                                 struct vbs_stripes **stripes) VBS_MUST_CHECK;
void vbs_stripes_close(struct vbs_stripes *stripes);

/* Adds segments of the places from..to, none of which takes more bytes and more ticks, for any
 * number of samples, than another one: before_bytes are live when the sample begins the segment.
 * Adds none where a layer cannot run by rows. Their arrays live as long as the finder.
 * VBS_NO_MEMORY, VBS_INTERRUPTED. O(segments tried x steps x layers). */
enum vbs_status vbs_stripes_find(struct vbs_ctx *ctx, struct vbs_stripes *stripes, int from, int to,
                                 int64_t before_bytes,
                                 struct vbs_segment_list *segments) VBS_MUST_CHECK;

/* Appends the steps of a segment. VBS_NO_MEMORY, VBS_USAGE. */
enum vbs_status vbs_stripes_emit(struct vbs_ctx *ctx, struct vbs_stripes *stripes,
                                 const struct vbs_segment *segment,
                                 struct vbs_step_list *steps) VBS_MUST_CHECK;

#endif
