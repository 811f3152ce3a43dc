#define FAKE_CUDA_INSIDE
#include "fake_cuda.h"

#include <stdio.h>
#include <string.h>

static cudnnStatus_t leave(int code)
{
    return (cudnnStatus_t)fake_leave(code);
}

/* ---- Library and handle ---- */

size_t cudnnGetVersion(void)
{
    return fake_cuda.cudnn_version;
}

size_t cudnnGetCudartVersion(void)
{
    return fake_cuda.cudnn_cudart_version;
}

const char *cudnnGetErrorString(cudnnStatus_t status)
{
    switch (status) {
    case CUDNN_STATUS_SUCCESS:
        return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_NOT_INITIALIZED:
        return "CUDNN_STATUS_NOT_INITIALIZED";
    case CUDNN_STATUS_BAD_PARAM:
        return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_NOT_SUPPORTED:
        return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_INTERNAL_ERROR:
        return "CUDNN_STATUS_INTERNAL_ERROR";
    case CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED:
        return "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED";
    case CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED:
        return "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED";
    case CUDNN_STATUS_EXECUTION_FAILED:
        return "CUDNN_STATUS_EXECUTION_FAILED";
    case CUDNN_STATUS_EXECUTION_FAILED_CUDART:
        return "CUDNN_STATUS_EXECUTION_FAILED_CUDART";
    default:
        return "CUDNN_STATUS_UNKNOWN";
    }
}

/* The latest violation, if there is one. */
void cudnnGetLastErrorString(char *message, size_t max_size)
{
    int n = fake_cuda_violations();
    const char *text = fake_cuda_violation(n > 0 ? n - 1 : 0);

    if (message && max_size > 0)
        snprintf(message, max_size, "%s", text ? text : "");
}

/* out: a pointer to a handle or descriptor. */
static cudnnStatus_t create(const char *function, enum fake_kind kind, void *out)
{
    int code = fake_enter(function);
    struct fake_object *object = NULL;

    if (!code && !out)
        code = fake_wrong("nowhere to put it");
    if (!code && !(object = fake_object_new(kind)))
        code = CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    if (!code)
        memcpy(out, &object, sizeof(void *));
    if (!code && kind == FAKE_CONVOLUTION)
        object->window.groups = 1;
    return leave(code);
}

static cudnnStatus_t destroy(const char *function, enum fake_kind kind, const void *handle)
{
    int code = fake_enter(function), ended = fake_end(kind, handle);

    return leave(code ? code : ended);
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    return create(__func__, FAKE_HANDLE, handle);
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    return destroy(__func__, FAKE_HANDLE, handle);
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    int code = fake_enter(__func__);
    struct fake_object *h = code ? NULL : fake_object(FAKE_HANDLE, handle);

    if (!code && (!h || !fake_stream(stream)))
        code = CUDNN_STATUS_BAD_PARAM;
    if (!code)
        h->handle_stream = stream;
    return leave(code);
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t *stream)
{
    int code = fake_enter(__func__);
    struct fake_object *h = code ? NULL : fake_object(FAKE_HANDLE, handle);

    if (!code && (!h || !stream))
        code = h ? fake_wrong("nowhere to put the stream") : (int)CUDNN_STATUS_BAD_PARAM;
    if (!code)
        *stream = h->handle_stream;
    return leave(code);
}

/* ---- Descriptors ---- */

#define DESCRIPTOR(name, kind)                                                                     \
    cudnnStatus_t cudnnCreate##name##Descriptor(cudnn##name##Descriptor_t *descriptor)             \
    {                                                                                              \
        return create(__func__, kind, descriptor);                                                 \
    }                                                                                              \
    cudnnStatus_t cudnnDestroy##name##Descriptor(cudnn##name##Descriptor_t descriptor)             \
    {                                                                                              \
        return destroy(__func__, kind, descriptor);                                                \
    }

DESCRIPTOR(Tensor, FAKE_TENSOR)
DESCRIPTOR(Filter, FAKE_FILTER)
DESCRIPTOR(Convolution, FAKE_CONVOLUTION)
DESCRIPTOR(Activation, FAKE_ACTIVATION)
DESCRIPTOR(Pooling, FAKE_POOLING)
DESCRIPTOR(LRN, FAKE_LRN)
DESCRIPTOR(OpTensor, FAKE_OP_TENSOR)
DESCRIPTOR(ReduceTensor, FAKE_REDUCTION)

/* Begins a function that sets a descriptor; null, and the code: it is not to be set. */
static struct fake_object *setting(const char *function, enum fake_kind kind, const void *handle,
                                   int *code)
{
    struct fake_object *object;

    *code = fake_enter(function);
    object = *code ? NULL : fake_object(kind, handle);
    if (!object && !*code)
        *code = CUDNN_STATUS_BAD_PARAM;
    return object;
}

