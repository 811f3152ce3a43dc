/* Plans of the simple tier that are refused. */
#ifndef TESTS_REFUSED_PLAN_H
#define TESTS_REFUSED_PLAN_H

#include "support/tap.h"

#include "base/ctx.h"
#include "vbslab/simple.h"

#include <string.h>

/* Checks that options (null: the defaults) are refused with this status and these words, and
 * nothing is planned. */
static inline void refuses_plan(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                const struct vbs_simple_options *options, enum vbs_status want,
                                const char *part)
{
    struct vbs_schedule *schedule = NULL;
    enum vbs_status status = vbs_simple_plan(ctx, profile, options, &schedule);

    ok(status == want && !schedule && strstr(vbs_detail(ctx), part), "refused: %s",
       vbs_detail(ctx));
}

#endif
