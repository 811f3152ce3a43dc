/* Turns of any subjects that take time, by any clock, so that tests need neither. Internal to the
 * room. */
#ifndef VBS_TURNS_INTERNAL_H
#define VBS_TURNS_INTERNAL_H

#include "vbslab/turns.h"

/* The subjects that run by turns, and the clock of the limit of time. */
struct vbs_turns_subjects {
    void *self;
    int n;
    enum vbs_status (*run)(struct vbs_ctx *ctx, void *self, int which, double *time_us);
    double (*now_s)(void *self);
    /* Returns whether the machine is in another state than the usual one; null: it never is. */
    bool (*is_unusual)(void *self);
};

/* Does as vbs_turns_run, with other subjects. Errors as there, and those of run. */
enum vbs_status vbs_turns_by_clock(struct vbs_ctx *ctx, const struct vbs_turns_subjects *subjects,
                                   const struct vbs_turns_options *options,
                                   struct vbs_turns **turns) VBS_MUST_CHECK;

#endif
