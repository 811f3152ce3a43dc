/* The weights of a tiny network as segments, for the search of brute_transfer_best. */
#ifndef TESTS_BRUTE_SEGMENTS_H
#define TESTS_BRUTE_SEGMENTS_H

#include "reference/brute_transfer.h"

#define BRUTE_SEGMENTS 8  /* what the ends of slices divide all formats of all weights into */
#define BRUTE_RANGES   64 /* slices that can be loaded */

/* A slice that can be loaded and evicted. */
struct brute_range {
    struct vbs_step step; /* its load */
    unsigned segments;    /* bit mask */
};

struct brute_segments {
    int n_ranges, n_segments;
    struct brute_range ranges[BRUTE_RANGES];
    int64_t bytes[BRUTE_SEGMENTS];
    int layer[BRUTE_SEGMENTS], format[BRUTE_SEGMENTS];
    struct brute_slice range[BRUTE_SEGMENTS];
};

/* Into how many slices a format's weights, or a layer without, may be divided. */
int brute_most_slices(const struct brute_best *best, int layer, int64_t weights);

/* False: there are too many. */
bool brute_segments_list(const struct brute_best *best, struct brute_segments *weights);

/* Bytes of the segments in a mask. */
int64_t brute_segments_bytes(const struct brute_segments *weights, unsigned segments);

/* The segments that a range of a format's weights has some byte of. */
unsigned brute_segments_in(const struct brute_segments *weights, int layer, int format,
                           const struct brute_slice *range);

#endif
