/* Whether one profile can judge what was planned on another. Internal to the report room. */
#ifndef VBS_REPORT_COMPARE_JUDGE_H
#define VBS_REPORT_COMPARE_JUDGE_H

#include "vbslab/schedule.h"

/* A schedule of one network means nothing on another; the replay would stumble over it late.
 * VBS_INVALID. */
enum vbs_status vbs_judge_check(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                const struct vbs_profile *judge) VBS_MUST_CHECK;

/* True when both hold the same measurements, with weights included those of copies too: a profile
 * that was exported or copied is no second opinion. */
bool vbs_judge_is_same(const struct vbs_profile *a, const struct vbs_profile *b,
                       enum vbs_weights weights);

/* What copies take by the judge that take asked by plan: its own link of that source, or, where
 * it has none, the same (as vbs_replay_run does). */
struct vbs_link vbs_judge_link(const struct vbs_profile *judge, const struct vbs_link *asked);

#endif
