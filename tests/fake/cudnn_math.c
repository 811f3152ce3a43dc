#include "fake/cuda_common.h"

#include <math.h>
#include <string.h>

float *fake_value(const struct fake_op *op, const struct fake_tensor *t, enum fake_slot slot,
                  int64_t i)
{
    return &op->at[slot].values[fake_offset(t, &op->at[slot].t, i)];
}

void fake_put(const struct fake_op *op, double result, float *y)
{
    *y = (float)(op->alpha * result + (op->beta != 0 ? op->beta * *y : 0));
}

void fake_scribble(const struct fake_op *op)
{
    if (op->scratch_bytes > 0)
        memset(op->scratch, 0xFF, op->scratch_bytes);
}

/* ---- One value at a time ---- */

double fake_activate(const struct fake_op *op, double x)
{
    double coefficient = op->number_of[0];

    switch (op->mode) {
    case CUDNN_ACTIVATION_SIGMOID:
        return 1 / (1 + exp(-x));
    case CUDNN_ACTIVATION_RELU:
        return x < 0 ? 0 : x;
    case CUDNN_ACTIVATION_TANH:
        return tanh(x);
    case CUDNN_ACTIVATION_CLIPPED_RELU:
        return x < 0 ? 0 : x > coefficient ? coefficient : x;
    case CUDNN_ACTIVATION_ELU:
        return x < 0 ? coefficient * expm1(x) : x;
    case CUDNN_ACTIVATION_SWISH:
        return x / (1 + exp(-op->number_of[1] * x));
    default:
        return x;
    }
}

static void run_activation(const struct fake_op *op)
{
    const struct fake_tensor *t = &op->at[FAKE_Y].t;

    for (int64_t i = 0, n = fake_elements(t); i < n; i++)
        fake_put(op, fake_activate(op, *fake_value(op, t, FAKE_X, i)),
                 fake_value(op, t, FAKE_Y, i));
}

/* Computes sums that broadcast x, copies, and scaling, all of which are this operation. */
static void run_add(const struct fake_op *op)
{
    const struct fake_tensor *t = &op->at[FAKE_Y].t;

    for (int64_t i = 0, n = fake_elements(t); i < n; i++)
        fake_put(op, *fake_value(op, t, FAKE_X, i), fake_value(op, t, FAKE_Y, i));
}

static void run_set_all(const struct fake_op *op)
{
    const struct fake_tensor *t = &op->at[FAKE_Y].t;

    for (int64_t i = 0, n = fake_elements(t); i < n; i++)
        *fake_value(op, t, FAKE_Y, i) = (float)op->number_of[0];
}

static void run_scale(const struct fake_op *op)
{
    const struct fake_tensor *t = &op->at[FAKE_Y].t;

    for (int64_t i = 0, n = fake_elements(t); i < n; i++)
        *fake_value(op, t, FAKE_Y, i) = (float)(op->alpha * *fake_value(op, t, FAKE_Y, i));
}

static double combined(int mode, double a, double b)
{
    switch (mode) {
    case CUDNN_OP_TENSOR_ADD:
        return a + b;
    case CUDNN_OP_TENSOR_MUL:
        return a * b;
    case CUDNN_OP_TENSOR_MIN:
        return b < a ? b : a;
    case CUDNN_OP_TENSOR_MAX:
        return b > a ? b : a;
    case CUDNN_OP_TENSOR_SQRT:
        return sqrt(a);
    default:
        return 1 - a;
    }
}

/* In this operation the scale of x is number 0, that of z is alpha2, and alpha is 1. */
static void run_op_tensor(const struct fake_op *op)
{
    const struct fake_tensor *t = &op->at[FAKE_Y].t;

    for (int64_t i = 0, n = fake_elements(t); i < n; i++) {
        double a = op->number_of[0] * *fake_value(op, t, FAKE_X, i);
        double b = op->at[FAKE_Z].values ? op->alpha2 * *fake_value(op, t, FAKE_Z, i) : 0;

        fake_put(op, combined(op->mode, a, b), fake_value(op, t, FAKE_Y, i));
    }
}

static void run_batch_norm(const struct fake_op *op)
{
    const struct fake_tensor *t = &op->at[FAKE_Y].t;

    for (int64_t i = 0, n = fake_elements(t); i < n; i++) {
        double x = (double)*fake_value(op, t, FAKE_X, i) - *fake_value(op, t, FAKE_MEAN, i);
        double deviation = sqrt(*fake_value(op, t, FAKE_VARIANCE, i) + op->number_of[0]);

        fake_put(op,
                 *fake_value(op, t, FAKE_W, i) * x / deviation + *fake_value(op, t, FAKE_BIAS, i),
                 fake_value(op, t, FAKE_Y, i));
    }
}

/* ---- Calls ---- */

cudnnStatus_t cudnnActivationForward(cudnnHandle_t handle, cudnnActivationDescriptor_t activation,
                                     const void *alpha, const cudnnTensorDescriptor_t x_descriptor,
                                     const void *x, const void *beta,
                                     const cudnnTensorDescriptor_t y_descriptor, void *y)
{
    struct fake_op op;

    fake_op_blend(&op, __func__, handle, run_activation, alpha, beta);
    fake_op_x_to_y(&op, x_descriptor, x, y_descriptor, y);
    fake_op_numbers(&op, FAKE_ACTIVATION, activation);
    fake_op_same(&op, FAKE_X, FAKE_Y, false);
    fake_op_apart(&op, FAKE_X, FAKE_Y, true);
    return fake_op_issue(&op, fake_n_values(&op));
}

