/* Normalisations. */
#include "base/fail.h"
#include "model/onnx/operators/operators.h"
#include "model/network/network.h"

#include <math.h>
#include <string.h>

/* Reads 'epsilon'. A 0 becomes a tiny number, because 0 stands for the default in struct
 * vbs_node. */
static double read_epsilon(struct vbs_onnx_import *im)
{
    bool skip = strcmp(im->node->proto->op_type, "SkipLayerNormalization") == 0; /* fused.c */
    double epsilon = vbs_onnx_real(im, "epsilon", skip ? 1e-12 : VBS_BATCHNORM_EPSILON);

    if (vbs_onnx_is_hinted(im->node) && !vbs_onnx_has(im, "epsilon"))
        return 0; /* as the network that was written has it */
    return epsilon == 0 ? 1e-30 : epsilon;
}

static enum vbs_status check_epsilon(struct vbs_onnx_import *im, double epsilon)
{
    if (isfinite(epsilon) && (epsilon > 0 || !vbs_onnx_has(im, "epsilon")))
        return VBS_OK;
    return vbs_fail(im->ctx, VBS_FORMAT, "attribute 'epsilon' is %g", epsilon);
}

/* Sets *plain where a hint says that gamma and beta, inputs 1 and 2, are not the network's, and
 * they are 1 and 0. */
static enum vbs_status read_plain(struct vbs_onnx_import *im, bool *plain)
{
    *plain = vbs_onnx_hints(im, "plain");
    for (int i = 1; i <= 2 && *plain; i++) {
        struct vbs_onnx_constant *constant;
        const struct vbs_onnx_number *numbers;

        VBS_TRY(vbs_onnx_constant_in(im, i, &constant));
        VBS_TRY(vbs_onnx_numbers(im, constant, &numbers));
        for (int64_t k = 0; k < vbs_shape_elements(&constant->shape); k++)
            *plain = *plain && numbers[k].value == (i == 1);
    }
    return VBS_OK;
}

/* Makes a draft that reads input 0 as [C, D, H, W]. */
static enum vbs_status channel_draft(struct vbs_onnx_import *im, enum vbs_op op,
                                     struct vbs_onnx_draft **draft)
{
    const struct vbs_onnx_state *x;
    const struct vbs_shape *own;
    struct vbs_shape view;

    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    VBS_TRY(vbs_onnx_channels(im, x, &view));
    *draft = vbs_onnx_draft(im, op, 1);
    if (!*draft)
        return vbs_no_memory(im->ctx);
    own = &x->tensor->shape;
    if (own->dim[0] != view.dim[0] || own->n_dims < view.n_dims || vbs_onnx_is_hinted(im->node))
        own = &view;
    vbs_onnx_reads(*draft, 0, x->tensor, own);
    return VBS_OK;
}

/* Gives the output of draft the shape of input 0. */
static enum vbs_status give_alike(struct vbs_onnx_import *im, struct vbs_onnx_draft *draft)
{
    struct vbs_onnx_tensor *tensor;

    VBS_TRY(vbs_onnx_tensor_new(im, draft, &tensor));
    return vbs_onnx_give(im, 0, tensor, &vbs_onnx_in(im, 0)->shape);
}

VBS_ONNX_HANDLER(lrn)
{
    struct vbs_onnx_draft *draft;
    enum vbs_status status = channel_draft(im, VBS_OP_LRN, &draft);

    (void)operator;
    if (status != VBS_OK)
        return status;
    draft->node.attributes =
        (union vbs_attributes){.lrn = {.size = vbs_onnx_int(im, "size", 0),
                                       .alpha = vbs_onnx_real(im, "alpha", 1e-4),
                                       .beta = vbs_onnx_real(im, "beta", 0.75),
                                       .k = vbs_onnx_real(im, "bias", 1)}};
    return give_alike(im, draft);
}

/* Versions 7 to 13 have no attribute for it: a node trains where it has more outputs than one. */
bool vbs_onnx_trains(struct vbs_onnx_import *im)
{
    bool trains = vbs_onnx_int(im, "training_mode", 0) != 0;

    if (im->graph->opset < 7)
        return trains || vbs_onnx_int(im, "is_test", 0) == 0;
    for (int i = 1; i < im->node->n_outputs && im->graph->opset < 14; i++)
        trains |= im->node->outputs[i] >= 0;
    return trains;
}

