/* Operators other than convolutions: pools, normalisations, values, pairs of values, sums. */
#include "backend/cudnn/operators.h"

#include "backend/common/common.h"
#include "base/fail.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

/* The places that an operator reads and writes, in one shape. */
struct cu_pair {
    struct cu_operand x, y;
};

static enum vbs_status no_step(const struct cu_build *b)
{
    return vbs_no_memory(b->ctx);
}

static struct cu_pair from_input(cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t y)
{
    return (struct cu_pair){cu_at(CU_SRC, 0, x), cu_at(CU_DST, 0, y)};
}

static struct cu_pair in_place(cudnnTensorDescriptor_t desc)
{
    return (struct cu_pair){cu_at(CU_DST, 0, desc), cu_at(CU_DST, 0, desc)};
}

/* Describes the whole output as [N, C, values of a channel, 1]. */
static enum vbs_status describe_output(struct cu_build *b, cudnnTensorDescriptor_t *desc)
{
    const struct vbs_shape *shape = &b->l->shape;
    int64_t dims[4] = {b->batch, shape->dim[0], vbs_shape_elements(shape) / shape->dim[0], 1};

    return cu_tensor(b, 4, dims, NULL, desc);
}

/* ---- factor and shift by channel ---- */

static enum vbs_status upload_affine(struct cu_build *b, int fused, struct cu_affine *affine)
{
    int64_t channels = b->l->shape.dim[0], bytes = channels * (int64_t)sizeof(float);
    float *values = malloc(2 * (size_t)bytes);
    enum vbs_status status;

    if (!values)
        return vbs_no_memory(b->ctx);
    status = vbs_affine(b->ctx, b->network, b->layer, fused, channels, values, values + channels);
    if (status == VBS_OK)
        status = cu_upload(b, values, bytes, &affine->factor);
    if (status == VBS_OK)
        status = cu_upload(b, values + channels, bytes, &affine->shift);
    free(values);
    return status;
}

/* Finds the normalisation of the layer (-1) or of a fused operator; it is made at its first
 * kernel. */
static enum vbs_status find_affine(struct cu_build *b, int fused, struct cu_affine **affine)
{
    struct cu_affine **all = &b->session->affine[b->layer];

    if (!*all) {
        *all = vbs_arena_alloc(&b->session->core.arena, (size_t)b->l->n_fused + 1, sizeof **all);
        if (!*all)
            return vbs_no_memory(b->ctx);
    }
    *affine = &(*all)[fused + 1];
    if ((*affine)->desc)
        return VBS_OK;
    VBS_TRY(upload_affine(b, fused, *affine));
    return cu_channels(b, b->l->shape.dim[0], 2, &(*affine)->desc);
}

/* Appends a multiplication and an addition: cuDNN's own call for both does not work in place. */
static enum vbs_status add_affine(struct cu_build *b, int fused, struct cu_pair at,
                                  int64_t *fixed_bytes)
{
    struct cu_affine *affine = NULL;
    enum vbs_status status = find_affine(b, fused, &affine);
    struct cu_step *step = status == VBS_OK ? cu_step(b, CU_BINARY) : NULL;

    if (!step)
        return status == VBS_OK ? no_step(b) : status;
    step->x = at.x;
    step->b = cu_at(CU_FIXED, 0, affine->desc);
    step->b.fixed = affine->factor;
    step->y = at.y;
    step->beta = 1;
    status = cu_operation(b, CUDNN_OP_TENSOR_MUL, &step->binary);
    step = status == VBS_OK ? cu_step(b, CU_BIAS) : NULL;
    if (!step)
        return status == VBS_OK ? no_step(b) : status;
    step->b = cu_at(CU_FIXED, 0, affine->desc);
    step->b.fixed = affine->shift;
    step->y = at.y;
    *fixed_bytes += 2 * b->l->shape.dim[0] * (int64_t)sizeof(float);
    return VBS_OK;
}

/* ---- value by value ---- */

static bool find_activation(enum vbs_op op, const union vbs_attributes *a,
                            cudnnActivationMode_t *mode, double *coefficient)
{
    *coefficient = 0;
    switch (op) {
    case VBS_OP_RELU:
        *mode = CUDNN_ACTIVATION_RELU;
        return true;
    case VBS_OP_SIGMOID:
        *mode = CUDNN_ACTIVATION_SIGMOID;
        return true;
    case VBS_OP_TANH:
        *mode = CUDNN_ACTIVATION_TANH;
        return true;
    case VBS_OP_SWISH:
        *mode = CUDNN_ACTIVATION_SWISH;
        return true;
    case VBS_OP_ELU:
        *mode = CUDNN_ACTIVATION_ELU;
        *coefficient = a->elu.alpha;
        return true;
    case VBS_OP_CLIP:
        *mode = CUDNN_ACTIVATION_CLIPPED_RELU;
        *coefficient = a->clip.high;
        return a->clip.low == 0 && a->clip.high <= FLT_MAX;
    default:
        return false;
    }
}

