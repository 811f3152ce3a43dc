/* Checks whether one profile can judge plans that were made on another. Internal to the report
 * room. */
#ifndef VBS_REPORT_COMPARE_JUDGE_H
#define VBS_REPORT_COMPARE_JUDGE_H

#include "vbslab/schedule.h"

/* Checks that the judge is of the same network as the profile: schedules of one network are
 * meaningless on another, which the replay would notice late. VBS_INVALID. */
enum vbs_status vbs_judge_check(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                const struct vbs_profile *judge) VBS_MUST_CHECK;

/* True when both have the same measurements (with weights included, those of copies too): an
 * exported or copied profile is no independent judge. */
bool vbs_judge_is_same(const struct vbs_profile *a, const struct vbs_profile *b,
                       enum vbs_weights weights);

/* Gives the judge's link for copies that were planned with asked: its own link of this source, or,
 * where it has none, the same (as vbs_replay_run does). */
struct vbs_link vbs_judge_link(const struct vbs_profile *judge, const struct vbs_link *asked);

#endif
