/*
 * Slices of a layer and of its weights, by the rule of schedule.h.
 */
#ifndef VBS_PLAN_PROBLEM_SLICES_H
#define VBS_PLAN_PROBLEM_SLICES_H

#include "vbslab/schedule.h"

/* Part part of parts of a layer with weight_bytes: its bytes, from *first up to *end (schedule.h).
 */
void vbs_slice_bytes(const struct vbs_profile_layer *layer, int64_t weight_bytes, int slice,
                     int n_slices, int64_t *first, int64_t *end);

/* What part of parts takes of row's time. */
double vbs_slice_us(const struct vbs_profile_layer *layer, const struct vbs_profile_row *row,
                    int slice, int n_slices);

/* As many parts as layer's weights can be divided into, none of them empty; at most 4096. */
int vbs_slice_limit(const struct vbs_profile_layer *layer, int64_t weight_bytes);

/* As many parts as layer can run row in, none of them empty. */
int vbs_row_most_slices(const struct vbs_profile_layer *layer, const struct vbs_profile_row *row);

/* Bytes that the largest of so many parts does not exceed; exact where channels are alike. */
int64_t vbs_slice_largest(const struct vbs_profile_layer *layer, int64_t weight_bytes,
                          int n_slices);

/* The fewest parts whose largest takes at most room_bytes; 0: none do. */
int vbs_slices_within(const struct vbs_profile_layer *layer, int64_t weight_bytes,
                      int64_t free_bytes);

/* The fewest that layer can run row in whose largest takes at most room_bytes; 0: none do. */
int vbs_row_slices_within(const struct vbs_profile_layer *layer, const struct vbs_profile_row *row,
                          int64_t free_bytes);

#endif
