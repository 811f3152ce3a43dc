/* The noise in differences between schedules, which comes from the times by which they are judged.
 * noise.c describes the method and its reasons. Internal to the report room. */
#ifndef VBS_REPORT_COMPARE_NOISE_H
#define VBS_REPORT_COMPARE_NOISE_H

#include "report/compare/compare.h"

#include <stdbool.h>

struct vbs_noise;

/* Makes the noise of a judge; borrows judge and samples (null: none are kept). Null: out of
 * memory. */
struct vbs_noise *vbs_noise_new(const struct vbs_profile *judge,
                                const struct vbs_sample_source *samples);
void vbs_noise_free(struct vbs_noise *noise);

/* A mix: how often a schedule runs each row of the judge, and, where it copies weights, its time in
 * each replicate. Owned by the noise that made it. */
struct vbs_mix;

/* Makes the mix of a schedule that takes time_us by the judge, on which it can be replayed. Where
 * it equals the mix made before it, the result is the same pointer. O(steps log steps); for a
 * schedule that copies weights O(steps x replicates), and errors as vbs_noise_spread.
 * VBS_NO_MEMORY. */
enum vbs_status vbs_noise_mix(struct vbs_ctx *ctx, struct vbs_noise *noise,
                              const struct vbs_schedule *schedule, double time_us,
                              const struct vbs_mix **mix) VBS_MUST_CHECK;

/* True when both run the same rows equally often and, where weights are copied, take the same time
 * in all replicates: no noise tells them apart. */
bool vbs_mix_equal(const struct vbs_mix *a, const struct vbs_mix *b);

/* The time of one mix in each replicate: entry r of every mix is for the same resampled times. */
struct vbs_spread {
    const struct vbs_mix *mix; /* null: empty */
    bool known;                /* false: some row of the mix has no interval, and time_us is
                                  unset */
    double time_us[VBS_NOISE_REPLICATES];
};

/* Makes *spread that of mix, unless it is already. Rows are resampled when they are first needed,
 * alike in any order. VBS_INVALID: the samples are not those of the judge; errors of the source;
 * VBS_INTERRUPTED, VBS_NO_MEMORY. */
enum vbs_status vbs_noise_spread(struct vbs_ctx *ctx, struct vbs_noise *noise,
                                 const struct vbs_mix *mix,
                                 struct vbs_spread *spread) VBS_MUST_CHECK;

/* Computes the 95% interval of the gain of ours over base, in percent; false where none is
 * known. */
bool vbs_noise_gain(const struct vbs_spread *ours, const struct vbs_spread *base,
                    double *low_percent, double *high_percent);

/* Gives the source of the intervals of the rows used so far. */
enum vbs_intervals vbs_noise_intervals(const struct vbs_noise *noise);

#endif