/* Ends it: the descriptor is set if all is well. */
static cudnnStatus_t now_set(struct fake_object *object, int code)
{
    if (!code)
        object->set = true;
    return leave(code);
}

/* strides: null for values without gaps. */
static int set_tensor(struct fake_tensor *t, cudnnDataType_t type, int n_dims, const int *dims,
                      const int *strides)
{
    int64_t n = 1, span = 1;

    if (type != CUDNN_DATA_FLOAT || n_dims < 3 || n_dims > CUDNN_DIM_MAX || !dims)
        return fake_wrong("data type %d, %d dimensions", (int)type, n_dims);
    *t = (struct fake_tensor){.n_dims = n_dims};
    for (int d = n_dims - 1; d >= 0; d--) {
        t->dim[d] = dims[d];
        t->stride[d] = strides ? strides[d] : (int)n;
        if (dims[d] < 1 || t->stride[d] < 1)
            return fake_wrong("dimension %d is %d, its stride %d", d, dims[d], t->stride[d]);
        n *= dims[d];
        span += (int64_t)(dims[d] - 1) * t->stride[d];
        if (n > INT32_MAX || span > INT32_MAX)
            return fake_wrong("more than 2^31 values");
    }
    return 0;
}

cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t descriptor, cudnnDataType_t type,
                                         int n_dims, const int dims[], const int strides[])
{
    int code;
    struct fake_object *object = setting(__func__, FAKE_TENSOR, descriptor, &code);

    if (!code && !strides)
        code = fake_wrong("no strides");
    if (!code)
        code = set_tensor(&object->tensor, type, n_dims, dims, strides);
    return now_set(object, code);
}

cudnnStatus_t cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t descriptor, cudnnDataType_t type,
                                           int n, int c, int h, int w, int n_stride, int c_stride,
                                           int h_stride, int w_stride)
{
    int code, dims[4] = {n, c, h, w}, strides[4] = {n_stride, c_stride, h_stride, w_stride};
    struct fake_object *object = setting(__func__, FAKE_TENSOR, descriptor, &code);

    if (!code)
        code = set_tensor(&object->tensor, type, 4, dims, strides);
    return now_set(object, code);
}

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t descriptor,
                                         cudnnTensorFormat_t format, cudnnDataType_t type, int n,
                                         int c, int h, int w)
{
    int code, dims[4] = {n, c, h, w};
    struct fake_object *object = setting(__func__, FAKE_TENSOR, descriptor, &code);

    if (!code && format != CUDNN_TENSOR_NCHW)
        code = fake_wrong("format %d", (int)format);
    if (!code)
        code = set_tensor(&object->tensor, type, 4, dims, NULL);
    return now_set(object, code);
}

cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t descriptor, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int n_dims, const int dims[])
{
    int code;
    struct fake_object *object = setting(__func__, FAKE_FILTER, descriptor, &code);

    if (!code && format != CUDNN_TENSOR_NCHW)
        code = fake_wrong("format %d", (int)format);
    if (!code)
        code = set_tensor(&object->tensor, type, n_dims, dims, NULL);
    return now_set(object, code);
}

cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t descriptor, int n,
                                              const int pad[], const int stride[],
                                              const int dilation[], cudnnConvolutionMode_t mode,
                                              cudnnDataType_t type)
{
    int code;
    struct fake_object *object = setting(__func__, FAKE_CONVOLUTION, descriptor, &code);

    if (!code && (n < 2 || n > 3 || !pad || !stride || !dilation))
        code = fake_wrong("%d spatial dimensions, or a null pointer", n);
    if (!code && (mode != CUDNN_CROSS_CORRELATION || type != CUDNN_DATA_FLOAT))
        code = fake_wrong("mode %d, data type %d", (int)mode, (int)type);
    for (int d = 0; !code && d < n; d++) {
        if (pad[d] < 0 || stride[d] < 1 || dilation[d] < 1)
            code = fake_wrong("dimension %d: pad %d, stride %d, dilation %d", d, pad[d], stride[d],
                              dilation[d]);
        object->window.n = n;
        object->window.pad[d] = pad[d];
        object->window.stride[d] = stride[d];
        object->window.dilation[d] = dilation[d];
    }
    return now_set(object, code);
}

/* Alone it does not set a descriptor. */
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t descriptor, int groups)
{
    int code;
    struct fake_object *object = setting(__func__, FAKE_CONVOLUTION, descriptor, &code);

    if (!code && groups < 1)
        code = fake_wrong("%d groups", groups);
    if (!code)
        object->window.groups = groups;
    return leave(code);
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t descriptor,
                                          cudnnMathType_t math)
{
    int code;

    setting(__func__, FAKE_CONVOLUTION, descriptor, &code);
    if (!code && (unsigned)math > CUDNN_FMA_MATH)
        code = fake_wrong("math type %d", (int)math);
    return leave(code);
}

