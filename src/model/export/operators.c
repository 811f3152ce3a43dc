/* The nodes of operators that compute. */
#include "model/export/export.h"

#include "base/fail.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The operators that are one node of one input, and the opset since which they are. */
static const struct {
    enum vbs_op op;
    const char *name;
    int since;
} SIMPLE[] = {
    {VBS_OP_RELU, "Relu", 13},
    {VBS_OP_DROPOUT, "Dropout", 13},
    {VBS_OP_LEAKY_RELU, "LeakyRelu", 13},
    {VBS_OP_ELU, "Elu", 13},
    {VBS_OP_SELU, "Selu", 13},
    {VBS_OP_CELU, "Celu", 13},
    {VBS_OP_SIGMOID, "Sigmoid", 13},
    {VBS_OP_TANH, "Tanh", 13},
    {VBS_OP_HARD_SIGMOID, "HardSigmoid", 13},
    {VBS_OP_HARD_SWISH, "HardSwish", 14},
    {VBS_OP_GELU, "Gelu", 20},
    {VBS_OP_MISH, "Mish", 18},
    {VBS_OP_SOFTPLUS, "Softplus", 13},
    {VBS_OP_SOFTSIGN, "Softsign", 13},
    {VBS_OP_THRESHOLDED_RELU, "ThresholdedRelu", 13},
    {VBS_OP_SHRINK, "Shrink", 13},
    {VBS_OP_EXP, "Exp", 13},
    {VBS_OP_LOG, "Log", 13},
    {VBS_OP_SQRT, "Sqrt", 13},
    {VBS_OP_RECIPROCAL, "Reciprocal", 13},
    {VBS_OP_ABS, "Abs", 13},
    {VBS_OP_NEG, "Neg", 13},
    {VBS_OP_SIGN, "Sign", 13},
    {VBS_OP_FLOOR, "Floor", 13},
    {VBS_OP_CEIL, "Ceil", 13},
    {VBS_OP_ROUND, "Round", 13},
    {VBS_OP_ERF, "Erf", 13},
    {VBS_OP_SIN, "Sin", 13},
    {VBS_OP_COS, "Cos", 13},
    {VBS_OP_TAN, "Tan", 13},
    {VBS_OP_ASIN, "Asin", 13},
    {VBS_OP_ACOS, "Acos", 13},
    {VBS_OP_ATAN, "Atan", 13},
    {VBS_OP_SINH, "Sinh", 13},
    {VBS_OP_COSH, "Cosh", 13},
    {VBS_OP_ASINH, "Asinh", 13},
    {VBS_OP_ACOSH, "Acosh", 13},
    {VBS_OP_ATANH, "Atanh", 13},
    {VBS_OP_IDENTITY, "Identity", 13},
    /* operators of two inputs, or one and a constant */
    {VBS_OP_ADD, "Add", 13},
    {VBS_OP_SUB, "Sub", 13},
    {VBS_OP_MUL, "Mul", 13},
    {VBS_OP_DIV, "Div", 13},
    {VBS_OP_POW, "Pow", 13},
    {VBS_OP_MAX, "Max", 13},
    {VBS_OP_MIN, "Min", 13},
    {VBS_OP_PRELU, "PRelu", 13},
    {VBS_OP_EQUAL, "Equal", 13},
    {VBS_OP_LESS, "Less", 13},
    {VBS_OP_LESS_EQUAL, "LessOrEqual", 13},
    {VBS_OP_REMAINDER, "Mod", 13},
    {VBS_OP_MATMUL, "MatMul", 13},
    {VBS_OP_REDUCE_SUM, "ReduceSum", 13},
    {VBS_OP_REDUCE_MEAN, "ReduceMean", 13},
    {VBS_OP_REDUCE_MAX, "ReduceMax", 13},
    {VBS_OP_REDUCE_MIN, "ReduceMin", 13},
    {VBS_OP_REDUCE_PROD, "ReduceProd", 13},
    {VBS_OP_REDUCE_L1, "ReduceL1", 13},
    {VBS_OP_REDUCE_L2, "ReduceL2", 13},
    {VBS_OP_REDUCE_LOG_SUM, "ReduceLogSum", 13},
    {VBS_OP_REDUCE_LOG_SUM_EXP, "ReduceLogSumExp", 13},
    {VBS_OP_REDUCE_SUM_SQUARE, "ReduceSumSquare", 13},
    {VBS_OP_SOFTMAX, "Softmax", 13},
    {VBS_OP_LOGSOFTMAX, "LogSoftmax", 13},
    {VBS_OP_LAYER_NORM, "LayerNormalization", 17},
};

#define N_SIMPLE    (sizeof SIMPLE / sizeof SIMPLE[0])
#define LEAST_OPSET 13

static const char *node_name(enum vbs_op op)
{
    for (size_t i = 0; i < N_SIMPLE; i++)
        if (SIMPLE[i].op == op)
            return SIMPLE[i].name;
    return NULL;
}

