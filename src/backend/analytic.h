/* The analytic backend: times computed from a model of a device. Internal to the room. */
#ifndef VBS_BACKEND_ANALYTIC_H
#define VBS_BACKEND_ANALYTIC_H

#include "vbslab/backend.h"

extern const struct vbs_backend vbs_backend_analytic;

#endif