cudnnStatus_t cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t descriptor,
                                          const cudnnPoolingMode_t mode,
                                          const cudnnNanPropagation_t nan, int n, const int size[],
                                          const int pad[], const int stride[])
{
    int code;
    struct fake_object *object = setting(__func__, FAKE_POOLING, descriptor, &code);

    if (!code && (n < 2 || n > 3 || !size || !pad || !stride ||
                  (unsigned)mode > CUDNN_POOLING_MAX_DETERMINISTIC))
        code = fake_wrong("mode %d, %d spatial dimensions, or a null pointer", (int)mode, n);
    for (int d = 0; !code && d < n; d++) {
        if (size[d] < 1 || pad[d] < 0 || stride[d] < 1 || pad[d] >= size[d])
            code = fake_wrong("dimension %d: size %d, pad %d, stride %d", d, size[d], pad[d],
                              stride[d]);
        object->window.n = n;
        object->window.size[d] = size[d];
        object->window.pad[d] = pad[d];
        object->window.stride[d] = stride[d];
        object->window.dilation[d] = 1;
    }
    if (!code) {
        object->window.mode = (int)mode;
        object->window.nan = (int)nan;
    }
    return now_set(object, code);
}

/* Sets one of those with a mode and numbers. */
static cudnnStatus_t set_scalar(const char *function, enum fake_kind kind, const void *descriptor,
                                bool good, int mode, const double *numbers)
{
    int code;
    struct fake_object *object = setting(function, kind, descriptor, &code);

    if (!code && !good)
        code = fake_wrong("mode %d with %g, %g, %g, %g", mode, numbers[0], numbers[1], numbers[2],
                          numbers[3]);
    if (!code) {
        object->scalar.mode = mode;
        memcpy(object->scalar.numbers, numbers, sizeof object->scalar.numbers);
    }
    return now_set(object, code);
}

cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t descriptor,
                                           cudnnActivationMode_t mode, cudnnNanPropagation_t nan,
                                           double coefficient)
{
    return set_scalar(__func__, FAKE_ACTIVATION, descriptor,
                      (unsigned)mode <= CUDNN_ACTIVATION_SWISH && (unsigned)nan <= 1, (int)mode,
                      (double[4]){coefficient, 1});
}

cudnnStatus_t cudnnSetActivationDescriptorSwishBeta(cudnnActivationDescriptor_t descriptor,
                                                    double beta)
{
    int code;
    struct fake_object *object = setting(__func__, FAKE_ACTIVATION, descriptor, &code);

    if (!code && !object->set)
        code = fake_wrong("the descriptor has no mode yet");
    if (!code)
        object->scalar.numbers[1] = beta;
    return leave(code);
}

cudnnStatus_t cudnnSetLRNDescriptor(cudnnLRNDescriptor_t descriptor, unsigned n, double alpha,
                                    double beta, double k)
{
    return set_scalar(__func__, FAKE_LRN, descriptor,
                      n >= CUDNN_LRN_MIN_N && n <= CUDNN_LRN_MAX_N && k >= CUDNN_LRN_MIN_K &&
                          beta >= CUDNN_LRN_MIN_BETA,
                      0, (double[4]){n, alpha, beta, k});
}

cudnnStatus_t cudnnSetOpTensorDescriptor(cudnnOpTensorDescriptor_t descriptor, cudnnOpTensorOp_t op,
                                         cudnnDataType_t type, cudnnNanPropagation_t nan)
{
    return set_scalar(__func__, FAKE_OP_TENSOR, descriptor,
                      (unsigned)op <= CUDNN_OP_TENSOR_NOT && type == CUDNN_DATA_FLOAT, (int)op,
                      (double[4]){nan});
}

cudnnStatus_t cudnnSetReduceTensorDescriptor(cudnnReduceTensorDescriptor_t descriptor,
                                             cudnnReduceTensorOp_t op, cudnnDataType_t type,
                                             cudnnNanPropagation_t nan,
                                             cudnnReduceTensorIndices_t indices,
                                             cudnnIndicesType_t indices_type)
{
    return set_scalar(__func__, FAKE_REDUCTION, descriptor,
                      (unsigned)op <= CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS &&
                          type == CUDNN_DATA_FLOAT && indices == CUDNN_REDUCE_TENSOR_NO_INDICES,
                      (int)op, (double[4]){nan, indices_type});
}

/* ---- Calls, step by step ---- */

static void begin(struct fake_op *op, const char *function, void (*run)(const struct fake_op *op))
{
    *op = (struct fake_op){.run = run, .alpha = 1};
    op->code = fake_enter(function);
}

void fake_op_begin(struct fake_op *op, const char *function, cudnnHandle_t handle,
                   void (*run)(const struct fake_op *op))
{
    const struct fake_object *h;

    begin(op, function, run);
    if (op->code)
        return;
    h = fake_object(FAKE_HANDLE, handle);
    op->stream = h ? fake_stream(h->handle_stream) : NULL;
    if (!op->stream)
        op->code = CUDNN_STATUS_BAD_PARAM;
}