/* Computes max(x, slope x). */
static enum vbs_status add_leaky(struct cu_build *b, double slope, struct cu_pair at)
{
    struct cu_step *step = cu_step(b, CU_BINARY);

    if (!step)
        return no_step(b);
    step->x = step->b = at.x;
    step->y = at.y;
    step->beta = (float)slope;
    return cu_operation(b, CUDNN_OP_TENSOR_MAX, &step->binary);
}

static enum vbs_status add_copy(struct cu_build *b, struct cu_pair at)
{
    struct cu_step *step = cu_step(b, CU_COPY);

    if (!step)
        return no_step(b);
    step->x = at.x;
    step->y = at.y;
    step->width = step->x_pitch = step->y_pitch = (size_t)vbs_shape_elements(&b->l->shape) * 4;
    step->n_rows = (size_t)b->batch;
    return VBS_OK;
}

static enum vbs_status add_unary(struct cu_build *b, enum vbs_op op, const union vbs_attributes *a,
                                 struct cu_pair at)
{
    cudnnActivationMode_t mode;
    double coefficient;
    struct cu_step *step;

    if (op == VBS_OP_DROPOUT || op == VBS_OP_IDENTITY)
        return at.x.location == CU_DST ? VBS_OK : add_copy(b, at);
    if (op == VBS_OP_LEAKY_RELU && a->leaky_relu.slope <= 1)
        return add_leaky(b, a->leaky_relu.slope, at);
    if (!find_activation(op, a, &mode, &coefficient))
        return cu_unsupported(b, vbs_op_word(op));
    step = cu_step(b, CU_ACTIVATE);
    if (!step)
        return no_step(b);
    step->x = at.x;
    step->y = at.y;
    return cu_activation(b, mode, coefficient, CUDNN_PROPAGATE_NAN, &step->activation);
}

enum vbs_status cu_fused(struct cu_build *b, int first, int64_t *fixed_bytes)
{
    cudnnTensorDescriptor_t desc;

    if (first < b->l->n_fused)
        VBS_TRY(describe_output(b, &desc));
    for (int i = first; i < b->l->n_fused; i++) {
        const struct vbs_fused *fused = &b->l->fused[i];

        if (fused->op == VBS_OP_BATCHNORM || fused->op == VBS_OP_SCALE)
            VBS_TRY(add_affine(b, i, in_place(desc), fixed_bytes));
        else
            VBS_TRY(add_unary(b, fused->op, &fused->attributes, in_place(desc)));
    }
    return VBS_OK;
}

/* ---- pools ---- */

static enum vbs_status describe_pool(struct cu_build *b, const struct cu_window *w,
                                     cudnnPoolingMode_t mode, cudnnPoolingDescriptor_t *pool)
{
    cudnnStatus_t made = b->session->api.cudnnCreatePoolingDescriptor(pool);

    if (made != CUDNN_STATUS_SUCCESS)
        return cu_fail(b->ctx, b->session, b->l->name, made, "describing a pool");
    VBS_TRY(cu_adopt(b, CU_POOLING, *pool));
    made = b->session->api.cudnnSetPoolingNdDescriptor(*pool, mode, CUDNN_PROPAGATE_NAN, w->n,
                                                       w->kernel, w->pad, w->stride);
    return made == CUDNN_STATUS_SUCCESS
               ? VBS_OK
               : cu_fail(b->ctx, b->session, b->l->name, made, "describing a pool");
}

/* cuDNN pads both sides alike, but makes as many outputs as are described, from windows that it
 * clips to the input. So the padding is that before the input; how far the last windows reach
 * beyond its end follows from the output. Only means that count the padding need a copy with zeros
 * around it, and windows without any value of the input. */
static enum vbs_status add_pool(struct cu_build *b)
{
    const union vbs_attributes *a = &b->l->attributes;
    const struct vbs_shape *in = cu_view(b, 0);
    struct cu_window w = cu_window(&a->pool.window, in->n_dims - 1);
    bool largest = b->l->op == VBS_OP_POOL_MAX;
    cudnnPoolingMode_t mode = largest              ? CUDNN_POOLING_MAX
                              : a->pool.pad_counts ? CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING
                                                   : CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING;
    bool clips = mode != CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING && !b->pads;
    struct cu_operand x = cu_at(CU_SRC, 0, NULL);
    struct cu_step *step;
    int n_spatial;
    enum vbs_status status = VBS_OK;