static bool is_dilated(const struct vbs_window *window)
{
    for (int d = 0; d < VBS_MAX_SPATIAL; d++)
        if (window->dilation[d] > 1)
            return true;
    return false;
}

int vbs_export_opset(enum vbs_op op, const union vbs_attributes *attributes)
{
    if (op == VBS_OP_POOL_AVG && is_dilated(&attributes->pool.window))
        return 19;
    if (op == VBS_OP_PAD && attributes->pad.mode == VBS_PAD_WRAP)
        return 19;
    if (op == VBS_OP_RESIZE)
        return attributes->resize.coordinates == VBS_COORDINATES_HALF_PIXEL_SYMMETRIC ? 19 : 18;
    if (op == VBS_OP_GRID_SAMPLE)
        return 16;
    if (op == VBS_OP_DEFORM_CONV)
        return 19;
    if (op == VBS_OP_DFT)
        return 17;
    for (size_t i = 0; i < N_SIMPLE; i++)
        if (SIMPLE[i].op == op)
            return SIMPLE[i].since;
    return LEAST_OPSET;
}

/* ---- inputs that are constants ---- */

/* Makes [n], or where rank is above 1 [1, n, 1, ...] of that rank. */
static struct export_dims list_of(int64_t n, int rank)
{
    struct export_dims dims = {.n = rank, .dim = {n}};

    for (int d = 0; d < rank && rank > 1; d++)
        dims.dim[d] = d == 1 ? n : 1;
    return dims;
}

/* Adds a parameter of n values as an input; where the operator does not have it, a constant of as
 * many values. */
static enum vbs_status add_vector(struct export_operator *o, enum vbs_parameter what, int64_t n,
                                  int rank, struct export_node *node)
{
    const struct export_dims dims = list_of(n, rank);
    bool is_one = what == VBS_PARAMETER_GAMMA || what == VBS_PARAMETER_VARIANCE;
    char suffix[32];
    const char *name;

    snprintf(suffix, sizeof suffix, ".%s", vbs_parameter_word(what));
    if (vbs_parameter_count(o->e->network, o->layer, o->fused, what) > 0)
        VBS_TRY(vbs_export_parameter(o->e, o->layer, o->fused, what, &dims, &name));
    else
        VBS_TRY(vbs_export_fill(o->e, o->name, suffix, is_one ? 1 : 0, &dims, &name));
    vbs_export_reads(node, name);
    return VBS_OK;
}

/* Adds the operand of a layer as an input. */
static enum vbs_status add_operand(struct export_operator *o, struct export_node *node)
{
    const struct vbs_shape *shape = &o->l->operand;
    struct export_dims dims = {.n = shape->n_dims};
    const char *name;

    memcpy(dims.dim, shape->dim, (size_t)shape->n_dims * sizeof shape->dim[0]);
    VBS_TRY(vbs_export_weights(o, VBS_PARAMETER_OPERAND, &dims, false, &name));
    vbs_export_reads(node, name);
    return VBS_OK;
}

/* Adds the bias of a layer with weights as an input, where it has one. */
static enum vbs_status add_bias(struct export_operator *o, struct export_node *node)
{
    const char *name;

    if (!o->attributes->weighted.bias)
        return VBS_OK;
    VBS_TRY(vbs_export_bias(o, &name));
    vbs_export_reads(node, name);
    return VBS_OK;
}

#define EXACT_SIZE 128

/* Appends a number, of which the file has the nearest float, to the text of a hint: the bits of the
 * double. */
static void add_exact(char exact[EXACT_SIZE], const char *name, double value)
{
    size_t at = strlen(exact);
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    snprintf(exact + at, EXACT_SIZE - at, "%s%s=%016" PRIx64, at > 0 ? " " : "", name, bits);
}

/* ---- convolutions and pools ---- */

static void add_window(struct export_node *node, const struct vbs_window *window, int n)
{
    int64_t pads[2 * VBS_MAX_SPATIAL];

    for (int d = 0; d < n; d++) {
        pads[d] = window->pad_low[d];
        pads[d + n] = window->pad_high[d];
    }
    vbs_export_ints(node, "kernel_shape", window->kernel, n);
    vbs_export_ints(node, "strides", window->stride, n);
    vbs_export_ints(node, "pads", pads, 2 * n);
}

static enum vbs_status write_conv(struct export_operator *o)
{
    bool transposed = o->op == VBS_OP_CONV_TRANSPOSE;
    struct export_node node = vbs_export_node(transposed ? "ConvTranspose" : "Conv");
    const union vbs_attributes *a = o->attributes;
    const struct vbs_shape *view = &o->l->views[0];
    int64_t groups = a->weighted.groups;
    int n = view->n_dims - 1;
    struct export_dims dims = {.n = n + 2};
    const char *name;

