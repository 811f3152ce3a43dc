/* Functions of shapes beside those of model.h. */
#ifndef VBS_MODEL_NETWORK_SHAPE_H
#define VBS_MODEL_NETWORK_SHAPE_H

#include "vbslab/model.h"

/* Gives the number of spatial dimensions of a shape: 0 of [C], 3 of [C, D, H, W]. */
int vbs_shape_n_spatial(const struct vbs_shape *shape);

/* Gives whether a shape has 1 to VBS_MAX_DIMS dimensions, all above 0 and within the limits of
 * model.h. */
bool vbs_shape_valid(const struct vbs_shape *shape);

bool vbs_shape_equal(const struct vbs_shape *a, const struct vbs_shape *b);

/* Inserts a dimension of 1 before dimension `at`. The shape has fewer than VBS_MAX_DIMS. */
void vbs_shape_insert(struct vbs_shape *shape, int at);

/* Removes dimension `at`, whatever its size. */
void vbs_shape_drop(struct vbs_shape *shape, int at);

#endif
