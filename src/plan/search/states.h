/*
 * A set of states of the lattice: each an array of order ideals, one per sample, found by hashing.
 * Indices count up from 0 and stay valid, so that users can keep further data of
 * each state in arrays of their own.
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
    uint64_t *probe; /* [n_words] of the state to find */
};

enum vbs_status vbs_states_init(struct vbs_ctx *ctx, struct vbs_states *states,
                                int n_samples) VBS_MUST_CHECK;
void vbs_states_clear(struct vbs_states *states);

/* Gives the index of the state, or -1. */
int vbs_states_find(const struct vbs_states *states, const uint16_t *ideals);

/* Finds the state, or adds it where it is not in the set; *index is then the former n. The set
 * grows when n has reached capacity; its users must then enlarge their arrays to the new
 * capacity. */
enum vbs_status vbs_states_add(struct vbs_ctx *ctx, struct vbs_states *states,
                               const uint16_t *ideals, int *index) VBS_MUST_CHECK;

static inline const uint16_t *vbs_states_at(const struct vbs_states *states, int index)
{
    return (const uint16_t *)(states->keys + (size_t)index * (size_t)states->n_words);
}

/* Gives the bytes that the set takes. */
size_t vbs_states_bytes(const struct vbs_states *states);

#endif
