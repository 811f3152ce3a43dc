/* Scores from gradients. Internal to the room. */
#ifndef VBS_PRUNE_TAYLOR_H
#define VBS_PRUNE_TAYLOR_H

#include "prune/groups.h"

/* Adds |gradient x value| of weights and biases to the scores of the channels. */
enum vbs_status vbs_prune_taylor(struct vbs_ctx *ctx, const struct vbs_network *network,
                                 const struct vbs_prune_whole *whole,
                                 const struct vbs_prune_options *options,
                                 double *scores) VBS_MUST_CHECK;

#endif
