/* What backends need to know about a session's layers. Internal to the room. */
#ifndef VBS_BACKEND_COMMON_GRAPH_H
#define VBS_BACKEND_COMMON_GRAPH_H

#include "base/arena.h"
#include "vbslab/model.h"
#include "vbslab/profile.h"

/* The layer as in a profile, but for what depends on how tensors lie: bytes, channels, place. */
enum vbs_status vbs_graph_layer_init(struct vbs_ctx *ctx, struct vbs_arena *arena,
                                     const struct vbs_layer *l,
                                     struct vbs_profile_layer *layer) VBS_MUST_CHECK;

/* The same memory, for libraries whose sources are not const; they do not write to them, but oneDNN
 * may rewrite the zeros of padding with zeros. */
void *vbs_writable(const void *memory);

/* True when the operator may write where this input lies, if it is of the output's shape: those
 * that combine two operands, whose first one alone can be overwritten where order matters. */
bool vbs_graph_overwrites(const struct vbs_layer *layer, int input);

/*
 * Puts layer in the place of one of its inputs where it may be: one whose operator can write there
 * (may says of each), that is as large as the output and no network input, and that everyone else
 * reads before layer in every schedule, because layer depends on them; one that only layer reads is
 * preferred. It comes first among the inputs then, a new list in arena; *first is its number
 * before, -1 where there is none. mark has n_layers + 1 places of scratch. Linear in the edges.
 */
enum vbs_status vbs_graph_set_in_place(struct vbs_ctx *ctx, struct vbs_arena *arena,
                                       struct vbs_profile_layer *layers, int n_layers, int layer,
                                       const bool *may, bool *mark, int *first) VBS_MUST_CHECK;

/* Output channels that have weights of their own and lie one after the other: those of a conv or of
 * a fc on whole samples; else 0. */
int vbs_graph_channels(const struct vbs_layer *layer);

#endif
