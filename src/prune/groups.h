/* Groups with what the room keeps of their network. Internal to the room. */
#ifndef VBS_PRUNE_GROUPS_H
#define VBS_PRUNE_GROUPS_H

#include "base/arena.h"
#include "vbslab/prune.h"

/* The channels of a tensor along one of its dimensions, by their numbers among the scores. */
struct vbs_prune_tensor {
    int axis;
    int64_t n;
    const int *channels; /* [n], -1: the position always stays; null: the tensor stays whole */
};

/* What stands behind struct vbs_prune_groups. */
struct vbs_prune_whole {
    struct vbs_prune_groups head; /* first: callers have a pointer to it */
    struct vbs_arena arena;
    uint64_t hash; /* vbs_network_plain_hash of the network */
    int n_layers;
    struct vbs_prune_tensor *tensors; /* [n_layers + 1] */
    struct vbs_prune_group *groups;   /* [head.n_groups] */
};

/* Gives what stands behind groups. VBS_USAGE: they are those of another network. */
enum vbs_status vbs_prune_own(struct vbs_ctx *ctx, const struct vbs_network *network,
                              const struct vbs_prune_groups *groups,
                              const struct vbs_prune_whole **whole) VBS_MUST_CHECK;

/* ---- work.c ---- */

/* Sets parameters and macs of all groups. VBS_NO_MEMORY. */
enum vbs_status vbs_prune_work(struct vbs_ctx *ctx, const struct vbs_network *network,
                               struct vbs_prune_whole *whole) VBS_MUST_CHECK;

#endif
