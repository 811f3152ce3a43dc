/*
 * Loops over floats of training, of which oneDNN has no primitive. Each is an od_function; the type
 * of its plan and the operands are named. Sums are taken in the same order whatever the number of
 * threads, so that results do not depend on it.
 */
#ifndef VBS_BACKEND_ONEDNN_TRAINING_LOOPS_H
#define VBS_BACKEND_ONEDNN_TRAINING_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

struct vbs_training_pass;

/* Plan: int64_t, the number of values. */
bool od_loop_copy(const void *plan, float *const *data);       /* 0 = 1 */
bool od_loop_accumulate(const void *plan, float *const *data); /* 0 += 1 */
bool od_loop_sum(const void *plan, float *const *data);        /* 0 = 1 + 2 */
bool od_loop_sum_relu(const void *plan, float *const *data);   /* 0 = the ReLU of 1 + 2 */
/* The gradient of a ReLU whose output is 1 from that of its output, 2: 0 = 2 where 1 is above 0,
 * else 0; or 0 += that. 0 may be 2. */
bool od_loop_relu_gradient(const void *plan, float *const *data);
bool od_loop_relu_gradient_accumulate(const void *plan, float *const *data);

/* Values that are dropped are 0, the others are multiplied by `factor`. */
struct od_dropout {
    int64_t n;
    const struct vbs_training_pass *pass; /* seed and step of the pass that is running, or of the
                                             last one */
    int number;                           /* of the operator */
    uint32_t threshold;                   /* values of which 32 random bits are below are dropped */
    float factor;
};
bool od_loop_dropout(const void *plan, float *const *data);            /* 0 = of 1 */
bool od_loop_dropout_accumulate(const void *plan, float *const *data); /* 0 += of 1 */

/* Channels in the last place of each row. */
struct od_channels {
    int64_t rows, channels;
};
#define OD_SUM_PARTS 16                                              /* of the rows */
bool od_loop_scale(const void *plan, float *const *data);            /* 0 = 1 * 2 + 3 */
bool od_loop_scale_factor(const void *plan, float *const *data);     /* 0 = 1 * 2 */
bool od_loop_scale_accumulate(const void *plan, float *const *data); /* 0 += 1 * 2 */
/* 0, [OD_SUM_PARTS][2][channels]: of each part of the rows, by channel, the sums of 1 * 2 and of
 * 2. */
bool od_loop_scale_sums(const void *plan, float *const *data);
/* 0: the first sums of all parts of 1 together; 2: the second ones. */
bool od_loop_scale_totals(const void *plan, float *const *data);

/* Running statistics. */
struct od_statistics {
    int64_t channels;
    float rate;       /* the weight of the batch */
    float correction; /* from the variance of the batch to an unbiased estimate */
};
bool od_loop_statistics(const void *plan, float *const *data); /* of 0 by 1 (means), 2 by 3 */

/* A part of longer rows: `part` floats from `first` on of each row of `whole` floats. */
struct od_rows {
    int64_t rows, part, whole, first;
};
bool od_loop_put(const void *plan, float *const *data);             /* the part of 0 = 1 */
bool od_loop_take(const void *plan, float *const *data);            /* 0 = the part of 1 */
bool od_loop_take_accumulate(const void *plan, float *const *data); /* 0 += the part of 1 */

#endif