    dims.dim[0] = transposed ? view->dim[0] : a->weighted.out_channels;
    dims.dim[1] = (transposed ? a->weighted.out_channels : view->dim[0]) / groups;
    memcpy(dims.dim + 2, a->weighted.window.kernel, (size_t)n * sizeof dims.dim[0]);
    vbs_export_reads(&node, o->in.name);
    VBS_TRY(vbs_export_weights(o, VBS_PARAMETER_WEIGHTS, &dims, false, &name));
    vbs_export_reads(&node, name);
    VBS_TRY(add_bias(o, &node));
    add_window(&node, &a->weighted.window, n);
    vbs_export_ints(&node, "dilations", a->weighted.window.dilation, n);
    vbs_export_int(&node, "group", groups);
    if (transposed)
        vbs_export_ints(&node, "output_padding", a->weighted.out_pad, n);
    return vbs_export_result(o, &node, NULL);
}

static enum vbs_status write_pool(struct export_operator *o)
{
    bool mean = o->op == VBS_OP_POOL_AVG;
    struct export_node node = vbs_export_node(mean ? "AveragePool" : "MaxPool");
    const union vbs_attributes *a = o->attributes;
    int n = o->l->views[0].n_dims - 1;

    vbs_export_reads(&node, o->in.name);
    add_window(&node, &a->pool.window, n);
    if (!mean || is_dilated(&a->pool.window))
        vbs_export_ints(&node, "dilations", a->pool.window.dilation, n);
    if (mean)
        vbs_export_int(&node, "count_include_pad", a->pool.pad_counts);
    return vbs_export_result(o, &node, NULL);
}

/* ---- products of matrices ---- */

static enum vbs_status write_vector_product(struct export_operator *o)
{
    struct exporter *e = o->e;
    const union vbs_attributes *a = o->attributes;
    const struct vbs_shape list = {1, {vbs_shape_elements(&o->l->views[0])}};
    const struct export_dims one = {2, {e->network->whole, list.dim[0]}};
    const struct export_dims weights = {2, {a->weighted.out_channels, list.dim[0]}};
    struct export_node node = vbs_export_node("Gemm");
    const char *name;

    VBS_TRY(vbs_export_reshape(e, &o->in, &one, &name));
    vbs_export_reads(&node, name);
    VBS_TRY(vbs_export_weights(o, VBS_PARAMETER_WEIGHTS, &weights, false, &name));
    vbs_export_reads(&node, name);
    VBS_TRY(add_bias(o, &node));
    vbs_export_int(&node, "transB", 1);
    return vbs_export_result(o, &node, NULL);
}

/* Gives the weights [O, I] as [I, O]: whole numbers are stored so, floats are transposed by a node,
 * because they are read from where they are when the file is written. */
static enum vbs_status turn_weights(struct export_operator *o, const char **turned)
{
    static const int64_t SWAP[] = {1, 0};
    struct exporter *e = o->e;
    const struct vbs_shape *view = &o->l->views[0];
    const struct export_dims dims = {
        2, {o->attributes->weighted.out_channels, view->dim[view->n_dims - 1]}};
    struct export_node turn = vbs_export_node("Transpose");
    const struct export_place none = {NULL, NULL};
    const char *name;

    if (vbs_export_has_whole(o))
        return vbs_export_weights(o, VBS_PARAMETER_WEIGHTS, &dims, true, turned);
    VBS_TRY(vbs_export_parameter(e, o->layer, -1, VBS_PARAMETER_WEIGHTS, &dims, &name));
    *turned = vbs_export_name(e, name, ".transposed");
    if (!*turned)
        return vbs_no_memory(e->ctx);
    vbs_export_reads(&turn, name);
    vbs_export_ints(&turn, "perm", SWAP, 2);
    return vbs_export_add(e, &turn, &none, *turned);
}

/* Multiplies every row by the weights, which are transposed for it. */
static enum vbs_status write_row_products(struct export_operator *o)
{
    const union vbs_attributes *a = o->attributes;
    struct export_node product = vbs_export_node("MatMul"), sum = vbs_export_node("Add");
    const char *name, *turned;

    VBS_TRY(turn_weights(o, &turned));
    vbs_export_reads(&product, o->in.name);
    vbs_export_reads(&product, turned);
    if (!a->weighted.bias)
        return vbs_export_result(o, &product, NULL);
    VBS_TRY(vbs_export_part(o, &product, ".product", &name));
    vbs_export_reads(&sum, name);
    VBS_TRY(add_vector(o, VBS_PARAMETER_BIAS, a->weighted.out_channels, 1, &sum));
    return vbs_export_result(o, &sum, NULL);
}

/* ---- pairs ---- */

static int largest(int a, int b)
{
    return a > b ? a : b;
}

/* Adds both operands of a pair as inputs. */
static enum vbs_status add_operands(struct export_operator *o, struct export_node *node)
{
    const struct vbs_layer *l = o->l;
    bool swapped = l->operand.n_dims > 0 && o->attributes->binary.swapped;
    int rank =
        largest(l->views[0].n_dims, l->n_inputs > 1 ? l->views[1].n_dims : l->operand.n_dims);
    const char *name;

