/* The words key=value that follow the name of an operator on its line. */
#ifndef VBS_MODEL_TEXT_KEYS_H
#define VBS_MODEL_TEXT_KEYS_H

#include "vbslab/model.h"

/* One size for all spatial dimensions, or one size for each. */
struct vbs_sizes {
    int n;
    int64_t value[VBS_MAX_SPATIAL];
};

struct vbs_pads {
    struct vbs_sizes low, high;
};

struct vbs_keys {
    char *from; /* null: the output of the operator on the line before */
    int64_t out, groups, size;
    struct vbs_sizes kernel, stride, dilation; /* kernel.n is 0: the whole input */
    struct vbs_pads pad;
    bool bias, affine, round_up, count_pad;
    double alpha, beta, k;
};

/* Reads the words of rest (which it cuts up) as keys of op; those not given have their defaults.
 * VBS_FORMAT: unknown, misplaced, repeated or missing keys, values out of range. */
enum vbs_status vbs_keys_read(struct vbs_ctx *ctx, enum vbs_op op, char *rest,
                              struct vbs_keys *keys) VBS_MUST_CHECK;

/* Gives the attributes that keys describe on an input of this shape. VBS_FORMAT when a key has
 * another number of values than the input has spatial dimensions. */
enum vbs_status vbs_keys_attributes(struct vbs_ctx *ctx, enum vbs_op op,
                                    const struct vbs_keys *keys, const struct vbs_shape *input,
                                    union vbs_attributes *attributes) VBS_MUST_CHECK;

#endif