/* Makes the factors, or the shifts, of a BatchNormalization a constant [C, 1, ...]. */
static enum vbs_status fold_factors(struct vbs_onnx_import *im, int n_dims, bool shifts,
                                    struct vbs_onnx_state *result)
{
    const struct vbs_onnx_number *values[4];
    struct vbs_shape shape = {.n_dims = n_dims};
    struct vbs_onnx_constant *constant;
    struct vbs_onnx_number *made;
    int64_t n = 0;

    for (int i = 0; i < 4; i++) {
        VBS_TRY(vbs_onnx_known_in(im, i + 1, &constant, &values[i]));
        if (i > 0 && vbs_shape_elements(&constant->shape) != n)
            return vbs_fail(im->ctx, VBS_FORMAT, "inputs 1 to 4 have different lengths");
        n = vbs_shape_elements(&constant->shape);
    }
    for (int d = 0; d < n_dims; d++)
        shape.dim[d] = d == 0 ? n : 1;
    VBS_TRY(vbs_onnx_numbers_new(im, n, &made));
    for (int64_t i = 0; i < n; i++) {
        double factor =
            (double)values[0][i].value / sqrt((double)values[3][i].value + read_epsilon(im));

        made[i].value =
            shifts ? (double)values[1][i].value - (double)values[2][i].value * factor : factor;
    }
    *result = (struct vbs_onnx_state){.tensor = NULL};
    return vbs_onnx_constant_new(im, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, &shape, made,
                                 &result->constant);
}

/* Normalises samples of several images, [images, C, ...]. */
static enum vbs_status norm_images(struct vbs_onnx_import *im, const struct vbs_onnx_state *x)
{
    struct vbs_onnx_state factors, shifts, product, result;

    if (im->at > 0 || x->shape.n_dims < 2)
        return vbs_onnx_mixes(im);
    VBS_TRY(fold_factors(im, x->shape.n_dims - 1, false, &factors));
    VBS_TRY(fold_factors(im, x->shape.n_dims - 1, true, &shifts));
    if (factors.constant->shape.dim[0] != x->shape.dim[1])
        return vbs_fail(im->ctx, VBS_FORMAT, "input 1 has %lld values for %lld channels",
                        (long long)factors.constant->shape.dim[0], (long long)x->shape.dim[1]);
    VBS_TRY(vbs_onnx_combine(im, VBS_OP_MUL, x, &factors, &product));
    VBS_TRY(vbs_onnx_combine(im, VBS_OP_ADD, &product, &shifts, &result));
    return vbs_onnx_give(im, 0, result.tensor, &x->shape);
}

VBS_ONNX_HANDLER(batch_norm)
{
    static const enum vbs_parameter WHAT[] = {VBS_PARAMETER_GAMMA, VBS_PARAMETER_BETA,
                                              VBS_PARAMETER_MEAN, VBS_PARAMETER_VARIANCE};
    const struct vbs_onnx_state *x;
    struct vbs_onnx_draft *draft;
    bool plain = false;

    (void)operator;
    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    if (vbs_onnx_trains(im))
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "is in training mode");
    if (vbs_onnx_int(im, "spatial", 1) == 0)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "attribute 'spatial' is 0");
    if (im->batch ? im->outer > 0 : x->shape.n_dims > 1 && x->shape.dim[0] > 1)
        return norm_images(im, x);
    VBS_TRY(channel_draft(im, VBS_OP_BATCHNORM, &draft));
    VBS_TRY(read_plain(im, &plain));
    for (int i = plain ? 2 : 0; i < 4; i++)
        VBS_TRY(vbs_onnx_vector(im, i + 1, draft->views[0].dim[0], WHAT[i], draft));
    draft->node.attributes.norm.affine = !plain;
    draft->node.attributes.norm.epsilon = read_epsilon(im);
    VBS_TRY(check_epsilon(im, draft->node.attributes.norm.epsilon));
    return give_alike(im, draft);
}

VBS_ONNX_HANDLER(instance_norm)
{
    struct vbs_onnx_draft *draft;
    bool plain = false;
    enum vbs_status status = channel_draft(im, VBS_OP_INSTANCE_NORM, &draft);

    (void)operator;
    if (status != VBS_OK)
        return status;
    VBS_TRY(read_plain(im, &plain));
    if (!plain) {
        VBS_TRY(vbs_onnx_vector(im, 1, draft->views[0].dim[0], VBS_PARAMETER_GAMMA, draft));
        VBS_TRY(vbs_onnx_vector(im, 2, draft->views[0].dim[0], VBS_PARAMETER_BETA, draft));
    }
    draft->node.attributes.norm.affine = !plain;
    draft->node.attributes.norm.epsilon = read_epsilon(im);
    VBS_TRY(check_epsilon(im, draft->node.attributes.norm.epsilon));
    return give_alike(im, draft);
}

