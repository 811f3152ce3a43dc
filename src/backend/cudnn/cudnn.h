/* The cudnn backend, the only part of vbslab that calls CUDA and cuDNN. This is the only header of
 * the sub-room that others include; session.h says how the parts fit together. */
#ifndef VBS_BACKEND_CUDNN_CUDNN_H
#define VBS_BACKEND_CUDNN_CUDNN_H

#include "vbslab/backend.h"

extern const struct vbs_backend vbs_backend_cudnn;

#endif
