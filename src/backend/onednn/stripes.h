/* Kernels on rows of a sample (stripes.c). */
#ifndef VBS_BACKEND_ONEDNN_STRIPES_H
#define VBS_BACKEND_ONEDNN_STRIPES_H

#include "backend/onednn/kernels/kernels.h"

/* Appends the kernels of a layer at b's batch, all or the requested one; l: the layer as it is
 * built. */
typedef enum vbs_status od_maker(struct od_build *b, int layer, const struct vbs_layer *l,
                                 const struct vbs_requested *requested);

/* Fills the rows and the reaches of the session's layers, whose tensors are described. */
enum vbs_status od_stripes_init(struct od_build *b) VBS_MUST_CHECK;

/* Appends the kernels of rows [row, row + n) of one sample. Requested ones are for these rows;
 * others for any n rows of the layer: their workspaces are large enough for each. */
enum vbs_status od_stripes_make(struct od_build *b, od_maker *make_kernels, int layer, int row,
                                int n, const struct vbs_requested *requested) VBS_MUST_CHECK;

#endif
