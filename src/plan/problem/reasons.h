/*
 * Explanations while they are made: planners add decisions and candidates. include/vbslab/explain.h
 * has the types.
 */
#ifndef VBS_PLAN_PROBLEM_REASONS_H
#define VBS_PLAN_PROBLEM_REASONS_H

#include "base/arena.h"
#include "plan/problem/task.h"
#include "vbslab/explain.h"

/* What is to be explained: a plan, or one part of the work. */
struct vbs_question {
    int64_t memory_bytes;
    const struct vbs_step *steps; /* of the plan; null: a part is asked for */
    int64_t n_steps;
    int first_layer, last_layer, samples; /* of the part */
    bool with_cells, with_curves;
};

/* The explanation, with what its growth needs. */
struct vbs_reasons {
    struct vbs_explanation made; /* first, so that its address is the explanation's */
    struct vbs_ctx *ctx;
    const struct vbs_task *task;
    struct vbs_decision *decisions;
    int64_t capacity;
    int64_t n_entries;          /* decisions, candidates and cells */
    struct vbs_candidate *open; /* candidates of the decision that is made now */
    int64_t open_capacity;
    int n_open;
    struct vbs_arena arena;
};

/* Begins a decision: its candidates are added next. VBS_NO_MEMORY, VBS_USAGE: too many entries. */
enum vbs_status vbs_reasons_begin(struct vbs_reasons *reasons, int parent,
                                  const struct vbs_decision *decision, int *index) VBS_MUST_CHECK;

/* Adds a candidate with n_parts parts, which are copied. */
enum vbs_status vbs_reasons_add(struct vbs_reasons *reasons, const struct vbs_candidate *candidate,
                                const struct vbs_part *parts, int n_parts) VBS_MUST_CHECK;

/* Ends the decision `index`; the candidates since vbs_reasons_begin become its own, and the one
 * with this choice and number its choice, whose time and memory become the decision's. */
enum vbs_status vbs_reasons_end(struct vbs_reasons *reasons, int index, enum vbs_choice choice,
                                int at) VBS_MUST_CHECK;

/* Adds a candidate for each algorithm of layer at batch, in a step that takes base_bytes beside its
 * workspace; none where the profile has no such batch. */
enum vbs_status vbs_reasons_add_rows(struct vbs_reasons *reasons, int layer, int batch,
                                     int64_t base_bytes, int64_t memory_bytes) VBS_MUST_CHECK;

/* Adds the decision for one step: by which algorithm a layer runs. */
enum vbs_status vbs_reasons_step(struct vbs_reasons *reasons, int parent, int layer, int batch,
                                 int64_t base_bytes, int64_t memory_bytes) VBS_MUST_CHECK;

/* Makes the time of a decision without candidates the sum, and its memory the largest, of those of
 * its children. */
void vbs_reasons_sum(struct vbs_reasons *reasons, int index);

/* Replaces the algorithms of all steps: a by algorithms[a]. */
void vbs_reasons_rename(struct vbs_reasons *reasons, const int *algorithms);

/* Gives the decision `index` the points of its curve, which lie in the arena and count as entries.
 * VBS_USAGE: too many entries. */
enum vbs_status vbs_reasons_curve(struct vbs_reasons *reasons, int index,
                                  const struct vbs_frontier_point *points, int n) VBS_MUST_CHECK;

/* Counts n more entries. VBS_USAGE: too many. */
enum vbs_status vbs_reasons_count(struct vbs_reasons *reasons, int64_t n) VBS_MUST_CHECK;

#endif
