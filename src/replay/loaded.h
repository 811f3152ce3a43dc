/*
 * Which bytes of packed weights are in memory, and from when on. Internal to the room.
 *
 * Every packed format of every layer's weights is a line of bytes of its own, on which loads and
 * evicts of any parts leave segments.
 */
#ifndef VBS_REPLAY_LOADED_H
#define VBS_REPLAY_LOADED_H

#include "base/arena.h"
#include "vbslab/profile.h"

/* Bytes from..to - 1; from < to. */
struct byte_range {
    int64_t from, to;
};

/* How bytes came. */
struct arrival {
    double ready_us; /* they are there from then on */
    int64_t load; /* number of the load that is not resident and brought them; -1: a resident one */
};

/* The packed weights of one layer in one format. */
struct packed {
    int64_t bytes;  /* 0: the layer has no weights of this format */
    void *segments; /* a tree of tsearch; segments that overlap are equal to it */
};

struct loaded {
    int64_t bytes; /* of all that is loaded */
    int n_packed, n_formats;
    struct packed *packed; /* [n_layers + 1][n_formats] */
};

/* False when memory is out. */
bool vbs_loaded_init(struct loaded *loaded, struct vbs_arena *arena,
                     const struct vbs_profile *profile);
void vbs_loaded_clear(struct loaded *loaded);

/* Null: no row of the layer has this format, or it has no weights. */
struct packed *vbs_loaded_packed(const struct loaded *loaded, int layer, int format);

enum loaded_result { LOADED_DONE, LOADED_TWICE, LOADED_MISSING, LOADED_TOO_MUCH, LOADED_NO_MEMORY };

/* Adds range. Logarithmic. */
enum loaded_result vbs_loaded_add(struct loaded *loaded, struct packed *packed,
                                  const struct byte_range *range, const struct arrival *arrival);

/* Takes range away, which may be in several segments or in the middle of one. *load: the last that
 * brought some of it, or -1. Logarithmic for each segment. */
enum loaded_result vbs_loaded_remove(struct loaded *loaded, struct packed *packed,
                                     const struct byte_range *range, int64_t *load);

/*
 * *arrival: of what comes last of range. For a reader that waits until then, and whom all later
 * readers follow: segments that it reads become one, which is there from then on, so that
 * each is looked at once however many readers there are.
 */
enum loaded_result vbs_loaded_read(struct packed *packed, const struct byte_range *range,
                                   struct arrival *arrival);

#endif
