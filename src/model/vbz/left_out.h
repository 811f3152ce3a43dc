/* Which bytes of the files of ONNX a .vbz file has. Internal to the sub-room. */
#ifndef VBS_MODEL_VBZ_LEFT_OUT_H
#define VBS_MODEL_VBZ_LEFT_OUT_H

#include "model/network/network.h"

/* Extents of one file, ascending. */
struct vbs_vbz_extents {
    struct vbs_extent *extents; /* free() it */
    int64_t n, capacity;
};

/* Gives the bytes of a file of the network's source that remain when the weights of the layers with
 * is_coded[layer] are left out: bytes of nothing but these weights, and bytes that the source
 * itself does not have. VBS_NO_MEMORY. O(n log n) for n parameters. */
enum vbs_status vbs_vbz_remaining(struct vbs_ctx *ctx, const struct vbs_network *network,
                                  const bool *is_coded, int file,
                                  struct vbs_vbz_extents *extents) VBS_MUST_CHECK;

#endif
