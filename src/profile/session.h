/* What a session tells of a profile before its times are measured. Measuring into a store, into
 * memory and by geometry share these. */
#ifndef VBS_PROFILE_SESSION_H
#define VBS_PROFILE_SESSION_H

#include "vbslab/measure.h"

/* Gives the row of a kernel, all but its algorithm and its times. */
struct vbs_profile_row vbs_session_row(const struct vbs_kernel *kernel);

/* Adds the layers of the session, and the rows of its input, to builder. VBS_FORMAT: a backend gave
 * a layer that no profile may have. */
enum vbs_status vbs_session_build_layers(struct vbs_ctx *ctx, const struct vbs_session *session,
                                         struct vbs_profile_builder *builder) VBS_MUST_CHECK;

#endif
