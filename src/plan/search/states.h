/*
 * A set of states of the lattice: each an array of positions, one per sample, found by hashing.
 * Indices count up from 0 and stay valid; users keep further data in arrays beside it.
 */
#ifndef VBS_PLAN_SEARCH_STATES_H
#define VBS_PLAN_SEARCH_STATES_H

#include "vbslab/status.h"

#include <stddef.h>
#include <stdint.h>

struct vbs_states {
    int n_samples;
    int n_words; /* 64-bit words of a state */
    int n, capacity;
    uint64_t *keys;  /* [capacity][n_words] */
    int32_t *table;  /* [2 * capacity], -1: free */
    uint64_t *probe; /* [n_words] of the state that is looked up */
};

enum vbs_status vbs_states_init(struct vbs_ctx *ctx, struct vbs_states *states,
                                int n_samples) VBS_MUST_CHECK;
void vbs_states_clear(struct vbs_states *states);

/* Index of the state, or -1. */
int vbs_states_find(const struct vbs_states *states, const uint16_t *ideals);

/* The same, and adds it when it was not there: then *index is the former n. Grows when n is
 * capacity, and capacity afterwards is what arrays beside must have. */
enum vbs_status vbs_states_add(struct vbs_ctx *ctx, struct vbs_states *states,
                               const uint16_t *ideals, int *index) VBS_MUST_CHECK;

static inline const uint16_t *vbs_states_at(const struct vbs_states *states, int index)
{
    return (const uint16_t *)(states->keys + (size_t)index * (size_t)states->n_words);
}

/* Bytes that capacity states take here. */
size_t vbs_states_bytes(const struct vbs_states *states);

#endif
