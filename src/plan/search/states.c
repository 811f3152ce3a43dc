#include "plan/search/states.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

enum vbs_status vbs_states_init(struct vbs_ctx *ctx, struct vbs_states *states, int n_samples)
{
    int n_words = (n_samples + 3) / 4;

    *states = (struct vbs_states){.n_samples = n_samples, .n_words = n_words};
    states->probe = calloc((size_t)n_words, sizeof *states->probe);
    return states->probe ? VBS_OK : vbs_no_memory(ctx);
}

void vbs_states_clear(struct vbs_states *states)
{
    free(states->keys);
    free(states->table);
    free(states->probe);
    *states = (struct vbs_states){0};
}

static const uint64_t *key_at(const struct vbs_states *states, int index)
{
    return states->keys + (size_t)index * (size_t)states->n_words;
}

static size_t hash_of(const struct vbs_states *states, const uint64_t *key)
{
    uint64_t hash = 0x9e3779b97f4a7c15;

    for (int w = 0; w < states->n_words; w++) {
        hash = (hash ^ key[w]) * 0xff51afd7ed558ccd;
        hash ^= hash >> 29;
    }
    return (hash ^ hash >> 32) & (2 * (size_t)states->capacity - 1);
}

/* Finds the slot of key, or the free one where key belongs. */
static int32_t *find_slot(const struct vbs_states *states, const uint64_t *key)
{
    size_t mask = 2 * (size_t)states->capacity - 1, slot = hash_of(states, key);

    while (states->table[slot] >= 0 && memcmp(key_at(states, states->table[slot]), key,
                                              (size_t)states->n_words * sizeof *key) != 0)
        slot = (slot + 1) & mask;
    return &states->table[slot];
}

static enum vbs_status grow(struct vbs_ctx *ctx, struct vbs_states *states)
{
    size_t capacity = states->capacity ? 2 * (size_t)states->capacity : 256;
    uint64_t *keys;
    int32_t *table;

    if (capacity > INT32_MAX / 2)
        return vbs_no_memory(ctx);
    keys = realloc(states->keys, capacity * (size_t)states->n_words * sizeof *keys);
    if (!keys)
        return vbs_no_memory(ctx);
    states->keys = keys;
    table = realloc(states->table, 2 * capacity * sizeof *table);
    if (!table)
        return vbs_no_memory(ctx);
    states->table = table;
    states->capacity = (int)capacity;
    memset(table, 0xff, 2 * capacity * sizeof *table);
    for (int i = 0; i < states->n; i++)
        *find_slot(states, key_at(states, i)) = i;
    return VBS_OK;
}

/* Packs the ideals of a state into words; the bits behind its last ideal are 0. */
static const uint64_t *fill_probe(const struct vbs_states *states, const uint16_t *ideals)
{
    memcpy(states->probe, ideals, (size_t)states->n_samples * sizeof *ideals);
    return states->probe;
}

int vbs_states_find(const struct vbs_states *states, const uint16_t *ideals)
{
    return states->n > 0 ? *find_slot(states, fill_probe(states, ideals)) : -1;
}

enum vbs_status vbs_states_add(struct vbs_ctx *ctx, struct vbs_states *states,
                               const uint16_t *ideals, int *index)
{
    const uint64_t *key = fill_probe(states, ideals);
    int32_t *slot;

    if (states->n == states->capacity)
        VBS_TRY(grow(ctx, states));
    slot = find_slot(states, key);
    if (*slot < 0) {
        memcpy(states->keys + (size_t)states->n * (size_t)states->n_words, key,
               (size_t)states->n_words * sizeof *key);
        *slot = states->n++;
    }
    *index = *slot;
    return VBS_OK;
}

size_t vbs_states_bytes(const struct vbs_states *states)
{
    return (size_t)states->capacity *
           ((size_t)states->n_words * sizeof *states->keys + 2 * sizeof *states->table);
}