void fake_op_must(struct fake_op *op, bool condition, const char *what)
{
    if (!op->code && !condition)
        op->code = fake_wrong("%s", what);
}

const struct fake_object *fake_op_get(struct fake_op *op, enum fake_kind kind,
                                      const void *descriptor)
{
    const struct fake_object *object = op->code ? NULL : fake_object(kind, descriptor);

    if (!op->code && !object)
        op->code = CUDNN_STATUS_BAD_PARAM;
    fake_op_must(op, object && object->set, "a descriptor was created and never set");
    return op->code ? NULL : object;
}

static int64_t span(const struct fake_tensor *t)
{
    int64_t n = 1;

    for (int d = 0; d < t->n_dims; d++)
        n += (int64_t)(t->dim[d] - 1) * t->stride[d];
    return n;
}

static const char *const slot_names[FAKE_SLOTS] = {"x", "w", "bias", "z", "mean", "variance", "y"};

static void operand(struct fake_op *op, enum fake_slot slot, enum fake_kind kind,
                    const void *descriptor, const void *values)
{
    const struct fake_object *object = fake_op_get(op, kind, descriptor);
    void *bytes;

    if (!object)
        return;
    op->at[slot].t = object->tensor;
    if (!op->run)
        return;
    bytes =
        fake_device_bytes(values, (size_t)span(&object->tensor) * sizeof(float), slot_names[slot]);
    if (!bytes)
        op->code = CUDNN_STATUS_BAD_PARAM;
    fake_op_must(op, (uintptr_t)values % sizeof(float) == 0, "values begin at no multiple of 4");
    op->at[slot].values = bytes;
}

void fake_op_tensor(struct fake_op *op, enum fake_slot slot, const void *descriptor,
                    const void *values)
{
    operand(op, slot, FAKE_TENSOR, descriptor, values);
}

void fake_op_filter(struct fake_op *op, const void *descriptor, const void *values)
{
    operand(op, FAKE_W, FAKE_FILTER, descriptor, values);
}

void fake_op_number(struct fake_op *op, double *number, const void *value)
{
    float copy = 0;

    fake_op_must(op, value && !fake_is_device(value), "a factor is null or in device memory");
    if (op->code)
        return;
    memcpy(&copy, value, sizeof copy);
    *number = copy;
}

void fake_op_same(struct fake_op *op, enum fake_slot a, enum fake_slot b, bool broadcast)
{
    const struct fake_tensor *s = &op->at[a].t, *t = &op->at[b].t;

    if (!op->code && s->n_dims != t->n_dims)
        op->code = fake_wrong("%s has %d dimensions, %s %d", slot_names[a], s->n_dims,
                              slot_names[b], t->n_dims);
    for (int d = 0; !op->code && d < s->n_dims; d++) {
        if (s->dim[d] != t->dim[d] && !(broadcast && s->dim[d] == 1))
            op->code = fake_wrong("dimension %d of %s is %d, of %s %d", d, slot_names[a], s->dim[d],
                                  slot_names[b], t->dim[d]);
    }
}

/* How many values of b are values of a as well. */
static int64_t n_common(const struct fake_operand *a, const struct fake_operand *b)
{
    int64_t n = span(&a->t), n_common = 0;
    char *marks = fake_map((size_t)n);

    for (int64_t i = 0, n_a = fake_elements(&a->t); i < n_a; i++)
        marks[fake_offset(&a->t, &a->t, i)] = 1;
    for (int64_t i = 0, n_b = fake_elements(&b->t); i < n_b; i++) {
        int64_t at = b->values - a->values + fake_offset(&b->t, &b->t, i);

        n_common += at >= 0 && at < n && marks[at];
    }
    fake_unmap(marks, (size_t)n);
    return n_common;
}

void fake_op_apart(struct fake_op *op, enum fake_slot a, enum fake_slot b, bool in_place)
{
    const struct fake_operand *s = &op->at[a], *t = &op->at[b];

    if (op->code || !s->values || !t->values || s->values + span(&s->t) <= t->values ||
        t->values + span(&t->t) <= s->values)
        return;
    if (in_place && s->values == t->values && memcmp(&s->t, &t->t, sizeof s->t) == 0)
        return;
    if (n_common(s, t) > 0)
        op->code = fake_wrong("%s and %s overlap", slot_names[a], slot_names[b]);
}

