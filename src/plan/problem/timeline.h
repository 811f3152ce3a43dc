/*
 * Timelines: what a whole schedule comes to, in bytes and on both clocks (schedule.h).
 *
 * For planners only; the replay has its own. Schedules must be possible, which is the caller's
 * care: inputs exist, and weights that are read have been loaded.
 */
#ifndef VBS_PLAN_PROBLEM_TIMELINE_H
#define VBS_PLAN_PROBLEM_TIMELINE_H

#include "plan/problem/lattice.h"

/* What a whole schedule comes to by the exact accounting. */
struct vbs_walked {
    int64_t peak_bytes;
    struct vbs_step peak_step; /* the first that reaches the peak */
    double time_us;            /* the end of the last step */
    int64_t latency_ticks;     /* of the chunk that takes longest (struct vbs_problem) */
    double latency_us;         /* likewise, added up as reported */
    /* Weights included: what loads take, residents' not counted, and bring. */
    double copy_us;
    int64_t copied_bytes, resident_bytes;
};

/* Walks all steps; there must be one. */
enum vbs_status vbs_walk_all(struct vbs_ctx *ctx, const struct vbs_task *task,
                             const struct vbs_step_list *steps,
                             struct vbs_walked *walked) VBS_MUST_CHECK;

/* Microseconds that a copy of bytes takes; HUGE_VAL when nothing can be copied. */
double vbs_task_copy_us(const struct vbs_task *task, int64_t bytes);

/* Part part of parts of a layer with weight_bytes: its bytes, from *first up to *end (schedule.h).
 */
void vbs_part_bytes(const struct vbs_profile_layer *layer, int64_t weight_bytes, int part,
                    int parts, int64_t *first, int64_t *end);

/* What part of parts takes of row's time. */
double vbs_part_us(const struct vbs_profile_layer *layer, const struct vbs_profile_row *row,
                   int part, int parts);

/* As many parts as layer's weights can be divided into, none of them empty; at most 4096. */
int vbs_part_limit(const struct vbs_profile_layer *layer, int64_t weight_bytes);

/* As many parts as layer can run row in, none of them empty. */
int vbs_row_most_parts(const struct vbs_profile_layer *layer, const struct vbs_profile_row *row);

/* Bytes that the largest of so many parts does not exceed; exact where channels are alike. */
int64_t vbs_part_largest(const struct vbs_profile_layer *layer, int64_t weight_bytes, int parts);

/* The fewest parts whose largest takes at most room_bytes; 0: none do. */
int vbs_parts_within(const struct vbs_profile_layer *layer, int64_t weight_bytes,
                     int64_t room_bytes);

/* The fewest that layer can run row in whose largest takes at most room_bytes; 0: none do. */
int vbs_row_parts_within(const struct vbs_profile_layer *layer, const struct vbs_profile_row *row,
                         int64_t room_bytes);

#endif