    for (int i = 0; i < w.n; i++) {
        if (w.dilation[i] > 1)
            return cu_unsupported(b, "pools with holes");
        clips &= w.low[i] < w.kernel[i] && w.high[i] < w.kernel[i];
    }
    for (int i = 0; i < w.n && clips; i++)
        w.pad[i] = (int)w.low[i];
    b->can_pad = w.uneven && clips && largest;
    if (w.uneven && !clips && mode == CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING)
        return cu_unsupported(b, "means over windows that reach unevenly beyond the input");
    if (w.uneven && !clips)
        status = cu_pad(b, &w, largest ? -FLT_MAX : 0, &x);
    else
        status = cu_image(b, in, &n_spatial, &x.desc);
    step = status == VBS_OK ? cu_step(b, CU_POOL) : NULL;
    if (!step)
        return status == VBS_OK ? no_step(b) : status;
    step->x = x;
    step->y = cu_at(CU_DST, 0, NULL);
    VBS_TRY(cu_image(b, &b->l->shape, &n_spatial, &step->y.desc));
    return describe_pool(b, &w, mode, &step->pool);
}

/* ---- LRN, softmax ---- */

static enum vbs_status add_lrn(struct cu_build *b)
{
    const union vbs_attributes *a = &b->l->attributes;
    cudnnTensorDescriptor_t desc;
    cudnnStatus_t made;
    struct cu_step *step;
    enum vbs_status status = describe_output(b, &desc);

    step = status == VBS_OK ? cu_step(b, CU_LRN) : NULL;
    if (!step)
        return status == VBS_OK ? no_step(b) : status;
    step->x = cu_at(CU_SRC, 0, desc);
    step->y = cu_at(CU_DST, 0, desc);
    made = b->session->api.cudnnCreateLRNDescriptor(&step->lrn);
    if (made != CUDNN_STATUS_SUCCESS)
        return cu_fail(b->ctx, b->session, b->l->name, made, "describing a normalisation");
    VBS_TRY(cu_adopt(b, CU_NORMALISATION, step->lrn));
    made = b->session->api.cudnnSetLRNDescriptor(step->lrn, (unsigned)a->lrn.size, a->lrn.alpha,
                                                 a->lrn.beta, a->lrn.k);
    return made == CUDNN_STATUS_SUCCESS ? VBS_OK : cu_refuse(b, made, "lrn of these parameters");
}

/* Computes softmax over one dimension, as [N, the dimension, those before, those behind], because N
 * may be 65535 at most. */
static enum vbs_status add_softmax(struct cu_build *b)
{
    const struct vbs_shape *shape = cu_view(b, 0);
    int axis = b->l->attributes.softmax.axis;
    int64_t dims[4] = {b->batch, shape->dim[axis], 1, 1}, strides[4];
    cudnnTensorDescriptor_t desc;
    struct cu_step *step;
    enum vbs_status status;

    for (int i = 0; i < shape->n_dims; i++)
        if (i != axis)
            dims[i < axis ? 2 : 3] *= shape->dim[i];
    strides[3] = 1;
    strides[1] = dims[3];
    strides[2] = dims[1] * dims[3];
    strides[0] = dims[2] * strides[2];
    status = cu_tensor(b, 4, dims, strides, &desc);
    step = status == VBS_OK ? cu_step(b, CU_SOFTMAX) : NULL;
    if (!step)
        return status == VBS_OK ? no_step(b) : status;
    step->x = cu_at(CU_SRC, 0, desc);
    step->y = cu_at(CU_DST, 0, desc);
    step->algorithm = b->l->op == VBS_OP_LOGSOFTMAX ? CUDNN_SOFTMAX_LOG : CUDNN_SOFTMAX_ACCURATE;
    return VBS_OK;
}

/* ---- pairs of values ---- */

/* Describes an operand's shape for cuDNN's broadcasting: it has as many dimensions as the output, 1
 * where it repeats. */
static enum vbs_status describe_operand(struct cu_build *b, const struct vbs_shape *shape,
                                        bool constant, cudnnTensorDescriptor_t *desc)
{
    const struct vbs_shape *out = &b->l->shape;
    int64_t dims[CU_MAX_DIMS] = {constant ? 1 : b->batch};

    for (int i = 0; i < out->n_dims; i++) {
        int from = i - (out->n_dims - shape->n_dims);

        dims[1 + i] = from >= 0 ? shape->dim[from] : 1;
    }
    if (out->n_dims + 1 > 5)
        return cu_unsupported(b, "pairs of tensors of so many dimensions");
    return cu_tensor(b, 1 + out->n_dims, dims, NULL, desc);
}

