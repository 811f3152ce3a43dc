#define FAKE_CUDA_INSIDE
#include "fake_cuda.h"

#include <math.h>
#include <string.h>

/* ---- Values by their place ---- */

int64_t fake_elements(const struct fake_tensor *tensor)
{
    int64_t n = 1;

    for (int d = 0; d < tensor->n_dims; d++)
        n *= tensor->dim[d];
    return n;
}

int64_t fake_offset(const struct fake_tensor *t, const struct fake_tensor *of, int64_t i)
{
    int64_t offset = 0;

    for (int d = t->n_dims - 1; d >= 0; d--) {
        offset += of->dim[d] == 1 ? 0 : i % t->dim[d] * of->stride[d];
        i /= t->dim[d];
    }
    return offset;
}

/* The value of an operand that belongs to number i of the tensor t. */
static float *at(const struct fake_op *op, const struct fake_tensor *t, enum fake_slot slot,
                 int64_t i)
{
    return &op->at[slot].values[fake_offset(t, &op->at[slot].t, i)];
}

/* The value at a place of a tensor with three spatial dimensions. */
static float *value(const struct fake_operand *o, int n, int c, const int *place)
{
    const int *s = o->t.stride;

    return &o->values[(int64_t)n * s[0] + (int64_t)c * s[1] + (int64_t)place[0] * s[2] +
                      (int64_t)place[1] * s[3] + (int64_t)place[2] * s[4]];
}

/* Number i of a space of these sizes. */
static void places(const int *sizes, int64_t i, int *place)
{
    for (int d = 2; d >= 0; d--) {
        place[d] = (int)(i % sizes[d]);
        i /= sizes[d];
    }
}

static int64_t volume(const int *sizes)
{
    return (int64_t)sizes[0] * sizes[1] * sizes[2];
}

/* What was there counts only with a beta. */
static void put(const struct fake_op *op, double result, float *y)
{
    *y = (float)(op->alpha * result + (op->beta != 0 ? op->beta * *y : 0));
}

/* ---- Windows ---- */

/* The place in x that number q of the window looks at from place; false: in the padding. */
static bool look(const struct fake_op *op, const int *place, const int *q, int *from)
{
    const struct fake_window *w = &op->window;
    bool inside = true;

    for (int d = 0; d < 3; d++) {
        from[d] = place[d] * w->stride[d] - w->pad[d] + q[d] * w->dilation[d];
        inside = inside && from[d] >= 0 && from[d] < op->at[FAKE_X].t.dim[2 + d];
    }
    return inside;
}

static double window_sum(const struct fake_op *op, int n, int k, const int *place)
{
    const struct fake_operand *x = &op->at[FAKE_X], *w = &op->at[FAKE_W];
    int n_in = w->t.dim[1], first = k / (w->t.dim[0] / op->window.groups) * n_in;
    int64_t n_q = volume(&w->t.dim[2]);
    double sum = 0;

    for (int64_t i = 0; i < n_q; i++) {
        int q[3], from[3];

        places(&w->t.dim[2], i, q);
        if (!look(op, place, q, from))
            continue;
        for (int c = 0; c < n_in; c++)
            sum += (double)*value(w, k, c, q) * *value(x, n, first + c, from);
    }
    return sum;
}

/* With a bias: y = activation(alpha * sum + alpha2 * z + bias). */
static void convolved(const struct fake_op *op, int n, int k, const int *place)
{
    float *y = value(&op->at[FAKE_Y], n, k, place);
    double sum = window_sum(op, n, k, place);

    if (!op->at[FAKE_BIAS].values) {
        put(op, sum, y);
        return;
    }
    sum = op->alpha * sum + op->at[FAKE_BIAS].values[(int64_t)k * op->at[FAKE_BIAS].t.stride[1]];
    if (op->alpha2 != 0)
        sum += op->alpha2 * *value(&op->at[FAKE_Z], n, k, place);
    *y = (float)fake_activate(op, sum);
}

