/* Operators that ONNX Runtime's optimiser makes of several of ONNX (domain com.microsoft). */
#include "base/fail.h"
#include "model/network/network.h"
#include "model/onnx/operators/operators.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- activations ---- */

/* The functions behind a FusedConv and a FusedGemm, and their numbers where none are given. */
static const struct activation {
    const char *name;
    enum vbs_op op;
    double alpha, beta;
} ACTIVATIONS[] = {{"Relu", VBS_OP_RELU, 0, 0},
                   {"Sigmoid", VBS_OP_SIGMOID, 0, 0},
                   {"Tanh", VBS_OP_TANH, 0, 0},
                   {"LeakyRelu", VBS_OP_LEAKY_RELU, 0.01, 0},
                   {"Elu", VBS_OP_ELU, 1, 0},
                   {"Softplus", VBS_OP_SOFTPLUS, 0, 0},
                   {"Softsign", VBS_OP_SOFTSIGN, 0, 0},
                   {"ThresholdedRelu", VBS_OP_THRESHOLDED_RELU, 1, 0},
                   {"HardSigmoid", VBS_OP_HARD_SIGMOID, 0.2, 0.5},
                   {"Clip", VBS_OP_CLIP, -FLT_MAX, FLT_MAX}};

/* Gives the attributes of an activation whose numbers are alpha and beta. */
static union vbs_attributes attributes_of(enum vbs_op op, double alpha, double beta)
{
    switch (op) {
    case VBS_OP_LEAKY_RELU:
        return (union vbs_attributes){.leaky_relu = {alpha}};
    case VBS_OP_ELU:
        return (union vbs_attributes){.elu = {alpha}};
    case VBS_OP_THRESHOLDED_RELU:
        return (union vbs_attributes){.thresholded_relu = {alpha}};
    case VBS_OP_HARD_SIGMOID:
        return (union vbs_attributes){.hard_sigmoid = {alpha, beta}};
    case VBS_OP_CLIP:
        return (union vbs_attributes){.clip = {fmax(alpha, -FLT_MAX), fmin(beta, FLT_MAX)}};
    default:
        return (union vbs_attributes){0};
    }
}

/* Applies the activation of the node, if it has one, and gives output 0. */
static enum vbs_status give_activated(struct vbs_onnx_import *im, const struct vbs_onnx_state *x)
{
    const char *name = vbs_onnx_text(im, "activation");
    const struct activation *found = NULL;
    union vbs_attributes attributes;
    struct vbs_onnx_tensor *tensor;
    double alpha, beta;
    int n;
    const float *params = vbs_onnx_reals(im, "activation_params", &n);

    if (!name)
        return vbs_no_memory(im->ctx);
    if (name[0] == '\0')
        return vbs_onnx_give(im, 0, x->tensor, &x->shape);
    for (size_t i = 0; i < sizeof ACTIVATIONS / sizeof ACTIVATIONS[0]; i++)
        if (strcmp(name, ACTIVATIONS[i].name) == 0)
            found = &ACTIVATIONS[i];
    if (!found)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "activation '%.40s' is not supported", name);
    alpha = vbs_onnx_real(im, "activation_alpha", n > 0 ? (double)params[0] : found->alpha);
    beta = vbs_onnx_real(im, "activation_beta", n > 1 ? (double)params[1] : found->beta);
    if (isnan(alpha) || isnan(beta))
        return vbs_fail(im->ctx, VBS_FORMAT, "a number of its activation is no number");
    attributes = attributes_of(found->op, alpha, beta);
    VBS_TRY(vbs_onnx_apply(im, found->op, &attributes, x->tensor, NULL, &tensor));
    return vbs_onnx_give(im, 0, tensor, &x->shape);
}

/* Gives the states of the first n inputs. */
static void take_inputs(const struct vbs_onnx_import *im, int n, struct vbs_onnx_state *inputs)
{
    for (int i = 0; i < n; i++) {
        const struct vbs_onnx_state *given = vbs_onnx_in(im, i);

        inputs[i] = given ? *given : (struct vbs_onnx_state){.tensor = NULL};
    }
}

/* A fourth input is added before the activation. */
VBS_ONNX_HANDLER(fused_conv)
{
    const struct vbs_onnx_state *added = vbs_onnx_in(im, 3);
    struct vbs_onnx_state inputs[3], result, sum;

    (void)operator;
    take_inputs(im, 3, inputs);
    VBS_TRY(vbs_onnx_run_as(im, "Conv", inputs, 3, &result));
    sum = result;
    if (added)
        VBS_TRY(vbs_onnx_combine(im, VBS_OP_ADD, &result, added, &sum));
    return give_activated(im, &sum);
}

VBS_ONNX_HANDLER(fused_gemm)
{
    struct vbs_onnx_state inputs[3], result;

    (void)operator;
    take_inputs(im, 3, inputs);
    VBS_TRY(vbs_onnx_run_as(im, "Gemm", inputs, 3, &result));
    return give_activated(im, &result);
}

/* ---- products ---- */

