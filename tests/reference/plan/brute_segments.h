/* The weights of a tiny network as segments, for the search of brute_transfer_best. */
#ifndef TESTS_BRUTE_SEGMENTS_H
#define TESTS_BRUTE_SEGMENTS_H

#include "reference/plan/brute_transfer.h"

/* The ranges into which the ends of slices divide the weights of all formats. */
#define BRUTE_SEGMENTS 8
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

/* Gives the largest number of slices into which a format's weights, or a layer without weights, may
 * be divided. */
int brute_most_slices(const struct brute_best *best, int layer, int64_t weights);

/* Lists the segments. False: there are too many. */
bool brute_segments_list(const struct brute_best *best, struct brute_segments *weights);

/* Gives the bytes of the segments in a mask. */
int64_t brute_segments_bytes(const struct brute_segments *weights, unsigned segments);

/* Gives the segments of which a range of a format's weights has some byte. */
unsigned brute_segments_in(const struct brute_segments *weights, int layer, int format,
                           const struct brute_slice *range);

#endif