    if (swapped)
        VBS_TRY(add_operand(o, node));
    VBS_TRY(vbs_export_input(o, 0, rank, &name));
    vbs_export_reads(node, name);
    if (l->n_inputs > 1) {
        VBS_TRY(vbs_export_input(o, 1, rank, &name));
        vbs_export_reads(node, name);
    } else if (!swapped) {
        VBS_TRY(add_operand(o, node));
    }
    return VBS_OK;
}

/* Compares: a truth value becomes a float. */
static enum vbs_status write_comparison(struct export_operator *o)
{
    struct export_node truth = vbs_export_node(node_name(o->op)), node = vbs_export_node("Cast");
    const char *name;

    VBS_TRY(add_operands(o, &truth));
    VBS_TRY(vbs_export_part(o, &truth, ".truth", &name));
    vbs_export_reads(&node, name);
    vbs_export_int(&node, "to", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT);
    return vbs_export_result(o, &node, NULL);
}

/* Chooses between the first operand and 0, by the second one as a truth value. */
static enum vbs_status write_keep(struct export_operator *o)
{
    static const struct export_dims ONE = {1, {1}};
    struct export_node pair = vbs_export_node(""), truth = vbs_export_node("Cast");
    struct export_node node = vbs_export_node("Where");
    const char *name;

    VBS_TRY(add_operands(o, &pair));
    vbs_export_reads(&truth, pair.few[1]);
    vbs_export_int(&truth, "to", ONNX__TENSOR_PROTO__DATA_TYPE__BOOL);
    VBS_TRY(vbs_export_part(o, &truth, ".truth", &name));
    vbs_export_reads(&node, name);
    vbs_export_reads(&node, pair.few[0]);
    VBS_TRY(vbs_export_fill(o->e, o->name, ".zero", 0, &ONE, &name));
    vbs_export_reads(&node, name);
    return vbs_export_result(o, &node, NULL);
}

static enum vbs_status write_pair(struct export_operator *o)
{
    struct export_node node = vbs_export_node(node_name(o->op));

    if (o->op == VBS_OP_EQUAL || o->op == VBS_OP_LESS || o->op == VBS_OP_LESS_EQUAL)
        return write_comparison(o);
    if (o->op == VBS_OP_KEEP)
        return write_keep(o);
    if (o->op == VBS_OP_REMAINDER)
        vbs_export_int(&node, "fmod", 1);
    VBS_TRY(add_operands(o, &node));
    return vbs_export_result(o, &node, NULL);
}

/* The whole part of a number is what a Cast makes of it. */
static enum vbs_status write_embed(struct export_operator *o)
{
    struct export_node cast = vbs_export_node("Cast"), node = vbs_export_node("Gather");
    const struct export_dims dims = {2, {o->l->operand.dim[0], o->l->operand.dim[1]}};
    const char *x, *rows, *table;

    VBS_TRY(vbs_export_input(o, 0, 0, &x));
    vbs_export_reads(&cast, x);
    vbs_export_int(&cast, "to", ONNX__TENSOR_PROTO__DATA_TYPE__INT64);
    VBS_TRY(vbs_export_part(o, &cast, ".rows", &rows));
    VBS_TRY(vbs_export_parameter(o->e, o->layer, o->fused, VBS_PARAMETER_OPERAND, &dims, &table));
    vbs_export_reads(&node, table);
    vbs_export_reads(&node, rows);
    return vbs_export_result(o, &node, NULL);
}

/* Positions are whole numbers in the file, which become floats. */
static enum vbs_status write_topk(struct export_operator *o)
{
    struct export_node node = vbs_export_node("TopK"), cast = vbs_export_node("Cast");
    const union vbs_attributes *a = o->attributes;
    const char *x, *k;

    VBS_TRY(vbs_export_input(o, 0, 0, &x));
    VBS_TRY(vbs_export_numbers(o->e, o->name, ".k", &a->topk.k, 1, NULL, &k));
    vbs_export_reads(&node, x);
    vbs_export_reads(&node, k);
    vbs_export_int(&node, "axis", a->topk.axis + !o->e->network->whole);
    vbs_export_int(&node, "largest", !a->topk.smallest);
    if (!a->topk.positions)
        return vbs_export_result(o, &node, NULL);
    node.more[0] = vbs_export_name(o->e, o->name, ".positions");
    node.n_more = 1;
    if (!node.more[0])
        return vbs_no_memory(o->e->ctx);
    VBS_TRY(vbs_export_part(o, &node, ".values", &x));
    vbs_export_reads(&cast, node.more[0]);
    vbs_export_int(&cast, "to", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT);
    return vbs_export_result(o, &cast, NULL);
}

/* Reads data, and the places of what is taken: the whole part of a number is what a Cast makes of
 * it. */
