/* How a race stands: which of the contenders is the fastest so far, and how much time has passed.
 */
#include "learn/race.h"

#include "base/clock.h"
#include "base/fail.h"
#include "vbslab/units.h"

#include <math.h>
#include <stdio.h>

double race_now_s(const struct race *race)
{
    return vbs_clock_s() - race->l->start_s;
}

void race_report(const struct race *race, const char *what)
{
    const struct vbs_progress *progress = &race->l->options.progress;
    double now = race_now_s(race), limit = race->l->options.time_limit_s;
    char text[VBS_DETAIL_SIZE], budget[32];

    if (!progress->report)
        return;
    snprintf(text, sizeof text, "%s in %s: %s", race->l->profile->provenance.model,
             vbs_format_bytes(race->memory_bytes, budget, sizeof budget), what);
    progress->report(progress->self, fmin(1, now / limit), fmax(0, limit - now), text);
}

/* ---- Which is faster ---- */

enum vbs_status race_score(const struct race *race, int which, double *multiple)
{
    struct vbs_profile_row ratio = {0}, time = {0}, other = {0};
    const struct contender *contender = &race->contenders[which];

    VBS_TRY(learn_contender_ratio(race->l->ctx, contender, &race->contenders[0], &ratio));
    *multiple = ratio.time_us;
    if (ratio.n_runs > 0)
        return VBS_OK;
    VBS_TRY(learn_contender_time(race->l->ctx, contender, &time));
    VBS_TRY(learn_contender_time(race->l->ctx, &race->contenders[0], &other));
    *multiple = time.n_runs > 0 && other.time_us > 0 ? time.time_us / other.time_us : HUGE_VAL;
    return VBS_OK;
}

enum vbs_status race_find_best(const struct race *race, bool baselines_only, int *best)
{
    double least = HUGE_VAL;

    *best = -1;
    for (int i = 0; i < race->n; i++) {
        double multiple;

        if ((baselines_only && !race->contenders[i].baseline) || race->contenders[i].n_runs == 0)
            continue;
        VBS_TRY(race_score(race, i, &multiple));
        if (multiple < least) {
            least = multiple;
            *best = i;
        }
    }
    return VBS_OK;
}
