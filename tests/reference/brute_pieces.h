/* The weights of a tiny network as pieces, for the search of brute_transfer_best. */
#ifndef TESTS_BRUTE_PIECES_H
#define TESTS_BRUTE_PIECES_H

#include "reference/brute_transfer.h"

#define BRUTE_PIECES 8  /* what the ends of slices divide all forms of all weights into */
#define BRUTE_RANGES 64 /* slices that can be loaded */

/* A slice that can be loaded and evicted. */
struct brute_range {
    struct vbs_step step; /* its load */
    unsigned pieces;      /* bit mask */
};

struct brute_pieces {
    int n_ranges, n_pieces;
    struct brute_range ranges[BRUTE_RANGES];
    int64_t bytes[BRUTE_PIECES];
    int layer[BRUTE_PIECES], form[BRUTE_PIECES];
    struct brute_slice range[BRUTE_PIECES];
};

/* Into how many slices a form's weights, or a layer without, may be divided. */
int brute_most_slices(const struct brute_best *best, int layer, int64_t weights);

/* False: there are too many. */
bool brute_pieces_list(const struct brute_best *best, struct brute_pieces *weights);

/* Bytes of the pieces in a mask. */
int64_t brute_pieces_bytes(const struct brute_pieces *weights, unsigned pieces);

/* The pieces that a range of a form's weights has some byte of. */
unsigned brute_pieces_in(const struct brute_pieces *weights, int layer, int form,
                         const struct brute_slice *range);

#endif
