/* Placement problems without slack: a rectangle of steps and bytes, cut at random into buffers. */
#ifndef TESTS_PLACE_CUTS_H
#define TESTS_PLACE_CUTS_H

#include "vbslab/place.h"

#include <gsl/gsl_rng.h>

struct place_cuts_kind {
    /* True: rectangle after rectangle is cut in two from side to side. False: lines grow from
     * random points, all at once, until they meet another line, so that the lines cross in every
     * way and mostly no cut goes from side to side. */
    bool guillotine;
    int n_buffers;
    /* Cuts lie at multiples of unit_bytes and at whole steps. The more cuts there are for each of
     * them, the more sums of sizes are equal by chance, and the more cuts share steps. Where that
     * would leave a buffer empty, the rectangle gets larger. */
    int64_t n_steps, n_units, unit_bytes;
};

struct place_cuts {
    struct vbs_place_item *items;
    struct vbs_place_rect *rects;
    struct vbs_place_problem problem; /* the living buffers fill its capacity at every step */
    int64_t *offsets;                 /* [n_buffers] at which they were cut: a placement */
};

/* Makes a problem; its items are in random order. Six cuts of ten separate bytes, four steps. */
struct place_cuts place_cuts_make(gsl_rng *rng, const struct place_cuts_kind *kind);
void place_cuts_clear(struct place_cuts *cuts);

#endif