/* Gives input index of a normalisation: the factors, or, input 2, what is added. */
static enum vbs_status affine_values(struct vbs_onnx_import *im, int index,
                                     struct vbs_onnx_constant *constant,
                                     const struct vbs_values **values)
{
    return index == 2 ? vbs_onnx_added(im, constant, 0, values)
                      : vbs_onnx_weights(im, constant, 0, values);
}

/* Reads input index, which has one value for each group or channel, as one value for each
 * channel. */
static enum vbs_status group_values(struct vbs_onnx_import *im, int index, int64_t groups,
                                    int64_t channels, const struct vbs_values **values)
{
    struct vbs_shape apart = {2, {groups, 1}}, full = {2, {groups, channels / groups}};
    struct vbs_onnx_constant *constant;

    VBS_TRY(vbs_onnx_constant_in(im, index, &constant));
    if (vbs_shape_elements(&constant->shape) != channels) {
        VBS_TRY(vbs_onnx_constant_reshape(im, constant, &apart, &constant));
        VBS_TRY(vbs_onnx_constant_expand(im, constant, &full, &constant));
    }
    return affine_values(im, index, constant, values);
}

/* A GroupNorm becomes an InstanceNorm whose channels are the groups, and a scale and shift by
 * channel behind it. */
VBS_ONNX_HANDLER(group_norm)
{
    int64_t groups = vbs_onnx_int(im, "num_groups", 0), channels;
    union vbs_attributes attributes = {.norm = {.epsilon = read_epsilon(im)}};
    struct vbs_onnx_draft *draft, *scale = vbs_onnx_draft(im, VBS_OP_SCALE, 1);
    struct vbs_onnx_tensor *normal;
    struct vbs_shape view;
    enum vbs_status status = channel_draft(im, VBS_OP_INSTANCE_NORM, &draft);

    (void)operator;
    if (status != VBS_OK)
        return status;
    VBS_TRY(check_epsilon(im, attributes.norm.epsilon));
    if (!scale)
        return vbs_no_memory(im->ctx);
    channels = draft->views[0].dim[0];
    if (groups < 1 || channels % groups)
        return vbs_fail(im->ctx, VBS_FORMAT, "%lld groups do not divide %lld channels",
                        (long long)groups, (long long)channels);
    view = (struct vbs_shape){2, {groups, vbs_shape_elements(&draft->views[0]) / groups}};
    VBS_TRY(
        vbs_onnx_apply(im, VBS_OP_INSTANCE_NORM, &attributes, draft->inputs[0], &view, &normal));
    vbs_onnx_reads(scale, 0, normal, &draft->views[0]);
    scale->node.attributes.scale.bias = true;
    VBS_TRY(group_values(im, 1, groups, channels, &scale->node.values[VBS_PARAMETER_GAMMA]));
    VBS_TRY(group_values(im, 2, groups, channels, &scale->node.values[VBS_PARAMETER_BETA]));
    return give_alike(im, scale);
}

/* ---- means and deviations ---- */

/* Computes x minus its mean over axes, and the mean itself. */
static enum vbs_status centre(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                              unsigned axes, struct vbs_onnx_state *mean,
                              struct vbs_onnx_state *centred)
{
    VBS_TRY(vbs_onnx_reduce_state(im, VBS_OP_REDUCE_MEAN, x, axes, mean));
    return vbs_onnx_combine(im, VBS_OP_SUB, x, mean, centred);
}

/* Computes sqrt(mean of x^2 over axes + inside) + outside. */
static enum vbs_status deviation(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                 unsigned axes, double inside, double outside,
                                 struct vbs_onnx_state *result)
{
    struct vbs_onnx_state square, variance, shifted, root;

    VBS_TRY(vbs_onnx_combine(im, VBS_OP_MUL, x, x, &square));
    VBS_TRY(vbs_onnx_reduce_state(im, VBS_OP_REDUCE_MEAN, &square, axes, &variance));
    VBS_TRY(vbs_onnx_linear(im, &variance, 1, inside, &shifted));
    root = shifted;
    VBS_TRY(vbs_onnx_apply(im, VBS_OP_SQRT, NULL, shifted.tensor, NULL, &root.tensor));
    return vbs_onnx_linear(im, &root, 1, outside, result);
}

