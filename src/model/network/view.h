/*
 * Views of tensors: the dimension of a view in which positions along a dimension of the tensor lie.
 *
 * Both are the same elements in row-major order. Channels of [C, H, W] lie in the only dimension of
 * [C * H * W], where every channel has H * W indices, and in none of [2, C / 2, H, W] alone:
 * dimension 1 there tells the channels of each half apart, dimension 0 the halves.
 */
#ifndef VBS_MODEL_NETWORK_VIEW_H
#define VBS_MODEL_NETWORK_VIEW_H

#include "vbslab/model.h"

/* A dimension of a view, and a dimension of the tensor. */
struct vbs_view_axis {
    int axis;                         /* of the view */
    int64_t extent, stride;           /* of it: its indices; elements from one to the next */
    int64_t n_positions, from_stride; /* the same of the tensor's dimension */
    int64_t n_apart; /* sets of positions that have indices of their own; n_positions where the
                        dimension tells all positions apart */
};

/* Finds the dimension of view that tells the most positions along dimension axis of a tensor apart
 * (the last of several), such that no element of one set of positions has an index in it that an
 * element of another set has, and that all elements of an index are of one set. False: there is
 * none that tells any two apart. */
bool vbs_view_find(const struct vbs_shape *shape, int axis, const struct vbs_shape *view,
                   struct vbs_view_axis *found);

/* Gives a position that has elements with this index of the view. All positions of the index are of
 * one set, for which this is always the same one. */
int64_t vbs_view_position(const struct vbs_view_axis *axis, int64_t index);

/* Gives an index of the view at which the position has elements. */
int64_t vbs_view_index(const struct vbs_view_axis *axis, int64_t position);

#endif
