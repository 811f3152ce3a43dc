/* Kernels that somebody wants, read and checked alike in all backends. Internal to the room. */
#ifndef VBS_BACKEND_COMMON_REQUESTED_H
#define VBS_BACKEND_COMMON_REQUESTED_H

#include "vbslab/backend.h"

/* The algorithm is "NAME" or, measured in parts, "NAME/4". */
struct vbs_requested {
    char name[64];
    int measured; /* 4; else 0 */
    int part, parts;
};

struct vbs_requested vbs_requested_read(const struct vbs_requested_kernel *kernel);

/* VBS_INVALID: a layer, batch or part that cannot be. */
enum vbs_status vbs_requested_check(struct vbs_ctx *ctx, const struct vbs_session *session,
                                    const struct vbs_requested_kernel *requested) VBS_MUST_CHECK;

/* The one before index that is the same, or -1. */
int vbs_requested_same(const struct vbs_requested_kernel *requested, int index);

/* VBS_NOT_FOUND for a kernel that this machine does not have. */
enum vbs_status vbs_requested_missing(struct vbs_ctx *ctx, const struct vbs_session *session,
                                      const struct vbs_requested_kernel *requested) VBS_MUST_CHECK;

#endif
