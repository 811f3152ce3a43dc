/* Channels of tensors, and which of them can be removed only together. Internal to the room. */
#ifndef VBS_PRUNE_CHANNELS_H
#define VBS_PRUNE_CHANNELS_H

#include "base/arena.h"
#include "vbslab/model.h"

#define VBS_MAX_CHANNELS ((int64_t)1 << 25) /* in all tensors and views together */
#define VBS_NO_CHANNEL   (-1)               /* a position that always stays */

/* The channels along one dimension of a tensor or of a view. */
struct vbs_channels {
    int axis;
    int64_t n;
    const int *ids; /* [n] channels by number, or VBS_NO_CHANNEL; null: the tensor stays whole */
};

/* X(NAME, format of the reason with the name of a layer) */
#define VBS_FIXED_LIST(X)                                                                          \
    X(NOT, "%s")                                                                                   \
    X(OUTPUT, "'%s' is an output of the network")                                                  \
    X(MIXED, "'%s' mixes its channels")                                                            \
    X(VIEW, "'%s' reads its channels in a shape that mixes them")                                  \
    X(AXIS, "'%s' reads its channels along a dimension over which it sums or slides")              \
    X(OTHER, "'%s' combines its channels with a tensor that stays whole")                          \
    X(STEPS, "'%s' takes every n-th of its channels")                                              \
    X(REPEATS, "'%s' repeats its channels")                                                        \
    X(UNKNOWN, "'%s' is an operator through which channels are not followed")

#define VBS_FIXED_ENUM(name, format) VBS_FIXED_##name,
/* Why channels are fixed. */
enum vbs_channel_fixed { VBS_FIXED_LIST(VBS_FIXED_ENUM) VBS_N_FIXED };
#undef VBS_FIXED_ENUM

/* A channel: an output of a conv, deconv or fc, or one that a pad adds. Channels that have to be
 * removed together are the trees of a forest (union and find). */
struct vbs_channel {
    int parent; /* itself at the root */
    int layer;  /* which makes it */
    int fixed_by;
    unsigned char fixed; /* of the root: enum vbs_channel_fixed */
};

/* The channels of a network. */
struct vbs_channel_map {
    struct vbs_ctx *ctx;
    const struct vbs_network *network;
    struct vbs_arena arena;       /* of everything here but channels */
    struct vbs_channels *tensors; /* [n_layers + 1] of the outputs of the layers */
    struct vbs_channel *channels; /* [n_channels] */
    int64_t n_channels, capacity;
    int64_t n_positions; /* of all arrays of ids */
};

/* ---- channels.c ---- */

/* Gives the root of the tree of a channel. O(1) amortised. */
int vbs_channel_root(struct vbs_channel_map *map, int channel);

/* Notes that two channels have to be removed together; where one is VBS_NO_CHANNEL, the other
 * stays. by: the layer for which they have to. */
void vbs_channels_join(struct vbs_channel_map *map, int a, int b, int by);

/* Notes that channels stay. */
void vbs_channels_fix(struct vbs_channel_map *map, const struct vbs_channels *channels,
                      enum vbs_channel_fixed why, int by);

/* Makes an array of n ids, which are VBS_NO_CHANNEL. VBS_UNSUPPORTED, VBS_NO_MEMORY. */
enum vbs_status vbs_channels_new(struct vbs_channel_map *map, int64_t n, int **ids) VBS_MUST_CHECK;

/* Gives ids[0..n-1] to n new channels that layer makes. */
enum vbs_status vbs_channels_make(struct vbs_channel_map *map, int layer, int64_t n,
                                  int *ids) VBS_MUST_CHECK;

/* ---- follow.c ---- */

/* Follows all channels of map->network, into *map, which is {0} but for ctx and network. The caller
 * clears it in any case. */
enum vbs_status vbs_channels_follow(struct vbs_channel_map *map) VBS_MUST_CHECK;
void vbs_channels_clear(struct vbs_channel_map *map);

#endif
