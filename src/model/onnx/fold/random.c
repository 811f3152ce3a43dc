/*
 * Random numbers, which are constants: the same ones each time that a file is read, and for every
 * sample. Number i of a node is made of outputs 2 i and 2 i + 1 of splitmix64 (base/random.h),
 * whose key follows from the node's seed, or from its name where it has none. docs/onnx.md
 * describes them.
 */
#include "model/onnx/fold/fold.h"

#include "base/fail.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

#define FLOAT ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT

static uint64_t key_of(struct vbs_onnx_import *im)
{
    double seed = vbs_onnx_real(im, "seed", 0);
    uint64_t key = 0, bits;

    if (vbs_onnx_has(im, "seed")) {
        memcpy(&bits, &seed, sizeof bits);
        return vbs_random(1, bits);
    }
    for (const char *c = im->node->label; *c; c++)
        key = vbs_random(key, (unsigned char)*c);
    return key;
}

/* Returns output i of the sequence as a number from 0 to less than 1. */
static double uniform(uint64_t key, int64_t i)
{
    return (double)(vbs_random(key, (uint64_t)i) >> 11) * 0x1p-53;
}

/* Returns number i from 0 to less than 1, or (normal) of the distribution of mean 0 and variance 1
 * (Box and Muller 1958). */
static double draw(bool normal, uint64_t key, int64_t i)
{
    double u = uniform(key, 2 * i);

    return normal ? sqrt(-2 * log(1 - u)) * cos(2 * acos(-1.0) * uniform(key, 2 * i + 1)) : u;
}

/* Reads the shape, for an operator that has it as an attribute. */
static enum vbs_status given_shape(struct vbs_onnx_import *im, struct vbs_shape *shape)
{
    int n;
    const int64_t *dims = vbs_onnx_ints(im, "shape", &n);

    if (!dims && !vbs_onnx_has(im, "shape"))
        return vbs_fail(im->ctx, VBS_FORMAT, "has no shape");
    im->copies = 0;
    return vbs_onnx_constant_shape(im, dims, n, shape);
}

/* Finds the numbers that a sample has, for an operator that makes as many as its input has, and
 * which of their dimensions counts the samples. */
static enum vbs_status input_shape(struct vbs_onnx_import *im, struct vbs_shape *shape)
{
    int64_t dims[VBS_MAX_DIMS + 1];
    int batch, n;

    if (!vbs_onnx_in(im, 0))
        return vbs_fail(im->ctx, VBS_FORMAT, "input 0 is missing");
    vbs_onnx_dims_of(im, dims, &batch, &n);
    if (batch >= 0)
        dims[batch] /= VBS_ONNX_OPEN_BATCH;
    im->copies = batch + 1;
    return vbs_onnx_constant_shape(im, dims, n, shape);
}

/* Reads what a number is multiplied by, and what is added to it then. */
static enum vbs_status read_range(struct vbs_onnx_import *im, bool normal, double *factor,
                                  double *shift)
{
    int type = (int)vbs_onnx_int(im, "dtype", FLOAT);

    if (vbs_onnx_is_whole(type))
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "its numbers are to be floats");
    *shift = vbs_onnx_real(im, normal ? "mean" : "low", 0);
    *factor = normal ? vbs_onnx_real(im, "scale", 1) : vbs_onnx_real(im, "high", 1) - *shift;
    if (!isfinite(*factor) || !isfinite(*shift))
        return vbs_fail(im->ctx, VBS_FORMAT, "the range of its numbers is not finite");
    return VBS_OK;
}

VBS_ONNX_HANDLER(fold_random)
{
    bool normal = (operator->op & VBS_ONNX_NORMAL) != 0, like = (operator->op & VBS_ONNX_LIKE) != 0;
    const struct vbs_onnx_constant model = {.name = im->node->label, .type = FLOAT};
    struct vbs_onnx_constant *made;
    struct vbs_shape shape;
    double factor = 1, shift = 0;
    uint64_t key = key_of(im);
    float *values;

    VBS_TRY(read_range(im, normal, &factor, &shift));
    VBS_TRY(like ? input_shape(im, &shape) : given_shape(im, &shape));
    if (!vbs_onnx_bounded(&shape))
        return vbs_fail(im->ctx, VBS_FORMAT, "more than 2^36 numbers");
    VBS_TRY(vbs_onnx_floats_new(im, &model, &shape, &made, &values));
    for (int64_t i = 0; i < vbs_shape_elements(&shape); i++)
        values[i] = (float)(shift + factor * draw(normal, key, i));
    vbs_onnx_give_constant(im, 0, made);
    return VBS_OK;
}
