/*
 * vbslab/posterior.h - the times of a profile's rows as all of its rows, and executed schedules,
 * say them together.
 *
 * A row's time is the median of a few runs of one kernel, alone. A planner takes the least of many
 * such medians, and so collects those that are too low by luck, in proportion to their noise; and a
 * kernel in a schedule meets other caches than one that is timed alone. The posterior time of a row
 * follows from everything that is known of it: its own runs, those of the same kernel at other
 * batches, and the times of steps in schedules that were executed. It is the expectation of the
 * time that a step takes in a schedule, so that sums of them are unbiased also for rows that a
 * planner has chosen, as long as undisturbed runs of a kernel differ by 5% or less: what is more
 * counts as disturbance by others.
 *
 * The model (src/profile/posterior/posterior.h) is a Gaussian process over the logarithm of the
 * batch.
 */
#ifndef VBSLAB_POSTERIOR_H
#define VBSLAB_POSTERIOR_H

#include "vbslab/profile.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VBS_OBSERVED_GROUPS 64

/* The time of a row as it was observed in executed schedules. */
struct vbs_observed_row {
    int layer, batch;
    int rows;         /* of a stripe; 0: whole samples */
    int algorithm;    /* index into the profile's algorithms */
    double time_us;   /* of the whole batch, above 0 */
    double deviation; /* standard deviation of time_us, as a share of it, above 0 */
    /* 0..VBS_OBSERVED_GROUPS - 1: the stretch of time, in which schedules were executed by turns.
     * The machine may be slower in one than in another, as a whole. */
    int group;
    /* The machine was in another state than the profile is for. A group that has only such rows
     * tells how rows differ, but not how long schedules take, unless all groups are such. */
    bool apart;
};

/* The options of vbs_profile_posterior. Begin with {.struct_size = sizeof(struct
 * vbs_posterior_options)}. */
struct vbs_posterior_options {
    size_t struct_size; /* sizeof(struct vbs_posterior_options) */
    /* [n_executed] A row may be given more than once; the times are then combined. */
    int n_executed;
    const struct vbs_observed_row *executed;
    const char *notes; /* of the profile that is made; null: those of the given one */
    /* The rows get times that are drawn from the distribution of what they can be, those of a layer
     * together, in the place of its expectation (Thompson sampling). */
    bool draws;
    uint64_t seed; /* of the draws */
    /* Rows that are not among the executed ones get so many times the time that the model says,
     * because planners choose those of them that look too fast; 0: 1. */
    double unexecuted;
};

/* The parameters of the model, as they were found. */
struct vbs_posterior_report {
    double deviation; /* standard deviation of one run of a kernel, as a share of its time, typical
                         of the profile; 0.03 where no row has two runs */
    double level;   /* how many times as long steps take in schedules as undisturbed kernels alone:
                       the mean over the groups of executed rows; where there are none, as long as
                       the medians of kernels */
    double context; /* standard deviation of the differences from this level, as a share */
    double drift;   /* standard deviation of the level in one stretch of time from this one, as a
                       share; 0 where nothing was executed */
    int n_executed; /* rows of the profile that have been executed */
};

/*
 * Makes a copy of a profile with posterior times. time_us of a row is the expectation, low_us and
 * high_us are its 95% interval; mad_us and n_runs stay. A row without runs, such as those of the
 * analytic backend, has no error: its time stays, unless rows were executed. So does a time of 0.
 * Unless all of them stay, times of the provenance becomes VBS_TIMES_POSTERIOR, with the drift
 * where rows were executed. Everything else stays, too. *report may be null.
 *
 * VBS_INVALID: an executed row is not in the profile, or its numbers are out of range;
 * VBS_USAGE: unexecuted is below 0, or not finite;
 * VBS_NO_MEMORY. O(sum of n^3 over the layers, n rows each, in groups of at most 256).
 */
enum vbs_status vbs_profile_posterior(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                      const struct vbs_posterior_options *options,
                                      struct vbs_posterior_report *report,
                                      struct vbs_profile **made) VBS_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
