#include "fake/cuda_common.h"

#include <math.h>

/* Values number first + i * step, i below n, in the order of t. */
struct slice {
    int64_t first, step, n;
};

static void softmax_slice(const struct fake_op *op, struct slice s)
{
    const struct fake_tensor *t = &op->at[FAKE_Y].t;
    double greatest = -INFINITY, sum = 0;

    for (int64_t i = 0; i < s.n; i++)
        greatest = fmax(greatest, *fake_value(op, t, FAKE_X, s.first + i * s.step));
    for (int64_t i = 0; i < s.n; i++)
        sum += exp(*fake_value(op, t, FAKE_X, s.first + i * s.step) - greatest);
    for (int64_t i = 0; i < s.n; i++) {
        double x = *fake_value(op, t, FAKE_X, s.first + i * s.step) - greatest;

        fake_put(op, op->algorithm == CUDNN_SOFTMAX_LOG ? x - log(sum) : exp(x) / sum,
                 fake_value(op, t, FAKE_Y, s.first + i * s.step));
    }
}

static void run_softmax(const struct fake_op *op)
{
    const struct fake_tensor *t = &op->at[FAKE_Y].t;
    int64_t channels = t->dim[1], sample = fake_elements(t) / t->dim[0], area = sample / channels;

    for (int64_t n = 0; n < t->dim[0]; n++) {
        if (op->mode == CUDNN_SOFTMAX_MODE_INSTANCE)
            softmax_slice(op, (struct slice){n * sample, 1, sample});
        for (int64_t i = 0; op->mode == CUDNN_SOFTMAX_MODE_CHANNEL && i < area; i++)
            softmax_slice(op, (struct slice){n * sample + i, area, channels});
    }
}

/* LRN has these numbers: n, alpha, beta, k. */
static void run_lrn(const struct fake_op *op)
{
    const struct fake_tensor *t = &op->at[FAKE_Y].t;
    int64_t area = fake_elements(t) / t->dim[0] / t->dim[1], n = (int64_t)op->number_of[0];

    for (int64_t i = 0, end = fake_elements(t); i < end; i++) {
        int64_t channel = i / area % t->dim[1], first = channel - (n - 1) / 2;
        double sum = 0;

        for (int64_t c = first; c < first + n; c++) {
            double x =
                c < 0 || c >= t->dim[1] ? 0 : *fake_value(op, t, FAKE_X, i + (c - channel) * area);

            sum += x * x;
        }
        fake_put(op,
                 *fake_value(op, t, FAKE_X, i) /
                     pow(op->number_of[3] + op->number_of[1] / (double)n * sum, op->number_of[2]),
                 fake_value(op, t, FAKE_Y, i));
    }
}

static double accumulated(int mode, double sum, double x)
{
    switch (mode) {
    case CUDNN_REDUCE_TENSOR_MUL:
        return sum * x;
    case CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS:
        return x == 0 ? sum : sum * x;
    case CUDNN_REDUCE_TENSOR_MIN:
        return x < sum || isnan(x) ? x : sum;
    case CUDNN_REDUCE_TENSOR_MAX:
        return x > sum || isnan(x) ? x : sum;
    case CUDNN_REDUCE_TENSOR_AMAX:
        return fabs(x) > sum || isnan(x) ? fabs(x) : sum;
    case CUDNN_REDUCE_TENSOR_NORM1:
        return sum + fabs(x);
    case CUDNN_REDUCE_TENSOR_NORM2:
        return sum + x * x;
    default:
        return sum + x;
    }
}

static double reduced_nothing(int mode)
{
    return mode == CUDNN_REDUCE_TENSOR_MUL || mode == CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS ? 1
           : mode == CUDNN_REDUCE_TENSOR_MIN                                           ? INFINITY
           : mode == CUDNN_REDUCE_TENSOR_MAX                                           ? -INFINITY
                                                                                       : 0;
}

static void run_reduction(const struct fake_op *op)
{
    const struct fake_tensor *x = &op->at[FAKE_X].t, *y = &op->at[FAKE_Y].t;
    int64_t n_x = fake_elements(x), n_y = fake_elements(y), n = 1;
    double *sums = fake_map((size_t)n_y * sizeof *sums);
    struct fake_tensor dense = *y;

    fake_scribble(op);
    for (int d = y->n_dims - 1; d >= 0; d--) {
        dense.stride[d] = (int)n;
        n *= y->dim[d];
    }
    for (int64_t i = 0; i < n_y; i++)
        sums[i] = reduced_nothing(op->mode);
    for (int64_t i = 0; i < n_x; i++) {
        double *sum = &sums[fake_offset(x, &dense, i)];

        *sum = accumulated(op->mode, *sum, *fake_value(op, x, FAKE_X, i));
    }
    for (int64_t i = 0; i < n_y; i++) {
        double sum = op->mode == CUDNN_REDUCE_TENSOR_AVG     ? sums[i] * (double)n_y / (double)n_x
                     : op->mode == CUDNN_REDUCE_TENSOR_NORM2 ? sqrt(sums[i])
                                                             : sums[i];

        fake_put(op, sum, fake_value(op, y, FAKE_Y, i));
    }
    fake_unmap(sums, (size_t)n_y * sizeof *sums);
}