/* Exchanges the last two dimensions of a matrix, or of matrices. */
static enum vbs_status turn(struct vbs_onnx_import *im, struct vbs_onnx_state *x)
{
    int n = x->tensor ? x->shape.n_dims : x->constant->shape.n_dims;
    int perm[VBS_MAX_DIMS];
    struct vbs_onnx_state turned;

    if (n < 2)
        return im->batch && x->tensor ? vbs_onnx_mixes(im)
                                      : vbs_fail(im->ctx, VBS_FORMAT, "an input is no matrix");
    if (im->batch && x->tensor && im->at >= vbs_onnx_rank(im, x) - 2)
        return vbs_onnx_mixes(im);
    for (int d = 0; d < n; d++)
        perm[d] = d < n - 2 ? d : 2 * n - 3 - d;
    if (x->constant)
        return vbs_onnx_constant_transpose(im, x->constant, perm, &x->constant);
    VBS_TRY(vbs_onnx_permute(im, x, perm, &turned));
    x->tensor = turned.tensor;
    x->shape = turned.shape;
    return VBS_OK;
}

VBS_ONNX_HANDLER(fused_matmul)
{
    struct vbs_onnx_state inputs[2], product, result;

    (void)operator;
    if (vbs_onnx_int(im, "transBatchA", 0) != 0 || vbs_onnx_int(im, "transBatchB", 0) != 0)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "transposes dimensions before the last two");
    if (!vbs_onnx_in(im, 0) || !vbs_onnx_in(im, 1))
        return vbs_fail(im->ctx, VBS_FORMAT, "has not two inputs");
    take_inputs(im, 2, inputs);
    if (vbs_onnx_int(im, "transA", 0) != 0)
        VBS_TRY(turn(im, &inputs[0]));
    if (vbs_onnx_int(im, "transB", 0) != 0)
        VBS_TRY(turn(im, &inputs[1]));
    VBS_TRY(vbs_onnx_run_as(im, "MatMul", inputs, 2, &product));
    VBS_TRY(vbs_onnx_linear(im, &product, vbs_onnx_real(im, "alpha", 1), 0, &result));
    return vbs_onnx_give(im, 0, result.tensor, &product.shape);
}

/* ---- value by value ---- */

/* Adds input 1 to input 0, where there is one. */
static enum vbs_status add_second(struct vbs_onnx_import *im, struct vbs_onnx_state *sum)
{
    const struct vbs_onnx_state *first = vbs_onnx_in(im, 0), *second = vbs_onnx_in(im, 1);

    if (!first)
        return vbs_fail(im->ctx, VBS_FORMAT, "input 0 is missing");
    *sum = *first;
    if (second)
        VBS_TRY(vbs_onnx_combine(im, VBS_OP_ADD, first, second, sum));
    return sum->tensor ? VBS_OK : vbs_fail(im->ctx, VBS_UNSUPPORTED, "input 0 is a constant");
}

/* BiasGelu, and, where op is 1, FastGelu, which is computed by tanh. */
VBS_ONNX_HANDLER(bias_gelu)
{
    const union vbs_attributes attributes = {.gelu = {.by_tanh = operator->op == 1 } };
    struct vbs_onnx_tensor *tensor;
    struct vbs_onnx_state sum;

    VBS_TRY(add_second(im, &sum));
    VBS_TRY(vbs_onnx_apply(im, VBS_OP_GELU, &attributes, sum.tensor, NULL, &tensor));
    return vbs_onnx_give(im, 0, tensor, &sum.shape);
}

/* x times sigmoid(alpha x). */
VBS_ONNX_HANDLER(quick_gelu)
{
    const struct vbs_onnx_state *x;
    struct vbs_onnx_state scaled, gate, result;

    (void)operator;
    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    VBS_TRY(vbs_onnx_linear(im, x, vbs_onnx_real(im, "alpha", 1.702), 0, &scaled));
    gate = scaled;
    VBS_TRY(vbs_onnx_apply(im, VBS_OP_SIGMOID, NULL, scaled.tensor, NULL, &gate.tensor));
    VBS_TRY(vbs_onnx_combine(im, VBS_OP_MUL, x, &gate, &result));
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}

/* ---- sums that are normalised ---- */

/* Normalises the sum of inputs 0, 1 and 4, which is output 3. */
VBS_ONNX_HANDLER(skip_layer_norm)
{
    const struct vbs_onnx_state *bias = vbs_onnx_in(im, 4);
    struct vbs_onnx_state inputs[3] = {{.tensor = NULL}}, result, sum;

    (void)operator;
    VBS_TRY(add_second(im, &sum));
    inputs[0] = sum;
    if (bias)
        VBS_TRY(vbs_onnx_combine(im, VBS_OP_ADD, &sum, bias, &inputs[0]));
    if (vbs_onnx_output_used(im, 1) || vbs_onnx_output_used(im, 2))
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "has means or deviations as outputs");
    for (int i = 1; i < 3; i++)
        if (vbs_onnx_in(im, i + 1))
            inputs[i] = *vbs_onnx_in(im, i + 1);
    VBS_TRY(vbs_onnx_run_as(im, "LayerNormalization", inputs, 3, &result));
    if (vbs_onnx_output_used(im, 3))
        VBS_TRY(vbs_onnx_give(im, 3, inputs[0].tensor, &inputs[0].shape));
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}
