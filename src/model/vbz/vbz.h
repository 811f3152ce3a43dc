/*
 * Networks with coded weights: files that end in .vbz (docs/formats.md). vbs_network_load uses
 * vbs_vbz_load; vbs_network_write makes such a file.
 */
#ifndef VBS_MODEL_VBZ_VBZ_H
#define VBS_MODEL_VBZ_VBZ_H

#include "vbslab/model.h"

/* Loads a .vbz file of any name, as vbs_network_load does. The file stays mapped as long as the
 * network lives. VBS_FORMAT names the layer whose coded weights are damaged. */
enum vbs_status vbs_vbz_load(struct vbs_ctx *ctx, const char *path, const struct vbs_shape *input,
                             struct vbs_network **network) VBS_MUST_CHECK;

/* The same, as vbs_network_load_inputs does. */
enum vbs_status vbs_vbz_load_inputs(struct vbs_ctx *ctx, const char *path,
                                    const struct vbs_input_choice *choices, int n,
                                    struct vbs_network **network) VBS_MUST_CHECK;

#endif