/* ---- Calls ---- */

cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm,
                                  cudnnSoftmaxMode_t mode, const void *alpha,
                                  const cudnnTensorDescriptor_t x_descriptor, const void *x,
                                  const void *beta, const cudnnTensorDescriptor_t y_descriptor,
                                  void *y)
{
    struct fake_op op;

    fake_op_blend(&op, __func__, handle, run_softmax, alpha, beta);
    fake_op_x_to_y(&op, x_descriptor, x, y_descriptor, y);
    fake_op_must(&op, (unsigned)algorithm <= CUDNN_SOFTMAX_LOG, "unknown algorithm");
    fake_op_must(&op, (unsigned)mode <= CUDNN_SOFTMAX_MODE_CHANNEL, "unknown mode");
    op.algorithm = (int)algorithm;
    op.mode = (int)mode;
    fake_op_same(&op, FAKE_X, FAKE_Y, false);
    fake_op_at_most_5(&op);
    fake_op_apart(&op, FAKE_X, FAKE_Y, true);
    return fake_op_issue(&op, 3 * fake_n_values(&op));
}

cudnnStatus_t cudnnLRNCrossChannelForward(cudnnHandle_t handle, cudnnLRNDescriptor_t descriptor,
                                          cudnnLRNMode_t mode, const void *alpha,
                                          const cudnnTensorDescriptor_t x_descriptor, const void *x,
                                          const void *beta,
                                          const cudnnTensorDescriptor_t y_descriptor, void *y)
{
    struct fake_op op;

    fake_op_blend(&op, __func__, handle, run_lrn, alpha, beta);
    fake_op_x_to_y(&op, x_descriptor, x, y_descriptor, y);
    fake_op_numbers(&op, FAKE_LRN, descriptor);
    fake_op_must(&op, mode == CUDNN_LRN_CROSS_CHANNEL_DIM1, "unknown mode");
    fake_op_same(&op, FAKE_X, FAKE_Y, false);
    fake_op_must(&op, op.at[FAKE_X].t.n_dims == 4 || op.at[FAKE_X].t.n_dims == 5,
                 "neither four nor five dimensions");
    fake_op_apart(&op, FAKE_X, FAKE_Y, false);
    return fake_op_issue(&op, op.number_of[0] * fake_n_values(&op));
}

/* Gives an invented size. */
static size_t reduction_scratch(const struct fake_op *op)
{
    return op->code ? 0 : 8 * (size_t)fake_elements(&op->at[FAKE_Y].t) + 36;
}

static void check_reduction(struct fake_op *op, const void *descriptor)
{
    bool reduces = false;

    fake_op_numbers(op, FAKE_REDUCTION, descriptor);
    fake_op_same(op, FAKE_Y, FAKE_X, true);
    for (int d = 0; !op->code && d < op->at[FAKE_Y].t.n_dims; d++)
        reduces = reduces || op->at[FAKE_Y].t.dim[d] != op->at[FAKE_X].t.dim[d];
    fake_op_must(op, reduces, "no dimension is reduced");
}

cudnnStatus_t cudnnGetReductionWorkspaceSize(cudnnHandle_t handle,
                                             const cudnnReduceTensorDescriptor_t descriptor,
                                             const cudnnTensorDescriptor_t a_descriptor,
                                             const cudnnTensorDescriptor_t c_descriptor,
                                             size_t *n_bytes)
{
    struct fake_op op;

    fake_op_begin(&op, __func__, handle, NULL);
    fake_op_x_to_y(&op, a_descriptor, NULL, c_descriptor, NULL);
    check_reduction(&op, descriptor);
    fake_op_must(&op, n_bytes, "nowhere to put the size");
    if (!op.code)
        *n_bytes = reduction_scratch(&op);
    return fake_leave(op.code);
}

cudnnStatus_t cudnnReduceTensor(cudnnHandle_t handle,
                                const cudnnReduceTensorDescriptor_t descriptor, void *indices,
                                size_t indices_bytes, void *scratch, size_t scratch_bytes,
                                const void *alpha, const cudnnTensorDescriptor_t a_descriptor,
                                const void *a, const void *beta,
                                const cudnnTensorDescriptor_t c_descriptor, void *c)
{
    struct fake_op op;

    fake_op_blend(&op, __func__, handle, run_reduction, alpha, beta);
    fake_op_x_to_y(&op, a_descriptor, a, c_descriptor, c);
    check_reduction(&op, descriptor);
    fake_op_must(&op, !indices && indices_bytes == 0, "indices are not known here");
    fake_op_apart(&op, FAKE_X, FAKE_Y, false);
    fake_op_scratch(&op, scratch, scratch_bytes, reduction_scratch(&op));
    return fake_op_issue(&op, op.code ? 0 : (double)fake_elements(&op.at[FAKE_X].t));
}
