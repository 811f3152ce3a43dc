/*
 * Declarations that the files of the room share. In the order of work: describe.c turns kernels
 * into points, roofline.c fits times by work and bytes, family.c corrects them by a Gaussian
 * process, model.c chooses among families, networks.c makes the networks to learn from, calibrate.c
 * measures them, and profile.c makes the profile of a network.
 */
#ifndef VBS_PREDICT_PREDICT_H
#define VBS_PREDICT_PREDICT_H

#include "base/arena.h"
#include "tune/gp/gp.h"
#include "vbslab/backend.h"
#include "vbslab/model.h"
#include "vbslab/predict.h"
#include "vbslab/profile.h"

#define PREDICT_TERMS    5
#define PREDICT_FEATURES 9

/* Whether a convolution has groups. */
enum predict_groups {
    PREDICT_DENSE,
    PREDICT_GROUPED,
    PREDICT_DEPTHWISE /* one for each channel */
};

/* A kernel of a layer at a batch, as the model sees it. */
struct predict_point {
    enum vbs_op op;
    enum predict_groups groups;
    const char *algorithm;             /* without the number of slices; owned by an arena */
    int geometry;                      /* points of one layer have one number */
    double terms[PREDICT_TERMS];       /* what time is proportional to: see describe.c */
    double features[PREDICT_FEATURES]; /* logarithms, scaled to ranges of about 1 */
    double time_us;                    /* of a point to learn from; above 0 */
};

/* A predicted time. */
struct predict_time {
    double log_us, deviation; /* the logarithm's mean and standard deviation */
    bool known; /* times of the same implementation were learnt, for the same operator */
};

/* The standard deviation of the logarithm of the time of an implementation of which no times were
 * learnt: those of one operator differ by such factors. */
#define PREDICT_UNKNOWN 0.7

/* --- describe.c --- */

/* Describes the kernel of row, of the network's layer l, which about describes, at batch. Time and
 * geometry are left 0. Null algorithm in the point: out of memory. */
struct predict_point vbs_predict_describe(const struct vbs_layer *l,
                                          const struct vbs_profile_layer *about, int batch,
                                          const char *algorithm, const struct vbs_profile_row *row,
                                          struct vbs_arena *arena);

/* --- roofline.c --- */

/* Fits coefficients, none below 0, with the least sum of squares of the relative errors of
 * sum(coefficients * terms). O(n). */
void vbs_predict_fit_roofline(const struct predict_point *const *points, int n,
                              double coefficients[PREDICT_TERMS]);

/* Gives sum(coefficients * terms), at least a nanosecond. */
double vbs_predict_roofline(const double coefficients[PREDICT_TERMS],
                            const struct predict_point *point);

/* --- family.c --- */

/* What has been learnt of kernels of one kind. Its memory is in the arena of the model. */
struct predict_family {
    const struct predict_point *first; /* one of its points, whose operator and algorithm it has */
    int n;                             /* points */
    double coefficients[PREDICT_TERMS];
    struct tune_gp gp; /* of logarithms of time over roofline */
    double widening;   /* how many times the process's own the deviations are, for 95% of the errors
                        of   layers left out to lie within theirs */
};

/* Learns from points [n], n >= 1, of which as many as PREDICT_MOST are used, evenly chosen.
 * VBS_NO_MEMORY, VBS_INTERRUPTED. O(n^3). */
#define PREDICT_MOST 720
enum vbs_status vbs_predict_learn_family(struct vbs_ctx *ctx, struct vbs_arena *arena,
                                         const struct predict_point *const *points, int n,
                                         struct predict_family *family) VBS_MUST_CHECK;

/* Predicts the times of points [n]. VBS_NO_MEMORY. O(points of the family^2) a point. */
enum vbs_status vbs_predict_by_family(struct vbs_ctx *ctx, const struct predict_family *family,
                                      const struct predict_point *const *points, int n,
                                      struct predict_time *times) VBS_MUST_CHECK;

/* --- model.c --- */

/* Families, and two that hold the points of all of them: with multiplications and without. */
struct predict_model {
    struct vbs_arena arena;
    int n_families;
    struct predict_family *families; /* [n_families + 2] */
    int n_points;
    double least_us; /* of the times that were learnt: no kernel is predicted to take less */
};

/* Learns from points [n], whose memory must stay until the model is cleared. Times of 0 are
 * refused: VBS_INVALID. VBS_NO_MEMORY, VBS_INTERRUPTED. A failed model is cleared. */
enum vbs_status vbs_predict_learn(struct vbs_ctx *ctx, const struct predict_point *points, int n,
                                  struct predict_model *model) VBS_MUST_CHECK;

/* Predicts the times of points [n]. VBS_NO_MEMORY. */
enum vbs_status vbs_predict_times(struct vbs_ctx *ctx, const struct predict_model *model,
                                  const struct predict_point *points, int n,
                                  struct predict_time *times) VBS_MUST_CHECK;

/* Raises the times of unknown implementations by their deviation where a known one computes the
 * same layer at the same batch: planners take the least time, and would take the unknown one whose
 * time is most too low. Kernels [n] of one place lie together. */
void vbs_predict_prefer_known(const struct vbs_kernel *kernels, int n, struct predict_time *times);

void vbs_predict_clear(struct predict_model *model);

#endif