static enum vbs_status upload_operand(struct cu_build *b, struct cu_operand *operand)
{
    int64_t n = vbs_shape_elements(&b->l->operand);
    void **kept = &b->session->operands[b->layer];
    float *values;
    enum vbs_status status = VBS_OK;

    *operand = cu_at(CU_FIXED, 0, NULL);
    if (!*kept) {
        values = malloc((size_t)n * sizeof *values);
        if (!values)
            return vbs_no_memory(b->ctx);
        status = vbs_parameter_values(b->ctx, b->network, b->layer, -1, VBS_PARAMETER_OPERAND, 0, n,
                                      values);
        if (status == VBS_OK)
            status = cu_upload(b, values, n * (int64_t)sizeof *values, kept);
        free(values);
    }
    operand->fixed = *kept;
    return status;
}

static bool find_operation(enum vbs_op op, cudnnOpTensorOp_t *operation)
{
    switch (op) {
    case VBS_OP_ADD:
    case VBS_OP_SUB:
        *operation = CUDNN_OP_TENSOR_ADD;
        return true;
    case VBS_OP_MUL:
        *operation = CUDNN_OP_TENSOR_MUL;
        return true;
    case VBS_OP_MAX:
        *operation = CUDNN_OP_TENSOR_MAX;
        return true;
    case VBS_OP_MIN:
        *operation = CUDNN_OP_TENSOR_MIN;
        return true;
    default:
        return false;
    }
}

static bool is_whole(const struct cu_build *b, const struct vbs_shape *shape)
{
    return vbs_shape_elements(shape) == vbs_shape_elements(&b->l->shape);
}

/* Appends a binary operation. cuDNN broadcasts only the second operand. The first one that is read
 * is the output itself where the operation is in place. */
static enum vbs_status add_binary(struct cu_build *b, int64_t *fixed_bytes)
{
    bool constant = b->l->operand.n_dims > 0;
    const struct vbs_shape *other = constant ? &b->l->operand : cu_view(b, 1);
    bool negative = b->l->op == VBS_OP_SUB;
    /* The network's second operand is a constant, unless swapped; else it is the input that is in
     * this place. */
    bool turned = constant ? b->l->attributes.binary.swapped : b->session->order[b->layer][0] == 1;
    cudnnOpTensorOp_t operation;
    struct cu_operand first = cu_at(CU_SRC, 0, NULL), second = cu_at(CU_SRC, 1, NULL);
    struct cu_step *step;
    enum vbs_status status = VBS_OK;

    if (!find_operation(b->l->op, &operation))
        return cu_unsupported(b, vbs_op_word(b->l->op));
    if (constant)
        status = upload_operand(b, &second);
    if (status == VBS_OK)
        status = describe_operand(b, cu_view(b, 0), false, &first.desc);
    if (status == VBS_OK)
        status = describe_operand(b, other, constant, &second.desc);
    if (status == VBS_OK && !is_whole(b, cu_view(b, 0)) && !(is_whole(b, other) && !constant))
        return cu_unsupported(b, "pairs of which both are repeated");
    step = status == VBS_OK ? cu_step(b, CU_BINARY) : NULL;
    if (!step)
        return status == VBS_OK ? no_step(b) : status;
    step->x = is_whole(b, cu_view(b, 0)) ? first : second;
    step->b = is_whole(b, cu_view(b, 0)) ? second : first;
    step->alpha = negative && turned == is_whole(b, cu_view(b, 0)) ? -1 : 1;
    step->beta = negative && turned != is_whole(b, cu_view(b, 0)) ? -1 : 1;
    step->y = cu_at(CU_DST, 0, NULL);
    if (constant)
        *fixed_bytes += vbs_shape_elements(&b->l->operand) * (int64_t)sizeof(float);
    VBS_TRY(describe_operand(b, &b->l->shape, false, &step->y.desc));
    return cu_operation(b, operation, &step->binary);
}

/* ---- sums ---- */

static bool find_reduction(enum vbs_op op, cudnnReduceTensorOp_t *reduction)
{
    switch (op) {
    case VBS_OP_REDUCE_SUM:
        *reduction = CUDNN_REDUCE_TENSOR_ADD;
        return true;
    case VBS_OP_REDUCE_MEAN:
        *reduction = CUDNN_REDUCE_TENSOR_AVG;
        return true;
    case VBS_OP_REDUCE_MAX:
        *reduction = CUDNN_REDUCE_TENSOR_MAX;
        return true;
    case VBS_OP_REDUCE_MIN:
        *reduction = CUDNN_REDUCE_TENSOR_MIN;
        return true;
    case VBS_OP_REDUCE_PROD:
        *reduction = CUDNN_REDUCE_TENSOR_MUL;
        return true;
    case VBS_OP_REDUCE_L1:
        *reduction = CUDNN_REDUCE_TENSOR_NORM1;
        return true;
    case VBS_OP_REDUCE_L2:
        *reduction = CUDNN_REDUCE_TENSOR_NORM2;
        return true;
    default:
        return false;
    }
}

