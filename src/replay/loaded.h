/*
 * The bytes of packed weights that are in memory, and the loads that brought them. Internal to the
 * room.
 *
 * Each packed format of each layer's weights is an array of bytes of its own. Loads and evicts of
 * any slices leave segments of it in memory.
 */
#ifndef VBS_REPLAY_LOADED_H
#define VBS_REPLAY_LOADED_H

#include "base/arena.h"
#include "vbslab/profile.h"

/* Bytes from..to - 1; from < to. */
struct byte_range {
    int64_t from, to;
};

/* The packed weights of one layer in one format. */
struct packed {
    int64_t bytes;  /* 0: the layer has no weights of this format */
    void *segments; /* a tree of tsearch; segments that overlap are equal to it */
};

struct loaded {
    int64_t bytes; /* sum of all loaded bytes */
    int n_packed, n_formats;
    struct packed *packed; /* [n_layers + 1][n_formats] */
};

/* False when memory is out. */
bool vbs_loaded_init(struct loaded *loaded, struct vbs_arena *arena,
                     const struct vbs_profile *profile);
void vbs_loaded_clear(struct loaded *loaded);

/* Gives the packed weights; null where no row of the layer has this format, or the layer has no
 * weights. */
struct packed *vbs_loaded_packed(const struct loaded *loaded, int layer, int format);

enum loaded_result { LOADED_DONE, LOADED_TWICE, LOADED_MISSING, LOADED_TOO_MUCH, LOADED_NO_MEMORY };

/* Adds range, which a load brought: its number among those that are not resident, -1: a resident
 * load. Logarithmic. */
enum loaded_result vbs_loaded_add(struct loaded *loaded, struct packed *packed,
                                  const struct byte_range *range, int64_t load);

/* Removes range, which may be in several segments or in the middle of one. *load becomes the number
 * of the last load that brought some of it, or -1. Logarithmic for each segment. */
enum loaded_result vbs_loaded_remove(struct loaded *loaded, struct packed *packed,
                                     const struct byte_range *range, int64_t *load);

/*
 * Finds the last load that brought some byte of range. The reader waits until its end, and all
 * later readers run after it: the segments that it reads are therefore joined into one of that
 * load, so that each segment is visited once however many readers there are.
 */
enum loaded_result vbs_loaded_read(struct packed *packed, const struct byte_range *range,
                                   int64_t *load);

#endif
