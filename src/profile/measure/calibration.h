/* The kernels of a calibration, for tests. Internal to the room. */
#ifndef VBS_PROFILE_MEASURE_CALIBRATION_H
#define VBS_PROFILE_MEASURE_CALIBRATION_H

#include "vbslab/measure.h"

/* The microseconds of each layer in passes of one kind: [n_passes][n_layers + 1], as they came; of
 * number 0, the whole pass. */
struct vbs_pass_record {
    const double *times_us;
    int n_passes;
};

/*
 * Computes the factors [1..n_layers] of layers in passes beside a copy. The ratio of a layer's
 * median times is multiplied by a number for all layers, so that the sum of the layers has the
 * ratio of the mean times of whole passes: a thread with the lowest priority takes a processor
 * seldom, but then for milliseconds, which medians of short layers do not show. Each factor is at
 * least 1. scratch: [n_passes of the longer record]. O(passes log passes) for each layer.
 */
void vbs_beside_factors(const struct vbs_pass_record *alone, const struct vbs_pass_record *beside,
                        int n_layers, double *scratch, double *factors);

#endif