static enum vbs_status describe_reduction(struct cu_build *b, cudnnReduceTensorOp_t reduction,
                                          struct cu_step *step)
{
    size_t bytes = 0;
    cudnnStatus_t made = b->session->api.cudnnCreateReduceTensorDescriptor(&step->reduce);

    if (made != CUDNN_STATUS_SUCCESS)
        return cu_fail(b->ctx, b->session, b->l->name, made, "describing a sum");
    VBS_TRY(cu_adopt(b, CU_REDUCTION, step->reduce));
    made = b->session->api.cudnnSetReduceTensorDescriptor(
        step->reduce, reduction, CUDNN_DATA_FLOAT, CUDNN_PROPAGATE_NAN,
        CUDNN_REDUCE_TENSOR_NO_INDICES, CUDNN_32BIT_INDICES);
    if (made == CUDNN_STATUS_SUCCESS)
        made = b->session->api.cudnnGetReductionWorkspaceSize(b->session->cudnn, step->reduce,
                                                              step->x.desc, step->y.desc, &bytes);
    if (made != CUDNN_STATUS_SUCCESS)
        return cu_refuse(b, made, "sums of this shape");
    cu_ask(b, step, bytes);
    return VBS_OK;
}

static enum vbs_status add_reduction(struct cu_build *b)
{
    const struct vbs_shape *in = cu_view(b, 0);
    struct vbs_shape out = *in;
    cudnnReduceTensorOp_t reduction;
    struct cu_step *step;

    if (!find_reduction(b->l->op, &reduction) ||
        vbs_shape_elements(in) == vbs_shape_elements(&b->l->shape))
        return cu_unsupported(b, vbs_op_word(b->l->op));
    for (int i = 0; i < in->n_dims; i++)
        if (b->l->attributes.reduce.axes & 1U << i)
            out.dim[i] = 1;
    step = cu_step(b, CU_REDUCE);
    if (!step)
        return no_step(b);
    step->x = cu_at(CU_SRC, 0, NULL);
    step->y = cu_at(CU_DST, 0, NULL);
    VBS_TRY(cu_samples(b, in, &step->x.desc));
    VBS_TRY(cu_samples(b, &out, &step->y.desc));
    return describe_reduction(b, reduction, step);
}

/* ---- the table ---- */

static enum vbs_status add_own(struct cu_build *b, int64_t *fixed_bytes)
{
    cudnnTensorDescriptor_t desc;
    enum vbs_status status;

    switch (b->l->op) {
    case VBS_OP_POOL_MAX:
    case VBS_OP_POOL_AVG:
        return add_pool(b);
    case VBS_OP_LRN:
        return add_lrn(b);
    case VBS_OP_SOFTMAX:
    case VBS_OP_LOGSOFTMAX:
        return add_softmax(b);
    case VBS_OP_CONCAT:
        return cu_add_concat(b);
    case VBS_OP_BATCHNORM:
    case VBS_OP_SCALE:
        status = describe_output(b, &desc);
        return status == VBS_OK ? add_affine(b, -1, from_input(desc, desc), fixed_bytes) : status;
    default:
        break;
    }
    switch (vbs_op_class(b->l->op)) {
    case VBS_CLASS_UNARY:
        status = describe_output(b, &desc);
        return status == VBS_OK ? add_unary(b, b->l->op, &b->l->attributes, from_input(desc, desc))
                                : status;
    case VBS_CLASS_BINARY:
        return add_binary(b, fixed_bytes);
    case VBS_CLASS_REDUCE:
        return add_reduction(b);
    case VBS_CLASS_MOVE:
        return cu_add_move(b);
    default:
        return cu_unsupported(b, vbs_op_word(b->l->op));
    }
}

enum vbs_status cu_build_other(struct cu_build *b)
{
    int64_t fixed_bytes = 0;

    VBS_TRY(cu_kernel_begin(b, "cudnn"));
    VBS_TRY(add_own(b, &fixed_bytes));
    VBS_TRY(cu_fused(b, 0, &fixed_bytes));
    cu_kernel_end(b, fixed_bytes, 0);
    return VBS_OK;
}
