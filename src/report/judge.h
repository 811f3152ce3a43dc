/* Whether one profile can judge what was planned on another. Internal to the report room. */
#ifndef VBS_REPORT_JUDGE_H
#define VBS_REPORT_JUDGE_H

#include "vbslab/profile.h"

/* A schedule of one network means nothing on another; the replay would stumble over it late.
 * VBS_INVALID. */
enum vbs_status vbs_judge_check(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                const struct vbs_profile *judge) VBS_MUST_CHECK;

/* True when both hold the same measurements: a profile that was exported or copied is no second
 * opinion. */
bool vbs_judge_is_same(const struct vbs_profile *a, const struct vbs_profile *b);

#endif
