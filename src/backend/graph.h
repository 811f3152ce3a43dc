/* What backends need to know about the order of a session's layers. Internal to the room. */
#ifndef VBS_BACKEND_GRAPH_H
#define VBS_BACKEND_GRAPH_H

#include "vbslab/model.h"
#include "vbslab/profile.h"

/* True when the operator may write where this input lies, if it is of the output's shape: those
 * that combine two operands, whose first one alone can be overwritten where order matters. */
bool vbs_graph_overwrites(const struct vbs_layer *layer, int input);

/*
 * True when layer may write where one of its inputs lies; *input is which one. may says of each
 * whether its operator can. That one is as large as the output, is no network input, and everyone
 * else who reads it comes before layer in every schedule, because layer depends on it. An input
 * that only layer reads is preferred. mark has n_layers + 1 places of scratch. Linear in the edges.
 */
bool vbs_graph_in_place(const struct vbs_profile_layer *layers, int n_layers, int layer,
                        const bool *may, bool *mark, int *input);

/* Output channels that have weights of their own and lie one after the other: those of a conv or of
 * a fc on whole samples; else 0. */
int vbs_graph_channels(const struct vbs_layer *layer);

#endif
