/* The onednn backend, the only part of vbslab that calls oneDNN. This is the only header of the
 * sub-room that others include; kernels/session.h says how the parts fit together. */
#ifndef VBS_BACKEND_ONEDNN_ONEDNN_H
#define VBS_BACKEND_ONEDNN_ONEDNN_H

#include "vbslab/backend.h"

extern const struct vbs_backend vbs_backend_onednn;

#endif
