/* The end of functions of tests that build a profile which must be possible. */
#ifndef TESTS_MADE_PROFILE_H
#define TESTS_MADE_PROFILE_H

#include "support/bail_out.h"
#include "vbslab/profile.h"

/* Finishes a profile, frees its builder, and gives it. Where status, of what was built so far, or
 * finishing is a failure, the test cannot go on. */
static inline struct vbs_profile *made_profile(struct vbs_ctx *ctx,
                                               struct vbs_profile_builder *builder,
                                               enum vbs_status status)
{
    struct vbs_profile *profile = NULL;

    if (status == VBS_OK)
        status = vbs_profile_builder_finish(ctx, builder, &profile);
    vbs_profile_builder_free(builder);
    if (status != VBS_OK)
        bail_out("no profile: %s", vbs_detail(ctx));
    return profile;
}

/* Returns whether some layer of a profile has rows of stripes. */
static inline bool has_stripe_rows(const struct vbs_profile *profile)
{
    int n = 0, all = 0;

    for (int k = 1; k <= profile->n_layers; k++) {
        (void)vbs_profile_stripes(profile, k, &n);
        all += n;
    }
    return all > 0;
}

#endif