static enum vbs_status add_places(struct export_operator *o, struct export_node *node)
{
    struct export_node cast = vbs_export_node("Cast");
    const char *x, *places;

    VBS_TRY(vbs_export_input(o, 0, 0, &x));
    vbs_export_reads(node, x);
    VBS_TRY(vbs_export_input(o, 1, 0, &x));
    vbs_export_reads(&cast, x);
    vbs_export_int(&cast, "to", ONNX__TENSOR_PROTO__DATA_TYPE__INT64);
    VBS_TRY(vbs_export_part(o, &cast, ".places", &places));
    vbs_export_reads(node, places);
    return VBS_OK;
}

static enum vbs_status write_pick(struct export_operator *o)
{
    struct export_node node = vbs_export_node("GatherElements");

    VBS_TRY(add_places(o, &node));
    vbs_export_int(&node, "axis", o->attributes->pick.axis + !o->e->network->whole);
    return vbs_export_result(o, &node, NULL);
}

static enum vbs_status write_take(struct export_operator *o)
{
    struct export_node node = vbs_export_node("GatherND");

    VBS_TRY(add_places(o, &node));
    vbs_export_int(&node, "batch_dims", o->attributes->take.common + !o->e->network->whole);
    return vbs_export_result(o, &node, NULL);
}

/* Reads images, or points in them; those of one sample are samples of the node. */
static enum vbs_status add_images(struct export_operator *o, int index, struct export_node *node)
{
    const struct vbs_shape *view = &o->l->views[index];
    struct export_dims dims = {.n = view->n_dims, .dim = {-1}};
    const char *name;

    memcpy(dims.dim + 1, view->dim + 1, (size_t)(view->n_dims - 1) * sizeof view->dim[0]);
    if (view->n_dims == 3)
        VBS_TRY(vbs_export_input(o, index, 0, &name));
    else
        VBS_TRY(vbs_export_reshape(o->e, &o->e->values[o->l->inputs[index]], &dims, &name));
    vbs_export_reads(node, name);
    return VBS_OK;
}

/* Appends a node that makes images; those of one sample, which it has as samples, are joined. */
static enum vbs_status give_images(struct export_operator *o, struct export_node *node)
{
    struct export_node join = vbs_export_node("Reshape");
    struct export_dims dims = vbs_export_channels(o->e, &o->l->shape);
    const char *made, *shape;

    if (o->l->shape.n_dims == 3)
        return vbs_export_result(o, node, NULL);
    VBS_TRY(vbs_export_part(o, node, ".images", &made));
    dims.dim[0] = -1;
    VBS_TRY(vbs_export_numbers(o->e, o->name, ".shape", dims.dim, dims.n, NULL, &shape));
    vbs_export_reads(&join, made);
    vbs_export_reads(&join, shape);
    return vbs_export_result(o, &join, NULL);
}

static enum vbs_status write_grid_sample(struct export_operator *o)
{
    static const char *const OLD[] = {"nearest", "bilinear", "bicubic"}; /* before version 20 */
    static const char *const MODES[] = {"nearest", "linear", "cubic"};
    static const char *const PADDINGS[] = {"zeros", "border", "reflection"};
    const union vbs_attributes *a = o->attributes;
    struct export_node node = vbs_export_node("GridSample");

    for (int i = 0; i < 2; i++)
        VBS_TRY(add_images(o, i, &node));
    vbs_export_word(&node, "mode", (o->e->opset < 20 ? OLD : MODES)[a->grid_sample.mode]);
    vbs_export_word(&node, "padding_mode", PADDINGS[a->grid_sample.padding]);
    vbs_export_int(&node, "align_corners", a->grid_sample.align_corners);
    return give_images(o, &node);
}

static enum vbs_status write_deform_conv(struct export_operator *o)
{
    const union vbs_attributes *a = o->attributes;
    const struct vbs_shape *view = &o->l->views[0];
    const struct vbs_window *window = &a->weighted.window;
    const struct export_dims dims = {4,
                                     {a->weighted.out_channels,
                                      view->dim[view->n_dims - 3] / a->weighted.groups,
                                      window->kernel[0], window->kernel[1]}};
    struct export_node node = vbs_export_node("DeformConv");
    const char *name;

    VBS_TRY(add_images(o, 0, &node));
    VBS_TRY(vbs_export_weights(o, VBS_PARAMETER_WEIGHTS, &dims, false, &name));
    vbs_export_reads(&node, name);
    VBS_TRY(add_images(o, 1, &node));
    VBS_TRY(add_bias(o, &node));
    if (o->l->n_inputs > 2) {
        if (!a->weighted.bias)
            vbs_export_reads(&node, "");
        VBS_TRY(add_images(o, 2, &node));
    }
    add_window(&node, window, 2);
    vbs_export_ints(&node, "dilations", window->dilation, 2);
    vbs_export_int(&node, "group", a->weighted.groups);
    vbs_export_int(&node, "offset_group", a->weighted.offset_groups);
    return give_images(o, &node);
}

