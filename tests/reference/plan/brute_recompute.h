/*
 * The definition of plans that compute borders again (docs/concepts.md, "Rows that are computed
 * again"), by trying all of them: every way to cut the layers into segments and every number of
 * tiles of each, tile by tile, step by step, with rows and columns that are marked one by one.
 */
#ifndef TESTS_BRUTE_RECOMPUTE_H
#define TESTS_BRUTE_RECOMPUTE_H

#include "vbslab/profile.h"
#include "vbslab/schedule.h"

#define BRUTE_TILES_LAYERS 10
#define BRUTE_TILES_ROWS   24

enum brute_tiles {
    BRUTE_TILES_PATCH,
    BRUTE_TILES_PATCH_2D,
    BRUTE_TILES_FUSION,
    BRUTE_TILES_FUSION_2D
};

/* Gives the least time of a request within memory_bytes; HUGE_VAL: nothing fits. The profile has at
 * most BRUTE_TILES_LAYERS layers, each with at most BRUTE_TILES_ROWS rows. */
double brute_recompute_us(const struct vbs_profile *profile, enum brute_tiles kind, int request,
                          enum vbs_io io, int64_t memory_bytes);

#endif