void fake_op_scratch(struct fake_op *op, const void *scratch, size_t given, size_t needed)
{
    if (!op->code && given < needed)
        op->code = fake_wrong("a workspace of %zu bytes, %zu are needed", given, needed);
    fake_op_must(op, (uintptr_t)scratch % 16 == 0, "the workspace begins at no multiple of 16");
    if (op->code || (given == 0 && needed == 0))
        return;
    op->scratch = fake_device_bytes(scratch, given, "workspace");
    op->scratch_bytes = needed;
    if (!op->scratch)
        op->code = CUDNN_STATUS_BAD_PARAM;
    for (int i = 0; !op->code && i < FAKE_SLOTS; i++) {
        const struct fake_operand *o = &op->at[i];

        if (o->values && (char *)o->values < op->scratch + given &&
            op->scratch < (char *)(o->values + span(&o->t)))
            op->code = fake_wrong("workspace and %s overlap", slot_names[i]);
    }
}

/* Values of the output that lie on one another would depend on the order of writing. */
static void check_output(struct fake_op *op)
{
    const struct fake_operand *y = &op->at[FAKE_Y];
    int64_t n = fake_elements(&y->t), n_different = 0;
    char *marks;

    if (op->code || span(&y->t) == n)
        return;
    marks = fake_map((size_t)span(&y->t));
    for (int64_t i = 0; i < n; i++) {
        char *mark = &marks[fake_offset(&y->t, &y->t, i)];

        n_different += !*mark;
        *mark = 1;
    }
    fake_unmap(marks, (size_t)span(&y->t));
    fake_op_must(op, n_different == n, "values of y lie on one another");
}

cudnnStatus_t fake_op_issue(struct fake_op *op, double operations)
{
    check_output(op);
    op->cost_us = 1 + operations / 1e6;
    if (!op->code)
        fake_queue(op->stream, op);
    return leave(op->code);
}

/* ---- Windows ---- */

/* How often the window fits; below 1: never. */
static int fits(const struct fake_window *w, int d, int size)
{
    int64_t seen = (int64_t)(w->size[d] - 1) * w->dilation[d] + 1;
    int64_t room = size + 2 * (int64_t)w->pad[d] - seen;

    return room < 0 ? 0 : (int)(room / w->stride[d]) + 1;
}

/* Tensor out must be what the window makes of in. */
static void check_places(struct fake_op *op, enum fake_slot in, enum fake_slot out)
{
    const struct fake_tensor *s = &op->at[in].t, *t = &op->at[out].t;

    fake_op_must(op, s->n_dims == op->window.n + 2 && t->n_dims == s->n_dims,
                 "tensors and window differ in their number of dimensions");
    fake_op_must(op, op->code || s->dim[0] == t->dim[0], "another number of samples");
    for (int d = 0; !op->code && d < op->window.n; d++) {
        if (t->dim[d + 2] != fits(&op->window, d, s->dim[d + 2]) || t->dim[d + 2] < 1)
            op->code = fake_wrong("dimension %d of the result is %d, should be %d", d + 2,
                                  t->dim[d + 2], fits(&op->window, d, s->dim[d + 2]));
    }
}

/* Two spatial dimensions become three, the first of size 1. */
static void to_volumes(struct fake_op *op)
{
    struct fake_window *w = &op->window;

    if (op->code || w->n == 3)
        return;
    for (int i = 0; i < FAKE_SLOTS; i++) {
        struct fake_tensor *t = &op->at[i].t;

        for (int d = 4; d > 2; d--) {
            t->dim[d] = t->dim[d - 1];
            t->stride[d] = t->stride[d - 1];
        }
        t->dim[2] = t->stride[2] = 1;
        t->n_dims += t->n_dims > 0;
    }
    for (int d = 2; d > 0; d--) {
        w->size[d] = w->size[d - 1];
        w->pad[d] = w->pad[d - 1];
        w->stride[d] = w->stride[d - 1];
        w->dilation[d] = w->dilation[d - 1];
    }
    w->size[0] = w->stride[0] = w->dilation[0] = 1;
    w->pad[0] = 0;
}

/* The window of a convolution, with the filter of slot w. */
static void check_filter(struct fake_op *op, const void *convolution, enum fake_slot in)
{
    const struct fake_object *object = fake_op_get(op, FAKE_CONVOLUTION, convolution);
    const struct fake_tensor *w = &op->at[FAKE_W].t, *x = &op->at[in].t;

    if (!object)
        return;
    op->window = object->window;
    fake_op_must(op, w->n_dims == op->window.n + 2 && x->n_dims == w->n_dims,
                 "tensor, filter and convolution differ in their number of dimensions");
    fake_op_must(op, op->code || x->dim[1] == w->dim[1] * op->window.groups,
                 "channels are not the filter's times the groups");
    fake_op_must(op, op->code || w->dim[0] % op->window.groups == 0,
                 "the groups do not divide the channels");
    for (int d = 0; !op->code && d < op->window.n; d++)
        op->window.size[d] = w->dim[d + 2];
}

static void check_convolution(struct fake_op *op, const void *convolution, enum fake_slot in,
                              enum fake_slot out)
{
    check_filter(op, convolution, in);
    check_places(op, in, out);
    fake_op_must(op, op->code || op->at[out].t.dim[1] == op->at[FAKE_W].t.dim[0],
                 "the result has not the filter's channels");
}