static enum vbs_status write_dft(struct export_operator *o)
{
    const union vbs_attributes *a = o->attributes;
    const int64_t axis = a->dft.axis + !o->e->network->whole;
    const struct export_dims scalar = {.n = 0};
    struct export_node node = vbs_export_node("DFT");
    const char *name;

    VBS_TRY(vbs_export_input(o, 0, 0, &name));
    vbs_export_reads(&node, name);
    VBS_TRY(vbs_export_numbers(o->e, o->name, ".length", &a->dft.n, 1, &scalar, &name));
    vbs_export_reads(&node, name);
    if (o->e->opset < 20) {
        vbs_export_int(&node, "axis", axis);
    } else {
        VBS_TRY(vbs_export_numbers(o->e, o->name, ".axis", &axis, 1, &scalar, &name));
        vbs_export_reads(&node, name);
    }
    vbs_export_int(&node, "inverse", a->dft.inverse);
    vbs_export_int(&node, "onesided", a->dft.onesided);
    return vbs_export_result(o, &node, NULL);
}

static enum vbs_status write_concat(struct export_operator *o)
{
    struct export_node node = vbs_export_node("Concat");
    const char *name;

    node.inputs = vbs_arena_alloc(&o->e->arena, (size_t)o->l->n_inputs, sizeof *node.inputs);
    if (!node.inputs)
        return vbs_no_memory(o->e->ctx);
    for (int i = 0; i < o->l->n_inputs; i++) {
        VBS_TRY(vbs_export_input(o, i, 0, &name));
        vbs_export_reads(&node, name);
    }
    vbs_export_int(&node, "axis", o->attributes->concat.axis + !o->e->network->whole);
    return vbs_export_result(o, &node, NULL);
}

/* ---- normalisations ---- */

/* Adds epsilon, and what a hint has to say. An epsilon of 0 is the default, as one that is left
 * out. */
static void add_epsilon(const struct export_operator *o, struct export_node *node,
                        char exact[EXACT_SIZE])
{
    double epsilon = o->attributes->norm.epsilon;

    if (!o->attributes->norm.affine)
        snprintf(exact, EXACT_SIZE, "plain");
    if (epsilon == 0)
        return;
    vbs_export_real(node, "epsilon", epsilon);
    add_exact(exact, "epsilon", epsilon);
}

static enum vbs_status write_norm(struct export_operator *o)
{
    static const enum vbs_parameter WHAT[] = {VBS_PARAMETER_GAMMA, VBS_PARAMETER_BETA,
                                              VBS_PARAMETER_MEAN, VBS_PARAMETER_VARIANCE};
    bool batch = o->op == VBS_OP_BATCHNORM;
    struct export_node node =
        vbs_export_node(batch ? "BatchNormalization" : "InstanceNormalization");
    char exact[EXACT_SIZE] = "";

    vbs_export_reads(&node, o->in.name);
    for (int i = 0; i < (batch ? 4 : 2); i++)
        VBS_TRY(add_vector(o, WHAT[i], o->in.dims.dim[1], 1, &node));
    add_epsilon(o, &node, exact);
    return vbs_export_result(o, &node, exact);
}

static enum vbs_status write_layer_norm(struct export_operator *o)
{
    static const enum vbs_parameter WHAT[] = {VBS_PARAMETER_GAMMA, VBS_PARAMETER_BETA};
    static const char *const SUFFIX[] = {".gamma", ".beta"};
    struct export_node node = vbs_export_node("LayerNormalization");
    const struct vbs_shape *view = &o->l->views[0];
    int axis = o->attributes->norm.axis;
    struct export_dims row = {.n = view->n_dims - axis};
    char exact[EXACT_SIZE] = "";
    const char *name;

    memcpy(row.dim, view->dim + axis, (size_t)row.n * sizeof row.dim[0]);
    vbs_export_reads(&node, o->in.name);
    for (int i = 0; i < 2; i++) {
        if (o->attributes->norm.affine)
            VBS_TRY(vbs_export_parameter(o->e, o->layer, o->fused, WHAT[i], &row, &name));
        else
            VBS_TRY(vbs_export_fill(o->e, o->name, SUFFIX[i], i == 0, &row, &name));
        vbs_export_reads(&node, name);
    }
    vbs_export_int(&node, "axis", axis + !o->e->network->whole);
    add_epsilon(o, &node, exact);
    return vbs_export_result(o, &node, exact);
}

static enum vbs_status write_scale(struct export_operator *o)
{
    struct export_node product = vbs_export_node("Mul"), sum = vbs_export_node("Add");
    int64_t channels = o->in.dims.dim[1];
    const char *name;

