/*
 * Slices of a layer and of its weights, by the rule of schedule.h.
 */
#ifndef VBS_PLAN_PROBLEM_SLICES_H
#define VBS_PLAN_PROBLEM_SLICES_H

#include "vbslab/schedule.h"

/* Gives the bytes of slice 1..n_slices of a layer with weight_bytes: from *first up to *end,
 * excluded. */
void vbs_slice_bytes(const struct vbs_profile_layer *layer, int64_t weight_bytes, int slice,
                     int n_slices, int64_t *first, int64_t *end);

/* Gives the microseconds that one of n_slices slices takes of the time of row. */
double vbs_slice_us(const struct vbs_profile_layer *layer, const struct vbs_profile_row *row,
                    int slice, int n_slices);

/* Gives the largest number of slices, none of them empty, into which the weights of layer can be
 * divided; at most 4096. */
int vbs_slice_limit(const struct vbs_profile_layer *layer, int64_t weight_bytes);

/* Gives the largest number of slices, none of them empty, in which layer can run row. */
int vbs_row_most_slices(const struct vbs_profile_layer *layer, const struct vbs_profile_row *row);

/* Gives an upper bound of the bytes of the largest of n_slices slices; exact where all channels
 * have equally many bytes. */
int64_t vbs_slice_largest(const struct vbs_profile_layer *layer, int64_t weight_bytes,
                          int n_slices);

/* Gives the least number of slices of which the largest takes at most free_bytes; 0: there is
 * none. */
int vbs_slices_within(const struct vbs_profile_layer *layer, int64_t weight_bytes,
                      int64_t free_bytes);

/* Gives the same among the numbers of slices in which layer can run row. */
int vbs_row_slices_within(const struct vbs_profile_layer *layer, const struct vbs_profile_row *row,
                          int64_t free_bytes);

#endif