/* Scratch has something in it while a kernel runs, and something else when it is through. */
static void scribble(const struct fake_op *op)
{
    if (op->scratch_bytes > 0)
        memset(op->scratch, 0xFF, op->scratch_bytes);
}

void fake_convolve(const struct fake_op *op)
{
    const struct fake_tensor *y = &op->at[FAKE_Y].t;
    int64_t n_places = volume(&y->dim[2]);

    scribble(op);
    for (int n = 0; n < y->dim[0]; n++) {
        for (int k = 0; k < y->dim[1]; k++) {
            for (int64_t i = 0; i < n_places; i++) {
                int place[3];

                places(&y->dim[2], i, place);
                convolved(op, n, k, place);
            }
        }
    }
}

/* The place in dy whose window had number q on this place in dx; false: none. */
static bool look_back(const struct fake_op *op, const int *place, const int *q, int *from)
{
    const struct fake_window *w = &op->window;

    for (int d = 0; d < 3; d++) {
        int at_stride = place[d] + w->pad[d] - q[d] * w->dilation[d];

        from[d] = at_stride / w->stride[d];
        if (at_stride < 0 || at_stride % w->stride[d] != 0 ||
            from[d] >= op->at[FAKE_X].t.dim[2 + d])
            return false;
    }
    return true;
}

static double back_sum(const struct fake_op *op, int n, int c, const int *place)
{
    const struct fake_operand *dy = &op->at[FAKE_X], *w = &op->at[FAKE_W];
    int n_out = w->t.dim[0] / op->window.groups, first = c / w->t.dim[1] * n_out;
    int64_t n_q = volume(&w->t.dim[2]);
    double sum = 0;

    for (int64_t i = 0; i < n_q; i++) {
        int q[3], from[3];

        places(&w->t.dim[2], i, q);
        if (!look_back(op, place, q, from))
            continue;
        for (int k = first; k < first + n_out; k++)
            sum += (double)*value(w, k, c % w->t.dim[1], q) * *value(dy, n, k, from);
    }
    return sum;
}

void fake_convolve_back(const struct fake_op *op)
{
    const struct fake_operand *dx = &op->at[FAKE_Y];
    int64_t n_places = volume(&dx->t.dim[2]);

    scribble(op);
    for (int n = 0; n < dx->t.dim[0]; n++) {
        for (int c = 0; c < dx->t.dim[1]; c++) {
            for (int64_t i = 0; i < n_places; i++) {
                int place[3];

                places(&dx->t.dim[2], i, place);
                put(op, back_sum(op, n, c, place), value(dx, n, c, place));
            }
        }
    }
}

static double pooled(const struct fake_op *op, int n, int c, const int *place)
{
    const struct fake_window *w = &op->window;
    bool is_max = w->mode == CUDNN_POOLING_MAX || w->mode == CUDNN_POOLING_MAX_DETERMINISTIC;
    double sum = 0, greatest = -INFINITY;
    int64_t n_inside = 0, n_q = volume(w->size);

    for (int64_t i = 0; i < n_q; i++) {
        int q[3], from[3];
        double x;

        places(w->size, i, q);
        if (!look(op, place, q, from))
            continue;
        x = *value(&op->at[FAKE_X], n, c, from);
        if (is_max && isnan(x) && w->nan == CUDNN_PROPAGATE_NAN)
            return x;
        greatest = x > greatest ? x : greatest;
        sum += x;
        n_inside++;
    }
    if (is_max)
        return greatest;
    return sum / (double)(w->mode == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING ? n_q : n_inside);
}

void fake_pool(const struct fake_op *op)
{
    const struct fake_operand *y = &op->at[FAKE_Y];
    int64_t n_places = volume(&y->t.dim[2]);

    for (int n = 0; n < y->t.dim[0]; n++) {
        for (int c = 0; c < y->t.dim[1]; c++) {
            for (int64_t i = 0; i < n_places; i++) {
                int place[3];

                places(&y->t.dim[2], i, place);
                put(op, pooled(op, n, c, place), value(y, n, c, place));
            }
        }
    }
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
        put(op, fake_activate(op, *at(op, t, FAKE_X, i)), at(op, t, FAKE_Y, i));
}