/* Products and sums; out: what the forward direction makes. */
static double operations(const struct fake_op *op, enum fake_slot out)
{
    const struct fake_tensor *w = &op->at[FAKE_W].t;

    return op->code
               ? 0
               : 2.0 * (double)fake_elements(&op->at[out].t) * (double)fake_elements(w) / w->dim[0];
}

/* ---- Convolutions ---- */

static bool supports(const struct fake_op *op)
{
    const struct fake_window *w = &op->window;
    bool plain = w->n == 2, square = w->n == 2, spread = false;

    for (int d = 0; d < w->n; d++) {
        spread = spread || w->dilation[d] != 1;
        plain = plain && w->stride[d] == 1 && w->dilation[d] == 1;
        square = square && w->size[d] == 3;
    }
    switch (op->algorithm) {
    case CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM:
    case CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM:
        return true;
    case CUDNN_CONVOLUTION_FWD_ALGO_GEMM:
        return w->n == 2 && !spread;
    case CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD:
        return plain && square && w->groups == 1;
    case CUDNN_CONVOLUTION_FWD_ALGO_FFT:
    case CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING:
    case CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED:
        return plain;
    default:
        return false;
    }
}

/* Made up, and no round numbers. */
static size_t forward_scratch(const struct fake_op *op)
{
    size_t x = (size_t)fake_elements(&op->at[FAKE_X].t),
           y = (size_t)fake_elements(&op->at[FAKE_Y].t);
    size_t w = (size_t)fake_elements(&op->at[FAKE_W].t), n = (size_t)op->at[FAKE_Y].t.dim[0];
    size_t k = (size_t)op->at[FAKE_W].t.dim[0];

    switch (op->algorithm) {
    case CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM:
        return 4 * (w / k + y / n / k) + 68;
    case CUDNN_CONVOLUTION_FWD_ALGO_GEMM:
        return 4 * (w / k) * (y / n / k) * (size_t)op->window.groups;
    case CUDNN_CONVOLUTION_FWD_ALGO_FFT:
        return 16 * (x + y + w) + 4;
    case CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING:
        return 8 * (x + y) / n + 8 * w + 12;
    case CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD:
        return 64 * k + 4;
    case CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED:
        return 16 * w + 10 * (x + y);
    default:
        return 0;
    }
}

static double forward_operations(const struct fake_op *op)
{
    static const double factors[] = {1.5, 1, 1.25, 0, 0.875, 0.9375, 0.5, 0.625};

    return operations(op, FAKE_Y) * (op->code ? 0 : factors[op->algorithm]);
}

/* An algorithm that cannot do it is an answer. */
static void check_algorithm(struct fake_op *op, int algorithm)
{
    op->algorithm = algorithm;
    if (!op->code && !supports(op))
        op->code = CUDNN_STATUS_NOT_SUPPORTED;
}

static cudnnStatus_t output_dims(struct fake_op *op, int n_channels, int n_dims, int *dims)
{
    const struct fake_tensor *x = &op->at[FAKE_X].t;

    fake_op_must(op, dims && n_dims == x->n_dims && n_dims == op->window.n + 2,
                 "another number of dimensions");
    for (int d = 0; !op->code && d < n_dims; d++) {
        dims[d] = d == 0 ? x->dim[0] : d == 1 ? n_channels : fits(&op->window, d - 2, x->dim[d]);
        fake_op_must(op, dims[d] > 0, "the window does not fit");
    }
    return leave(op->code);
}

