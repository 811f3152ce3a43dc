/* Placement problems like those of the executor: the tensors of a guillotine schedule. */
#ifndef TESTS_PLACE_SCHEDULES_H
#define TESTS_PLACE_SCHEDULES_H

#include "vbslab/place.h"

#include <gsl/gsl_rng.h>

struct place_schedule {
    struct vbs_place_item *items;
    struct vbs_place_rect *rects;
    struct vbs_place_problem problem; /* of any height */
    int64_t n_steps;
};

/*
 * Makes a problem from a chain of n_layers and request samples, cut at random: either the samples
 * go through some of the layers in two lots, or all of them go through the first of the layers and
 * then through the others. Every sample of a tensor lives from the step that writes it to the one
 * that reads it. Samples that one step writes or reads lie side by side, so that they form rigid
 * groups. Steps have workspaces too.
 */
struct place_schedule place_schedule_make(gsl_rng *rng, int n_layers, int request);
void place_schedule_clear(struct place_schedule *schedule);

#endif
