/* Gains of the rows of a comparison over the baselines, and what of them is noise. Internal to the
 * report room. */
#ifndef VBS_REPORT_COMPARE_GAINS_H
#define VBS_REPORT_COMPARE_GAINS_H

#include "report/compare/compare.h"
#include "report/compare/noise.h"

/* The rows of one planner: at[b * stride] is that of budget b, and mixes likewise; the mix of a row
 * that is not feasible is null. */
struct vbs_row_column {
    struct vbs_compare_row *at;
    const struct vbs_mix **mixes;
    int stride;
};

/* Fills gains, their intervals and noise of all rows of compare; columns[p] are those of planner p,
 * behind them those of the baselines. Without noise (null) no interval is known. Errors as
 * vbs_noise_spread. */
enum vbs_status vbs_gains_set(struct vbs_ctx *ctx, struct vbs_noise *noise,
                              const struct vbs_compare *compare,
                              const struct vbs_row_column *columns) VBS_MUST_CHECK;

#endif