cudnnStatus_t cudnnGetConvolutionNdForwardOutputDim(const cudnnConvolutionDescriptor_t convolution,
                                                    const cudnnTensorDescriptor_t x_descriptor,
                                                    const cudnnFilterDescriptor_t filter,
                                                    int n_dims, int dims[])
{
    struct fake_op op;

    begin(&op, __func__, NULL);
    fake_op_tensor(&op, FAKE_X, x_descriptor, NULL);
    fake_op_filter(&op, filter, NULL);
    check_filter(&op, convolution, FAKE_X);
    return output_dims(&op, op.at[FAKE_W].t.dim[0], n_dims, dims);
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithmMaxCount(cudnnHandle_t handle, int *count)
{
    struct fake_op op;

    fake_op_begin(&op, __func__, handle, NULL);
    fake_op_must(&op, count, "nowhere to put the count");
    if (!op.code)
        *count = CUDNN_CONVOLUTION_FWD_ALGO_COUNT;
    return leave(op.code);
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x_descriptor,
    const cudnnFilterDescriptor_t filter, const cudnnConvolutionDescriptor_t convolution,
    const cudnnTensorDescriptor_t y_descriptor, cudnnConvolutionFwdAlgo_t algorithm,
    size_t *n_bytes)
{
    struct fake_op op;

    fake_op_begin(&op, __func__, handle, NULL);
    fake_op_tensor(&op, FAKE_X, x_descriptor, NULL);
    fake_op_tensor(&op, FAKE_Y, y_descriptor, NULL);
    fake_op_filter(&op, filter, NULL);
    check_convolution(&op, convolution, FAKE_X, FAKE_Y);
    fake_op_must(&op, n_bytes, "nowhere to put the size");
    check_algorithm(&op, (int)algorithm);
    if (!op.code)
        *n_bytes = forward_scratch(&op);
    return leave(op.code);
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void *alpha,
                                      const cudnnTensorDescriptor_t x_descriptor, const void *x,
                                      const cudnnFilterDescriptor_t filter, const void *w,
                                      const cudnnConvolutionDescriptor_t convolution,
                                      cudnnConvolutionFwdAlgo_t algorithm, void *scratch,
                                      size_t scratch_bytes, const void *beta,
                                      const cudnnTensorDescriptor_t y_descriptor, void *y)
{
    struct fake_op op;

    fake_op_begin(&op, __func__, handle, fake_convolve);
    fake_op_number(&op, &op.alpha, alpha);
    fake_op_number(&op, &op.beta, beta);
    fake_op_tensor(&op, FAKE_X, x_descriptor, x);
    fake_op_tensor(&op, FAKE_Y, y_descriptor, y);
    fake_op_filter(&op, filter, w);
    check_convolution(&op, convolution, FAKE_X, FAKE_Y);
    fake_op_apart(&op, FAKE_X, FAKE_Y, false);
    fake_op_apart(&op, FAKE_W, FAKE_Y, false);
    check_algorithm(&op, (int)algorithm);
    fake_op_scratch(&op, scratch, scratch_bytes, op.code ? 0 : forward_scratch(&op));
    to_volumes(&op);
    return fake_op_issue(&op, forward_operations(&op));
}

/* Of one value for each channel of y. */
static void check_channels(struct fake_op *op, enum fake_slot slot)
{
    const struct fake_tensor *t = &op->at[slot].t;

    fake_op_must(op, op->code || fake_elements(t) == op->at[FAKE_Y].t.dim[1],
                 "not one value for each channel");
    fake_op_same(op, slot, FAKE_Y, true);
}

/* Real cuDNN: rectified, or with one algorithm as it is. */
static void check_activation(struct fake_op *op, const void *activation)
{
    const struct fake_object *object = fake_op_get(op, FAKE_ACTIVATION, activation);

    if (!object)
        return;
    op->mode = object->scalar.mode;
    if (op->mode != CUDNN_ACTIVATION_RELU &&
        (op->mode != CUDNN_ACTIVATION_IDENTITY ||
         op->algorithm != CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM))
        op->code = CUDNN_STATUS_NOT_SUPPORTED;
}

cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t handle, const void *alpha1, const cudnnTensorDescriptor_t x_descriptor,
    const void *x, const cudnnFilterDescriptor_t filter, const void *w,
    const cudnnConvolutionDescriptor_t convolution, cudnnConvolutionFwdAlgo_t algorithm,
    void *scratch, size_t scratch_bytes, const void *alpha2,
    const cudnnTensorDescriptor_t z_descriptor, const void *z,
    const cudnnTensorDescriptor_t bias_descriptor, const void *bias,
    const cudnnActivationDescriptor_t activation, const cudnnTensorDescriptor_t y_descriptor,
    void *y)
{
    struct fake_op op;

    fake_op_begin(&op, __func__, handle, fake_convolve);
    fake_op_number(&op, &op.alpha, alpha1);
    fake_op_number(&op, &op.alpha2, alpha2);
    fake_op_tensor(&op, FAKE_X, x_descriptor, x);
    fake_op_tensor(&op, FAKE_Y, y_descriptor, y);
    fake_op_tensor(&op, FAKE_Z, z_descriptor, z);
    fake_op_tensor(&op, FAKE_BIAS, bias_descriptor, bias);
    fake_op_filter(&op, filter, w);
    check_convolution(&op, convolution, FAKE_X, FAKE_Y);
    fake_op_same(&op, FAKE_Z, FAKE_Y, false);
    check_channels(&op, FAKE_BIAS);
    fake_op_apart(&op, FAKE_X, FAKE_Y, false);
    fake_op_apart(&op, FAKE_W, FAKE_Y, false);
    fake_op_apart(&op, FAKE_BIAS, FAKE_Y, false);
    fake_op_apart(&op, FAKE_Z, FAKE_Y, true);
    check_algorithm(&op, (int)algorithm);
    check_activation(&op, activation);
    fake_op_scratch(&op, scratch, scratch_bytes, op.code ? 0 : forward_scratch(&op));
    to_volumes(&op);
    return fake_op_issue(&op, forward_operations(&op));
}