cudnnStatus_t cudnnAddTensor(cudnnHandle_t handle, const void *alpha,
                             const cudnnTensorDescriptor_t a_descriptor, const void *a,
                             const void *beta, const cudnnTensorDescriptor_t c_descriptor, void *c)
{
    struct fake_op op;

    fake_op_blend(&op, __func__, handle, run_add, alpha, beta);
    fake_op_x_to_y(&op, a_descriptor, a, c_descriptor, c);
    fake_op_same(&op, FAKE_X, FAKE_Y, true);
    fake_op_at_most_5(&op);
    fake_op_apart(&op, FAKE_X, FAKE_Y, true);
    return fake_op_issue(&op, fake_n_values(&op));
}

cudnnStatus_t cudnnTransformTensor(cudnnHandle_t handle, const void *alpha,
                                   const cudnnTensorDescriptor_t x_descriptor, const void *x,
                                   const void *beta, const cudnnTensorDescriptor_t y_descriptor,
                                   void *y)
{
    struct fake_op op;

    fake_op_blend(&op, __func__, handle, run_add, alpha, beta);
    fake_op_x_to_y(&op, x_descriptor, x, y_descriptor, y);
    fake_op_same(&op, FAKE_X, FAKE_Y, false);
    fake_op_apart(&op, FAKE_X, FAKE_Y, false);
    return fake_op_issue(&op, fake_n_values(&op));
}

cudnnStatus_t cudnnSetTensor(cudnnHandle_t handle, const cudnnTensorDescriptor_t y_descriptor,
                             void *y, const void *number)
{
    struct fake_op op;

    fake_op_begin(&op, __func__, handle, run_set_all);
    fake_op_number(&op, &op.number_of[0], number);
    fake_op_tensor(&op, FAKE_Y, y_descriptor, y);
    return fake_op_issue(&op, fake_n_values(&op));
}

cudnnStatus_t cudnnScaleTensor(cudnnHandle_t handle, const cudnnTensorDescriptor_t y_descriptor,
                               void *y, const void *alpha)
{
    struct fake_op op;

    fake_op_begin(&op, __func__, handle, run_scale);
    fake_op_number(&op, &op.alpha, alpha);
    fake_op_tensor(&op, FAKE_Y, y_descriptor, y);
    return fake_op_issue(&op, fake_n_values(&op));
}

/* As in cuDNN, where B is C, A must be C as well. */
cudnnStatus_t cudnnOpTensor(cudnnHandle_t handle, const cudnnOpTensorDescriptor_t descriptor,
                            const void *alpha1, const cudnnTensorDescriptor_t a_descriptor,
                            const void *a, const void *alpha2,
                            const cudnnTensorDescriptor_t b_descriptor, const void *b,
                            const void *beta, const cudnnTensorDescriptor_t c_descriptor, void *c)
{
    struct fake_op op;

    fake_op_begin(&op, __func__, handle, run_op_tensor);
    fake_op_x_to_y(&op, a_descriptor, a, c_descriptor, c);
    fake_op_numbers(&op, FAKE_OP_TENSOR, descriptor);
    fake_op_number(&op, &op.number_of[0], alpha1);
    fake_op_number(&op, &op.beta, beta);
    if (op.mode != CUDNN_OP_TENSOR_SQRT && op.mode != CUDNN_OP_TENSOR_NOT) {
        fake_op_tensor(&op, FAKE_Z, b_descriptor, b);
        fake_op_number(&op, &op.alpha2, alpha2);
        fake_op_same(&op, FAKE_Z, FAKE_Y, true);
        fake_op_must(&op, b != c || a == c, "in place of B alone");
    }
    fake_op_same(&op, FAKE_X, FAKE_Y, false);
    fake_op_at_most_5(&op);
    fake_op_apart(&op, FAKE_X, FAKE_Y, true);
    fake_op_apart(&op, FAKE_Z, FAKE_Y, true);
    return fake_op_issue(&op, fake_n_values(&op));
}

cudnnStatus_t cudnnBatchNormalizationForwardInference(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void *alpha, const void *beta,
    const cudnnTensorDescriptor_t x_descriptor, const void *x,
    const cudnnTensorDescriptor_t y_descriptor, void *y, const cudnnTensorDescriptor_t parameters,
    const void *scale, const void *bias, const void *mean, const void *variance, double epsilon)
{
    struct fake_op op;

    fake_op_blend(&op, __func__, handle, run_batch_norm, alpha, beta);
    fake_op_x_to_y(&op, x_descriptor, x, y_descriptor, y);
    fake_op_tensor(&op, FAKE_W, parameters, scale);
    fake_op_tensor(&op, FAKE_BIAS, parameters, bias);
    fake_op_tensor(&op, FAKE_MEAN, parameters, mean);
    fake_op_tensor(&op, FAKE_VARIANCE, parameters, variance);
    fake_op_must(&op, mode == CUDNN_BATCHNORM_SPATIAL || mode == CUDNN_BATCHNORM_SPATIAL_PERSISTENT,
                 "not the spatial mode");
    fake_op_must(&op, epsilon >= CUDNN_BN_MIN_EPSILON, "epsilon is too small");
    op.number_of[0] = epsilon;
    fake_op_same(&op, FAKE_X, FAKE_Y, false);
    fake_op_same(&op, FAKE_W, FAKE_Y, true);
    fake_op_must(&op, fake_elements(&op.at[FAKE_W].t) == op.at[FAKE_Y].t.dim[1],
                 "not one parameter for each channel");
    for (int i = 0; i < FAKE_Y; i++)
        fake_op_apart(&op, (enum fake_slot)i, FAKE_Y, false);
    return fake_op_issue(&op, 4 * fake_n_values(&op));
}
