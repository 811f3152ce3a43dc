/* The backends behind the table in backend.c. Internal to the room. */
#ifndef VBS_BACKEND_BACKENDS_H
#define VBS_BACKEND_BACKENDS_H

#include "vbslab/backend.h"

extern const struct vbs_backend vbs_backend_onednn;
extern const struct vbs_backend vbs_backend_cudnn;
extern const struct vbs_backend vbs_backend_analytic;

#endif