/* Two algorithms; the second wants workspace. In x is dy, in y dx. */
static size_t back_scratch(struct fake_op *op, int algorithm)
{
    if (!op->code && algorithm != CUDNN_CONVOLUTION_BWD_DATA_ALGO_0 &&
        algorithm != CUDNN_CONVOLUTION_BWD_DATA_ALGO_1)
        op->code = CUDNN_STATUS_NOT_SUPPORTED;
    if (op->code || algorithm == CUDNN_CONVOLUTION_BWD_DATA_ALGO_0)
        return 0;
    return 4 * (size_t)(fake_elements(&op->at[FAKE_W].t) + fake_elements(&op->at[FAKE_X].t)) + 20;
}

cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t filter,
    const cudnnTensorDescriptor_t dy_descriptor, const cudnnConvolutionDescriptor_t convolution,
    const cudnnTensorDescriptor_t dx_descriptor, cudnnConvolutionBwdDataAlgo_t algorithm,
    size_t *n_bytes)
{
    struct fake_op op;
    size_t needed;

    fake_op_begin(&op, __func__, handle, NULL);
    fake_op_tensor(&op, FAKE_X, dy_descriptor, NULL);
    fake_op_tensor(&op, FAKE_Y, dx_descriptor, NULL);
    fake_op_filter(&op, filter, NULL);
    check_convolution(&op, convolution, FAKE_Y, FAKE_X);
    fake_op_must(&op, n_bytes, "nowhere to put the size");
    needed = back_scratch(&op, (int)algorithm);
    if (!op.code)
        *n_bytes = needed;
    return leave(op.code);
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void *alpha,
                                           const cudnnFilterDescriptor_t filter, const void *w,
                                           const cudnnTensorDescriptor_t dy_descriptor,
                                           const void *dy,
                                           const cudnnConvolutionDescriptor_t convolution,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void *scratch,
                                           size_t scratch_bytes, const void *beta,
                                           const cudnnTensorDescriptor_t dx_descriptor, void *dx)
{
    struct fake_op op;
    size_t needed;

    fake_op_begin(&op, __func__, handle, fake_convolve_back);
    fake_op_number(&op, &op.alpha, alpha);
    fake_op_number(&op, &op.beta, beta);
    fake_op_tensor(&op, FAKE_X, dy_descriptor, dy);
    fake_op_tensor(&op, FAKE_Y, dx_descriptor, dx);
    fake_op_filter(&op, filter, w);
    check_convolution(&op, convolution, FAKE_Y, FAKE_X);
    fake_op_apart(&op, FAKE_X, FAKE_Y, false);
    fake_op_apart(&op, FAKE_W, FAKE_Y, false);
    needed = back_scratch(&op, (int)algorithm);
    fake_op_scratch(&op, scratch, scratch_bytes, needed);
    to_volumes(&op);
    return fake_op_issue(&op, operations(&op, FAKE_X) *
                                  (algorithm == CUDNN_CONVOLUTION_BWD_DATA_ALGO_0 ? 1.5 : 1));
}

/* ---- Pooling ---- */

static void check_pooling(struct fake_op *op, const void *pooling)
{
    const struct fake_object *object = fake_op_get(op, FAKE_POOLING, pooling);

    if (object)
        op->window = object->window;
}

cudnnStatus_t cudnnGetPoolingNdForwardOutputDim(const cudnnPoolingDescriptor_t pooling,
                                                const cudnnTensorDescriptor_t x_descriptor,
                                                int n_dims, int dims[])
{
    struct fake_op op;

    begin(&op, __func__, NULL);
    fake_op_tensor(&op, FAKE_X, x_descriptor, NULL);
    check_pooling(&op, pooling);
    return output_dims(&op, op.at[FAKE_X].t.dim[1], n_dims, dims);
}

cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t pooling,
                                  const void *alpha, const cudnnTensorDescriptor_t x_descriptor,
                                  const void *x, const void *beta,
                                  const cudnnTensorDescriptor_t y_descriptor, void *y)
{
    struct fake_op op;

    fake_op_begin(&op, __func__, handle, fake_pool);
    fake_op_number(&op, &op.alpha, alpha);
    fake_op_number(&op, &op.beta, beta);
    fake_op_tensor(&op, FAKE_X, x_descriptor, x);
    fake_op_tensor(&op, FAKE_Y, y_descriptor, y);
    check_pooling(&op, pooling);
    check_places(&op, FAKE_X, FAKE_Y);
    fake_op_must(&op, op.at[FAKE_X].t.dim[1] == op.at[FAKE_Y].t.dim[1],
                 "another number of channels");
    fake_op_apart(&op, FAKE_X, FAKE_Y, false);
    to_volumes(&op);
    return fake_op_issue(&op, (double)fake_elements(&op.at[FAKE_Y].t) * op.window.size[0] *
                                  op.window.size[1] * op.window.size[2]);
}