/* Sums that broadcast x, copies, and scaling are all this. */
static void run_add(const struct fake_op *op)
{
    const struct fake_tensor *t = &op->at[FAKE_Y].t;

    for (int64_t i = 0, n = fake_elements(t); i < n; i++)
        put(op, *at(op, t, FAKE_X, i), at(op, t, FAKE_Y, i));
}

static void run_set_all(const struct fake_op *op)
{
    const struct fake_tensor *t = &op->at[FAKE_Y].t;

    for (int64_t i = 0, n = fake_elements(t); i < n; i++)
        *at(op, t, FAKE_Y, i) = (float)op->number_of[0];
}

static void run_scale(const struct fake_op *op)
{
    const struct fake_tensor *t = &op->at[FAKE_Y].t;

    for (int64_t i = 0, n = fake_elements(t); i < n; i++)
        *at(op, t, FAKE_Y, i) = (float)(op->alpha * *at(op, t, FAKE_Y, i));
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

/* Here the scale of x is number 0, of z alpha2, and alpha is 1. */
static void run_op_tensor(const struct fake_op *op)
{
    const struct fake_tensor *t = &op->at[FAKE_Y].t;

    for (int64_t i = 0, n = fake_elements(t); i < n; i++) {
        double a = op->number_of[0] * *at(op, t, FAKE_X, i);
        double b = op->at[FAKE_Z].values ? op->alpha2 * *at(op, t, FAKE_Z, i) : 0;

        put(op, combined(op->mode, a, b), at(op, t, FAKE_Y, i));
    }
}

static void run_batch_norm(const struct fake_op *op)
{
    const struct fake_tensor *t = &op->at[FAKE_Y].t;

    for (int64_t i = 0, n = fake_elements(t); i < n; i++) {
        double x = (double)*at(op, t, FAKE_X, i) - *at(op, t, FAKE_MEAN, i);
        double deviation = sqrt(*at(op, t, FAKE_VARIANCE, i) + op->number_of[0]);

        put(op, *at(op, t, FAKE_W, i) * x / deviation + *at(op, t, FAKE_BIAS, i),
            at(op, t, FAKE_Y, i));
    }
}

/* ---- Sums over dimensions ---- */

/* Values number first + i * step, i below n, in the order of t. */
struct slice {
    int64_t first, step, n;
};

static void softmax_slice(const struct fake_op *op, struct slice s)
{
    const struct fake_tensor *t = &op->at[FAKE_Y].t;
    double greatest = -INFINITY, sum = 0;

    for (int64_t i = 0; i < s.n; i++)
        greatest = fmax(greatest, *at(op, t, FAKE_X, s.first + i * s.step));
    for (int64_t i = 0; i < s.n; i++)
        sum += exp(*at(op, t, FAKE_X, s.first + i * s.step) - greatest);
    for (int64_t i = 0; i < s.n; i++) {
        double x = *at(op, t, FAKE_X, s.first + i * s.step) - greatest;

        put(op, op->algorithm == CUDNN_SOFTMAX_LOG ? x - log(sum) : exp(x) / sum,
            at(op, t, FAKE_Y, s.first + i * s.step));
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

/* The numbers: n, alpha, beta, k. */
static void run_lrn(const struct fake_op *op)
{
    const struct fake_tensor *t = &op->at[FAKE_Y].t;
    int64_t area = fake_elements(t) / t->dim[0] / t->dim[1], n = (int64_t)op->number_of[0];

    for (int64_t i = 0, end = fake_elements(t); i < end; i++) {
        int64_t channel = i / area % t->dim[1], first = channel - (n - 1) / 2;
        double sum = 0;

        for (int64_t c = first; c < first + n; c++) {
            double x = c < 0 || c >= t->dim[1] ? 0 : *at(op, t, FAKE_X, i + (c - channel) * area);

            sum += x * x;
        }
        put(op,
            *at(op, t, FAKE_X, i) /
                pow(op->number_of[3] + op->number_of[1] / (double)n * sum, op->number_of[2]),
            at(op, t, FAKE_Y, i));
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

    scribble(op);
    for (int d = y->n_dims - 1; d >= 0; d--) {
        dense.stride[d] = (int)n;
        n *= y->dim[d];
    }
    for (int64_t i = 0; i < n_y; i++)
        sums[i] = reduced_nothing(op->mode);
    for (int64_t i = 0; i < n_x; i++) {
        double *sum = &sums[fake_offset(x, &dense, i)];

        *sum = accumulated(op->mode, *sum, *at(op, x, FAKE_X, i));
    }
    for (int64_t i = 0; i < n_y; i++) {
        double sum = op->mode == CUDNN_REDUCE_TENSOR_AVG     ? sums[i] * (double)n_y / (double)n_x
                     : op->mode == CUDNN_REDUCE_TENSOR_NORM2 ? sqrt(sums[i])
                                                             : sums[i];

        put(op, sum, at(op, y, FAKE_Y, i));
    }
    fake_unmap(sums, (size_t)n_y * sizeof *sums);
}

/* ---- Calls ---- */

static double n_values(const struct fake_op *op)
{
    return (double)fake_elements(&op->at[FAKE_Y].t);
}

/* y = alpha * something of x + beta * y: what all these calls have. */
static void begin(struct fake_op *op, const char *function, cudnnHandle_t handle,
                  void (*run)(const struct fake_op *op), const void *alpha, const void *beta)
{
    fake_op_begin(op, function, handle, run);
    fake_op_number(op, &op->alpha, alpha);
    fake_op_number(op, &op->beta, beta);
}

static void x_to_y(struct fake_op *op, const void *x_descriptor, const void *x,
                   const void *y_descriptor, const void *y)
{
    fake_op_tensor(op, FAKE_X, x_descriptor, x);
    fake_op_tensor(op, FAKE_Y, y_descriptor, y);
}

static void take_numbers(struct fake_op *op, enum fake_kind kind, const void *descriptor)
{
    const struct fake_object *object = fake_op_get(op, kind, descriptor);

    if (!object)
        return;
    op->mode = object->scalar.mode;
    memcpy(op->number_of, object->scalar.numbers, sizeof op->number_of);
}

static void at_most_5_dimensions(struct fake_op *op)
{
    fake_op_must(op, op->at[FAKE_Y].t.n_dims <= 5, "more than five dimensions");
}

cudnnStatus_t cudnnActivationForward(cudnnHandle_t handle, cudnnActivationDescriptor_t activation,
                                     const void *alpha, const cudnnTensorDescriptor_t x_descriptor,
                                     const void *x, const void *beta,
                                     const cudnnTensorDescriptor_t y_descriptor, void *y)
{
    struct fake_op op;

    begin(&op, __func__, handle, run_activation, alpha, beta);
    x_to_y(&op, x_descriptor, x, y_descriptor, y);
    take_numbers(&op, FAKE_ACTIVATION, activation);
    fake_op_same(&op, FAKE_X, FAKE_Y, false);
    fake_op_apart(&op, FAKE_X, FAKE_Y, true);
    return fake_op_issue(&op, n_values(&op));
}

cudnnStatus_t cudnnAddTensor(cudnnHandle_t handle, const void *alpha,
                             const cudnnTensorDescriptor_t a_descriptor, const void *a,
                             const void *beta, const cudnnTensorDescriptor_t c_descriptor, void *c)
{
    struct fake_op op;

    begin(&op, __func__, handle, run_add, alpha, beta);
    x_to_y(&op, a_descriptor, a, c_descriptor, c);
    fake_op_same(&op, FAKE_X, FAKE_Y, true);
    at_most_5_dimensions(&op);
    fake_op_apart(&op, FAKE_X, FAKE_Y, true);
    return fake_op_issue(&op, n_values(&op));
}

cudnnStatus_t cudnnTransformTensor(cudnnHandle_t handle, const void *alpha,
                                   const cudnnTensorDescriptor_t x_descriptor, const void *x,
                                   const void *beta, const cudnnTensorDescriptor_t y_descriptor,
                                   void *y)
{
    struct fake_op op;

    begin(&op, __func__, handle, run_add, alpha, beta);
    x_to_y(&op, x_descriptor, x, y_descriptor, y);
    fake_op_same(&op, FAKE_X, FAKE_Y, false);
    fake_op_apart(&op, FAKE_X, FAKE_Y, false);
    return fake_op_issue(&op, n_values(&op));
}

cudnnStatus_t cudnnSetTensor(cudnnHandle_t handle, const cudnnTensorDescriptor_t y_descriptor,
                             void *y, const void *number)
{
    struct fake_op op;

    fake_op_begin(&op, __func__, handle, run_set_all);
    fake_op_number(&op, &op.number_of[0], number);
    fake_op_tensor(&op, FAKE_Y, y_descriptor, y);
    return fake_op_issue(&op, n_values(&op));
}

cudnnStatus_t cudnnScaleTensor(cudnnHandle_t handle, const cudnnTensorDescriptor_t y_descriptor,
                               void *y, const void *alpha)
{
    struct fake_op op;

    fake_op_begin(&op, __func__, handle, run_scale);
    fake_op_number(&op, &op.alpha, alpha);
    fake_op_tensor(&op, FAKE_Y, y_descriptor, y);
    return fake_op_issue(&op, n_values(&op));
}

/* cuDNN: where B is C, A must be as well. */
cudnnStatus_t cudnnOpTensor(cudnnHandle_t handle, const cudnnOpTensorDescriptor_t descriptor,
                            const void *alpha1, const cudnnTensorDescriptor_t a_descriptor,
                            const void *a, const void *alpha2,
                            const cudnnTensorDescriptor_t b_descriptor, const void *b,
                            const void *beta, const cudnnTensorDescriptor_t c_descriptor, void *c)
{
    struct fake_op op;

    fake_op_begin(&op, __func__, handle, run_op_tensor);
    x_to_y(&op, a_descriptor, a, c_descriptor, c);
    take_numbers(&op, FAKE_OP_TENSOR, descriptor);
    fake_op_number(&op, &op.number_of[0], alpha1);
    fake_op_number(&op, &op.beta, beta);
    if (op.mode != CUDNN_OP_TENSOR_SQRT && op.mode != CUDNN_OP_TENSOR_NOT) {
        fake_op_tensor(&op, FAKE_Z, b_descriptor, b);
        fake_op_number(&op, &op.alpha2, alpha2);
        fake_op_same(&op, FAKE_Z, FAKE_Y, true);
        fake_op_must(&op, b != c || a == c, "in place of B alone");
    }
    fake_op_same(&op, FAKE_X, FAKE_Y, false);
    at_most_5_dimensions(&op);
    fake_op_apart(&op, FAKE_X, FAKE_Y, true);
    fake_op_apart(&op, FAKE_Z, FAKE_Y, true);
    return fake_op_issue(&op, n_values(&op));
}

cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm,
                                  cudnnSoftmaxMode_t mode, const void *alpha,
                                  const cudnnTensorDescriptor_t x_descriptor, const void *x,
                                  const void *beta, const cudnnTensorDescriptor_t y_descriptor,
                                  void *y)
{
    struct fake_op op;

    begin(&op, __func__, handle, run_softmax, alpha, beta);
    x_to_y(&op, x_descriptor, x, y_descriptor, y);
    fake_op_must(&op, (unsigned)algorithm <= CUDNN_SOFTMAX_LOG, "unknown algorithm");
    fake_op_must(&op, (unsigned)mode <= CUDNN_SOFTMAX_MODE_CHANNEL, "unknown mode");
    op.algorithm = (int)algorithm;
    op.mode = (int)mode;
    fake_op_same(&op, FAKE_X, FAKE_Y, false);
    at_most_5_dimensions(&op);
    fake_op_apart(&op, FAKE_X, FAKE_Y, true);
    return fake_op_issue(&op, 3 * n_values(&op));
}

cudnnStatus_t cudnnLRNCrossChannelForward(cudnnHandle_t handle, cudnnLRNDescriptor_t descriptor,
                                          cudnnLRNMode_t mode, const void *alpha,
                                          const cudnnTensorDescriptor_t x_descriptor, const void *x,
                                          const void *beta,
                                          const cudnnTensorDescriptor_t y_descriptor, void *y)
{
    struct fake_op op;

    begin(&op, __func__, handle, run_lrn, alpha, beta);
    x_to_y(&op, x_descriptor, x, y_descriptor, y);
    take_numbers(&op, FAKE_LRN, descriptor);
    fake_op_must(&op, mode == CUDNN_LRN_CROSS_CHANNEL_DIM1, "unknown mode");
    fake_op_same(&op, FAKE_X, FAKE_Y, false);
    fake_op_must(&op, op.at[FAKE_X].t.n_dims == 4 || op.at[FAKE_X].t.n_dims == 5,
                 "neither four nor five dimensions");
    fake_op_apart(&op, FAKE_X, FAKE_Y, false);
    return fake_op_issue(&op, op.number_of[0] * n_values(&op));
}

cudnnStatus_t cudnnBatchNormalizationForwardInference(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void *alpha, const void *beta,
    const cudnnTensorDescriptor_t x_descriptor, const void *x,
    const cudnnTensorDescriptor_t y_descriptor, void *y, const cudnnTensorDescriptor_t parameters,
    const void *scale, const void *bias, const void *mean, const void *variance, double epsilon)
{
    struct fake_op op;

    begin(&op, __func__, handle, run_batch_norm, alpha, beta);
    x_to_y(&op, x_descriptor, x, y_descriptor, y);
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
    return fake_op_issue(&op, 4 * n_values(&op));
}

/* Made up. */
static size_t reduction_scratch(const struct fake_op *op)
{
    return op->code ? 0 : 8 * (size_t)fake_elements(&op->at[FAKE_Y].t) + 36;
}

static void check_reduction(struct fake_op *op, const void *descriptor)
{
    bool reduces = false;

    take_numbers(op, FAKE_REDUCTION, descriptor);
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
    x_to_y(&op, a_descriptor, NULL, c_descriptor, NULL);
    check_reduction(&op, descriptor);
    fake_op_must(&op, n_bytes, "nowhere to put the size");
    if (!op.code)
        *n_bytes = reduction_scratch(&op);
    return (cudnnStatus_t)fake_leave(op.code);
}

cudnnStatus_t cudnnReduceTensor(cudnnHandle_t handle,
                                const cudnnReduceTensorDescriptor_t descriptor, void *indices,
                                size_t indices_bytes, void *scratch, size_t scratch_bytes,
                                const void *alpha, const cudnnTensorDescriptor_t a_descriptor,
                                const void *a, const void *beta,
                                const cudnnTensorDescriptor_t c_descriptor, void *c)
{
    struct fake_op op;

    begin(&op, __func__, handle, run_reduction, alpha, beta);
    x_to_y(&op, a_descriptor, a, c_descriptor, c);
    check_reduction(&op, descriptor);
    fake_op_must(&op, !indices && indices_bytes == 0, "indices are not known here");
    fake_op_apart(&op, FAKE_X, FAKE_Y, false);
    fake_op_scratch(&op, scratch, scratch_bytes, reduction_scratch(&op));
    return fake_op_issue(&op, op.code ? 0 : (double)fake_elements(&op.at[FAKE_X].t));
}