    vbs_export_reads(&product, o->in.name);
    VBS_TRY(add_vector(o, VBS_PARAMETER_GAMMA, channels, o->in.dims.n, &product));
    if (!o->attributes->scale.bias)
        return vbs_export_result(o, &product, NULL);
    VBS_TRY(vbs_export_part(o, &product, ".product", &name));
    vbs_export_reads(&sum, name);
    VBS_TRY(add_vector(o, VBS_PARAMETER_BETA, channels, o->in.dims.n, &sum));
    return vbs_export_result(o, &sum, NULL);
}

static enum vbs_status write_lrn(struct export_operator *o)
{
    struct export_node node = vbs_export_node("LRN");
    const union vbs_attributes *a = o->attributes;
    char exact[EXACT_SIZE] = "";

    vbs_export_reads(&node, o->in.name);
    vbs_export_int(&node, "size", a->lrn.size);
    vbs_export_real(&node, "alpha", a->lrn.alpha);
    vbs_export_real(&node, "beta", a->lrn.beta);
    vbs_export_real(&node, "bias", a->lrn.k);
    add_exact(exact, "alpha", a->lrn.alpha);
    add_exact(exact, "beta", a->lrn.beta);
    add_exact(exact, "bias", a->lrn.k);
    return vbs_export_result(o, &node, exact);
}

/* ---- value by value ---- */

/* Adds a number as an input. */
static enum vbs_status add_number(struct export_operator *o, const char *suffix, double value,
                                  struct export_node *node)
{
    const struct export_dims scalar = {.n = 0};
    const char *name;

    VBS_TRY(vbs_export_fill(o->e, o->name, suffix, (float)value, &scalar, &name));
    vbs_export_reads(node, name);
    return VBS_OK;
}

static enum vbs_status write_clip(struct export_operator *o)
{
    struct export_node node = vbs_export_node("Clip");
    double low = o->attributes->clip.low, high = o->attributes->clip.high;
    char exact[EXACT_SIZE] = "";

    vbs_export_reads(&node, o->in.name);
    if (low > -FLT_MAX)
        VBS_TRY(add_number(o, ".low", low, &node));
    else
        vbs_export_reads(&node, "");
    if (high < FLT_MAX)
        VBS_TRY(add_number(o, ".high", high, &node));
    add_exact(exact, "min", low);
    add_exact(exact, "max", high);
    return vbs_export_result(o, &node, exact);
}

static enum vbs_status write_linear(struct export_operator *o)
{
    struct export_node product = vbs_export_node("Mul"), sum = vbs_export_node("Add");
    const union vbs_attributes *a = o->attributes;
    const char *name;
    char exact[EXACT_SIZE] = "";

    vbs_export_reads(&product, o->in.name);
    VBS_TRY(add_number(o, ".factor", a->linear.factor, &product));
    VBS_TRY(vbs_export_part(o, &product, ".product", &name));
    vbs_export_reads(&sum, name);
    VBS_TRY(add_number(o, ".shift", a->linear.shift, &sum));
    add_exact(exact, "factor", a->linear.factor);
    add_exact(exact, "shift", a->linear.shift);
    return vbs_export_result(o, &sum, exact);
}

static enum vbs_status write_swish(struct export_operator *o)
{
    struct export_node gate = vbs_export_node("Sigmoid"), product = vbs_export_node("Mul");
    const char *name;

    vbs_export_reads(&gate, o->in.name);
    VBS_TRY(vbs_export_part(o, &gate, ".gate", &name));
    vbs_export_reads(&product, o->in.name);
    vbs_export_reads(&product, name);
    return vbs_export_result(o, &product, NULL);
}

/* Adds the attributes of an operator that is one node; exact gets the numbers that floats do not
 * hold. */
static void add_simple(const struct export_operator *o, struct export_node *node,
                       char exact[EXACT_SIZE])
{
    const union vbs_attributes *a = o->attributes;
    const char *first = "alpha", *second = NULL;
    double x = 0, y = 0;

    switch (o->op) {
    case VBS_OP_LEAKY_RELU:
        x = a->leaky_relu.slope;
        break;
    case VBS_OP_ELU:
    case VBS_OP_CELU:
        x = a->elu.alpha;
        break;
    case VBS_OP_THRESHOLDED_RELU:
        x = a->thresholded_relu.threshold;
        break;
    case VBS_OP_SELU:
        x = a->selu.alpha;
        y = a->selu.gamma;
        second = "gamma";
        break;
    case VBS_OP_HARD_SIGMOID:
        x = a->hard_sigmoid.slope;
        y = a->hard_sigmoid.offset;
        second = "beta";
        break;
    case VBS_OP_SHRINK:
        first = "lambd";
        x = a->shrink.lambda;
        y = a->shrink.bias;
        second = "bias";
        break;
    case VBS_OP_GELU:
        vbs_export_word(node, "approximate", a->gelu.by_tanh ? "tanh" : "none");
        return;
    default:
        return;
    }
    vbs_export_real(node, first, x);
    add_exact(exact, first, x);
    if (second) {
        vbs_export_real(node, second, y);
        add_exact(exact, second, y);
    }
}

