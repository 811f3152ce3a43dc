/* Looking for numbers that are not finite in what a kernel has written. Internal to the room. */
#ifndef VBS_EXEC_FINITE_H
#define VBS_EXEC_FINITE_H

#include "vbslab/measure.h"
#include "vbslab/model.h"

/* VBS_UNSUPPORTED where tensors are not stored as 32-bit floats, or lie on a device. */
enum vbs_status vbs_exec_finite_able(struct vbs_ctx *ctx, const struct vbs_network *network,
                                     const struct vbs_session *session) VBS_MUST_CHECK;

/* Looks at the output of kernel number kernel of the session, after it ran. VBS_LIBRARY, with the
 * layer's name: an element is infinite or no number. A layer that is computed in slices is looked
 * at behind the last one. */
enum vbs_status vbs_exec_finite_look(struct vbs_ctx *ctx, const struct vbs_session *session,
                                     int kernel, const void *output) VBS_MUST_CHECK;

#endif
