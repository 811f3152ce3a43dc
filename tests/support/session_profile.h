/* Profiles of sessions, with made times, for tests that plan and execute. */
#ifndef TESTS_SESSION_PROFILE_H
#define TESTS_SESSION_PROFILE_H

#include "vbslab/backend.h"

/*
 * Makes the profile of a network's session at batches 1 and 2 on one thread, with or without
 * stripes. Times grow with the work and do not depend on the machine. Fails as the backend does.
 */
enum vbs_status session_profile(struct vbs_ctx *ctx, const struct vbs_backend *backend,
                                const struct vbs_network *network, bool stripes,
                                struct vbs_profile **profile) VBS_MUST_CHECK;

#endif