static enum vbs_status write_simple(struct export_operator *o)
{
    struct export_node node = vbs_export_node(node_name(o->op));
    char exact[EXACT_SIZE] = "";

    vbs_export_reads(&node, o->in.name);
    add_simple(o, &node, exact);
    return vbs_export_result(o, &node, exact);
}

static enum vbs_status write_softmax(struct export_operator *o)
{
    struct export_node node = vbs_export_node(node_name(o->op));

    vbs_export_reads(&node, o->in.name);
    vbs_export_int(&node, "axis", o->attributes->softmax.axis + !o->e->network->whole);
    return vbs_export_result(o, &node, NULL);
}

/* ---- reductions ---- */

static enum vbs_status write_reduce(struct export_operator *o)
{
    struct export_node node = vbs_export_node(node_name(o->op));
    const struct vbs_shape *view = &o->l->views[0];
    bool as_input = o->op == VBS_OP_REDUCE_SUM || o->e->opset >= 18;
    int64_t axes[VBS_MAX_DIMS + 1];
    const char *name;
    int n = 0;

    vbs_export_reads(&node, o->in.name);
    for (int d = 0; d < view->n_dims; d++)
        if (o->attributes->reduce.axes >> d & 1)
            axes[n++] = d + !o->e->network->whole;
    if (n == 0) { /* no axes are all axes: one more, of 1, is reduced instead */
        struct export_dims wide = o->in.dims;
        struct export_value before = o->in;

        wide.dim[wide.n++] = 1;
        VBS_TRY(vbs_export_reshape(o->e, &before, &wide, &name));
        node.few[0] = name;
        axes[n++] = wide.n - 1;
        vbs_export_int(&node, "keepdims", 0);
    } else {
        vbs_export_int(&node, "keepdims", 1);
    }
    if (as_input) {
        VBS_TRY(vbs_export_numbers(o->e, o->name, ".axes", axes, n, NULL, &name));
        vbs_export_reads(&node, name);
    } else {
        vbs_export_ints(&node, "axes", axes, n);
    }
    return vbs_export_result(o, &node, NULL);
}

/* ---- all ---- */

static enum vbs_status write_weighted(struct export_operator *o)
{
    if (o->op != VBS_OP_FC)
        return write_conv(o);
    return o->attributes->weighted.rows ? write_row_products(o) : write_vector_product(o);
}

static enum vbs_status write_other(struct export_operator *o)
{
    switch (o->op) {
    case VBS_OP_POOL_MAX:
    case VBS_OP_POOL_AVG:
        return write_pool(o);
    case VBS_OP_LRN:
        return write_lrn(o);
    case VBS_OP_CONCAT:
        return write_concat(o);
    case VBS_OP_SOFTMAX:
    case VBS_OP_LOGSOFTMAX:
        return write_softmax(o);
    case VBS_OP_BATCHNORM:
    case VBS_OP_INSTANCE_NORM:
        return write_norm(o);
    case VBS_OP_LAYER_NORM:
        return write_layer_norm(o);
    case VBS_OP_SCALE:
        return write_scale(o);
    case VBS_OP_MATMUL:
        return write_pair(o);
    case VBS_OP_EMBED:
        return write_embed(o);
    case VBS_OP_TOPK:
        return write_topk(o);
    case VBS_OP_PICK:
        return write_pick(o);
    case VBS_OP_TAKE:
        return write_take(o);
    case VBS_OP_GRID_SAMPLE:
        return write_grid_sample(o);
    case VBS_OP_DEFORM_CONV:
        return write_deform_conv(o);
    case VBS_OP_DFT:
        return write_dft(o);
    case VBS_OP_RESIZE:
        return vbs_export_move(o);
    case VBS_OP_RNN:
    case VBS_OP_GRU:
    case VBS_OP_LSTM:
        return vbs_export_recurrent(o);
    default:
        return write_weighted(o);
    }
}

/* A new operator comes last in the list. Before its name replaces the last one here, it needs a
 * line in SIMPLE, or a function above, in moves.c or in recurrent.c. */
_Static_assert(VBS_OP_DFT + 1 == VBS_N_OPS, "a new operator: write its nodes");

enum vbs_status vbs_export_operator(struct export_operator *o)
{
    switch (vbs_op_class(o->op)) {
    case VBS_CLASS_UNARY:
        return o->op == VBS_OP_CLIP     ? write_clip(o)
               : o->op == VBS_OP_LINEAR ? write_linear(o)
               : o->op == VBS_OP_SWISH  ? write_swish(o)
                                        : write_simple(o);
    case VBS_CLASS_BINARY:
        return write_pair(o);
    case VBS_CLASS_REDUCE:
        return write_reduce(o);
    case VBS_CLASS_MOVE:
        return vbs_export_move(o);
    default:
        return write_other(o);
    }
}
