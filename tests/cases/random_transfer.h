/* Tiny random networks with weights and links, and random schedules that load and evict them. */
#ifndef TESTS_RANDOM_TRANSFER_H
#define TESTS_RANDOM_TRANSFER_H

#include "vbslab/schedule.h"

#include <gsl/gsl_rng.h>
#include <stdbool.h>

/*
 * Makes a network of up to max_layers (1..4) in a chain or a DAG, some in place, batches up to 3,
 * two algorithms at most; times are whole numbers. Layers have no weights, or up to max_blocks
 * channels with some bytes each, or up to 2 max_blocks bytes that are not divided into channels; a
 * second algorithm may pack them to a format of its own. Sizes are a few bytes. Null, and a line of
 * TAP: the builder refused it.
 */
struct vbs_profile *random_transfer_profile(gsl_rng *rng, int max_layers, int max_blocks);

/*
 * Makes a valid schedule of request samples with weights included: batches, slices, loads, evicts
 * and residents are random. Loads and evicts move slices of up to max_slices, or, where no such
 * slice has the bytes that a step needs, single channels or bytes. Steps compute slices of up to 3
 * where they can. The caller sets the link. Freed by vbs_schedule_free; null: memory is out.
 */
struct vbs_schedule *random_transfer_schedule(gsl_rng *rng, const struct vbs_profile *profile,
                                              int request, enum vbs_io io, int max_slices);

#endif
