/* The time of a slice. Internal to the library and its program. Planners and the replay have their
 * own arithmetic. */
#ifndef VBS_PROFILE_SLICE_H
#define VBS_PROFILE_SLICE_H

#include "vbslab/profile.h"

/* Returns the share of the time of a row of the layer that slice number slice, 1..n_slices, takes:
 * its channels of all, or, where the layer has none, an equal share. 1 where n_slices is 0 or 1. */
static inline double vbs_slice_share(const struct vbs_profile_layer *layer, int slice, int n_slices)
{
    int64_t channels = layer->channels;

    if (n_slices <= 1)
        return 1;
    if (channels == 0)
        return 1.0 / n_slices;
    return (double)(slice * channels / n_slices - (slice - 1) * channels / n_slices) /
           (double)channels;
}

#endif