VBS_ONNX_HANDLER(mean_variance_norm)
{
    static const int64_t USUAL[] = {0, 2, 3};
    int n, dim;
    const int64_t *axes = vbs_onnx_ints(im, "axes", &n);
    struct vbs_onnx_state mean, centred, spread, result;
    const struct vbs_onnx_state *x;
    unsigned bits = 0;
    enum vbs_status status = vbs_onnx_tensor_in(im, 0, &x);

    (void)operator;
    if (status != VBS_OK)
        return status;
    for (int i = 0; i < (axes ? n : 3); i++) {
        status = vbs_onnx_axis(im, axes ? axes[i] : USUAL[i], vbs_onnx_rank(im, x), &dim);
        bits |= status == VBS_OK ? 1u << dim : 0;
        if (status != VBS_OK)
            return status;
    }
    VBS_TRY(centre(im, x, bits, &mean, &centred));
    VBS_TRY(deviation(im, &centred, bits, 0, 1e-9, &spread));
    VBS_TRY(vbs_onnx_combine(im, VBS_OP_DIV, &centred, &spread, &result));
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}

/* Makes outputs 1 and 2: the mean and 1 / deviation of every row. */
static enum vbs_status give_moments(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                    int axis, double epsilon)
{
    unsigned axes = ((1u << x->shape.n_dims) - 1) & ~((1u << axis) - 1);
    struct vbs_onnx_state mean, centred, spread;
    struct vbs_onnx_tensor *inverse;
    enum vbs_status status;

    if (!vbs_onnx_output_used(im, 1) && !vbs_onnx_output_used(im, 2))
        return VBS_OK;
    status = centre(im, x, axes, &mean, &centred);
    if (status == VBS_OK && vbs_onnx_output_used(im, 1))
        status = vbs_onnx_give(im, 1, mean.tensor, &mean.shape);
    if (status != VBS_OK || !vbs_onnx_output_used(im, 2))
        return status;
    VBS_TRY(deviation(im, &centred, axes, epsilon, 0, &spread));
    VBS_TRY(vbs_onnx_apply(im, VBS_OP_RECIPROCAL, NULL, spread.tensor, NULL, &inverse));
    return vbs_onnx_give(im, 2, inverse, &spread.shape);
}

/* Reads input index, which has one value for each element of a row. */
static enum vbs_status row_values(struct vbs_onnx_import *im, int index,
                                  const struct vbs_shape *row, const struct vbs_values **values)
{
    struct vbs_onnx_constant *constant;

    VBS_TRY(vbs_onnx_constant_in(im, index, &constant));
    VBS_TRY(vbs_onnx_constant_expand(im, constant, row, &constant));
    return affine_values(im, index, constant, values);
}

VBS_ONNX_HANDLER(layer_norm)
{
    struct vbs_onnx_draft *draft = vbs_onnx_draft(im, VBS_OP_LAYER_NORM, 1);
    double epsilon = read_epsilon(im);
    const struct vbs_onnx_state *x;
    struct vbs_shape view, row = {.n_dims = 0};
    int axis, shift;
    enum vbs_status status = vbs_onnx_tensor_in(im, 0, &x);

    (void)operator;
    if (status != VBS_OK)
        return status;
    VBS_TRY(vbs_onnx_axis(im, vbs_onnx_int(im, "axis", -1), vbs_onnx_rank(im, x), &axis));
    VBS_TRY(check_epsilon(im, epsilon));
    if (!draft)
        return vbs_no_memory(im->ctx);
    if (im->batch && im->at > axis)
        return vbs_onnx_mixes(im);
    for (int d = axis; d < x->shape.n_dims; d++)
        row.dim[row.n_dims++] = x->shape.dim[d];
    view = vbs_onnx_view(x, axis, &shift);
    vbs_onnx_reads(draft, 0, x->tensor, &view);
    draft->node.attributes.norm.axis = axis + shift;
    draft->node.attributes.norm.affine = true;
    draft->node.attributes.norm.epsilon = epsilon;
    VBS_TRY(row_values(im, 1, &row, &draft->node.values[VBS_PARAMETER_GAMMA]));
    if (vbs_onnx_in(im, 2))
        VBS_TRY(row_values(im, 2, &row, &draft->node.values[VBS_PARAMETER_BETA]));
    else {
        draft->node.values[VBS_PARAMETER_BETA] = vbs_onnx_fill(im, 0);
        if (!draft->node.values[VBS_PARAMETER_BETA])
            return vbs_no_memory(im->ctx);
    }
    VBS_TRY(give_moments(im, x, axis, epsilon));
    return give_alike(im, draft);
}
