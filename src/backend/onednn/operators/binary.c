/*
 * Operators of two operands, of which either may be broadcast or a constant. Where one operand has
 * the output's shape, oneDNN's primitives compute most operators; where both are broadcast, or the
 * library has only its reference, loops do, and of max and min, of which the library's leave out
 * what is no number.
 */
#include "backend/onednn/operators/operators.h"

#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/rows/rows.h"
#include "base/fail.h"
#include "model/network/network.h"

#include <math.h>

/* An operand, in the order of the definition. */
struct od_side {
    bool constant;
    int input;              /* index of the input, if it is no constant */
    struct vbs_shape shape; /* of as many dimensions as the output */
    bool full;              /* it has the output's shape */
};

struct od_pair {
    struct od_side first, second;
};

static struct od_side side(const struct od_build *b, bool constant, int input)
{
    const struct vbs_shape *out = &b->l->shape;
    const struct vbs_shape *shape = constant ? &b->l->operand : &od_input(b, input)->shape;
    int missing = out->n_dims - shape->n_dims;
    struct od_side made = {.constant = constant, .input = input, .shape = *out};

    for (int i = 0; i < out->n_dims; i++)
        made.shape.dim[i] = i < missing ? 1 : shape->dim[i - missing];
    made.full = vbs_shape_equal(&made.shape, out);
    return made;
}

static struct od_pair sides(const struct od_build *b)
{
    bool constant = b->l->operand.n_dims > 0, swapped = constant && b->l->attributes.binary.swapped;
    struct od_side first = side(b, false, 0);
    struct od_side second = side(b, constant, 1);

    return swapped ? (struct od_pair){second, first} : (struct od_pair){first, second};
}

/* Gives whether the operand is broadcast over everything behind the channels. */
static bool is_by_channel(const struct od_side *s)
{
    for (int i = 1; i < s->shape.n_dims; i++)
        if (s->shape.dim[i] != 1)
            return false;
    return true;
}

/* Gives whether the operand has values for every channel of an output in blocks, so that it is in
 * blocks too; else its only channel is plain. */
static bool has_blocks(const struct od_build *b, const struct od_side *s)
{
    return od_output(b)->canonical == OD_BLOCKED && s->shape.dim[0] == b->l->shape.dim[0];
}

/* Gives the operand as a tensor in the layout in which the kernel reads it. */
static struct od_tensor side_tensor(const struct od_build *b, const struct od_side *s)
{
    struct od_tensor tensor = {.shape = s->shape,
                               .channels = s->shape.dim[0],
                               .positions = vbs_shape_elements(&s->shape) / s->shape.dim[0],
                               .n_spatial = od_output(b)->n_spatial};

    for (int i = 0; i < VBS_MAX_SPATIAL && i + 1 < s->shape.n_dims; i++)
        tensor.spatial[i] = s->shape.dim[i + 1];
    if (s->shape.n_dims > VBS_MAX_SPATIAL + 1)
        tensor.spatial[0] = tensor.positions;
    if (od_output(b)->canonical == OD_CHANNELS_LAST)
        return od_in_layout(b->session, &tensor, OD_CHANNELS_LAST);
    return od_in_layout(b->session, &tensor, has_blocks(b, s) ? OD_BLOCKED : OD_PLAIN);
}

/* Makes a memory object of the operand; md: the description of it for the step. */
static enum vbs_status side_memory(struct od_build *b, const struct od_side *s,
                                   const dnnl_memory_desc_t *md, dnnl_memory_t *memory,
                                   int64_t *weight_bytes, int *format)
{
    struct od_tensor tensor = side_tensor(b, s);
    const struct od_packed *packed;

    if (!s->constant)
        return od_source(b, s->input, tensor.canonical, md, memory);
    VBS_TRY(od_operand(b, &tensor, &packed));
    *weight_bytes = packed->bytes;
    *format = packed->number;
    return od_kernel_memory(b, md, OD_FIXED, 0, packed->data, memory);
}

/* ---- one operand has the output's shape: primitives ---- */

static bool algorithm_of(enum vbs_op op, dnnl_alg_kind_t *algorithm)
{
    static const struct {
        enum vbs_op op;
        dnnl_alg_kind_t algorithm;
    } list[] = {
        {VBS_OP_ADD, dnnl_binary_add},       {VBS_OP_SUB, dnnl_binary_sub},
        {VBS_OP_MUL, dnnl_binary_mul},       {VBS_OP_DIV, dnnl_binary_div},
        {VBS_OP_EQUAL, dnnl_binary_eq},      {VBS_OP_LESS, dnnl_binary_lt},
        {VBS_OP_LESS_EQUAL, dnnl_binary_le},
    };

    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        if (list[i].op == op) {
            *algorithm = list[i].algorithm;
            return true;
        }
    return op == VBS_OP_PRELU;
}

/* The operation of a primitive: full op other. negated: the result is the negative of the
 * difference. */
struct arrangement {
    struct od_side full, other;
    bool negated;
};

static bool arrange(enum vbs_op op, const struct od_pair *pair, struct arrangement *a)
{
    bool ordered =
        op == VBS_OP_DIV || op == VBS_OP_PRELU || op == VBS_OP_LESS || op == VBS_OP_LESS_EQUAL;

    if (!pair->first.full && (!pair->second.full || ordered))
        return false;
    if (pair->first.full && !pair->first.constant)
        *a = (struct arrangement){pair->first, pair->second, false};
    else if (pair->second.full && !pair->second.constant && !ordered)
        *a = (struct arrangement){pair->second, pair->first, op == VBS_OP_SUB};
    else
        return false;
    return true;
}

/* Describes samples in blocks: the other operand is as large, or has one value per channel. */
static enum vbs_status describe_blocked(struct od_build *b, const struct od_side *other,
                                        dnnl_memory_desc_t *full_md, dnnl_memory_desc_t *other_md,
                                        bool *possible)
{
    struct od_tensor tensor = side_tensor(b, other);
    enum vbs_status status = od_describe(b, od_output(b), b->batch, OD_BLOCKED, true, full_md);

    *possible = has_blocks(b, other) && (other->full || is_by_channel(other));
    if (status != VBS_OK || !*possible)
        return status;
    return od_describe(b, &tensor, other->constant ? 1 : b->batch, OD_BLOCKED, true, other_md);
}

/* Describes samples with the channels last. */
static enum vbs_status describe_last(struct od_build *b, const struct od_side *other,
                                     dnnl_memory_desc_t *full_md, dnnl_memory_desc_t *other_md)
{
    struct od_tensor tensor = side_tensor(b, other);

    VBS_TRY(od_describe(b, od_output(b), b->batch, OD_CHANNELS_LAST, true, full_md));
    return od_describe(b, &tensor, other->constant ? 1 : b->batch, OD_CHANNELS_LAST, true,
                       other_md);
}

/* Describes plain samples: neighbouring dimensions that are broadcast alike become one. */
static enum vbs_status describe_plain(struct od_build *b, const struct od_side *other,
                                      dnnl_memory_desc_t *full_md, dnnl_memory_desc_t *other_md)
{
    const struct vbs_shape *out = &b->l->shape;
    dnnl_dims_t full_dims = {1}, other_dims = {1};
    int n = 0;

    for (int i = -1; i < out->n_dims; i++) {
        int64_t size = i < 0 ? b->batch : out->dim[i];
        int64_t read = i >= 0 ? other->shape.dim[i] : other->constant ? 1 : b->batch;

        if (size == 1)
            continue;
        if (n > 0 && (other_dims[n - 1] == full_dims[n - 1]) == (read == size)) {
            full_dims[n - 1] *= size;
            other_dims[n - 1] *= read;
        } else {
            full_dims[n] = size;
            other_dims[n++] = read;
        }
    }
    n = n > 0 ? n : 1;
    VBS_TRY(od_describe_dense(b, n, full_dims, full_md));
    return od_describe_dense(b, n, other_dims, other_md);
}

static enum vbs_status describe_pair(struct od_build *b, const struct arrangement *a,
                                     dnnl_memory_desc_t *full_md, dnnl_memory_desc_t *other_md,
                                     bool *possible)
{
    if (od_output(b)->canonical == OD_BLOCKED)
        return describe_blocked(b, &a->other, full_md, other_md, possible);
    *possible = true;
    /* Operands of one shape are the same elements in any order. */
    if (od_output(b)->canonical == OD_CHANNELS_LAST && !a->other.full)
        return describe_last(b, &a->other, full_md, other_md);
    return describe_plain(b, &a->other, full_md, other_md);
}

/* Chooses the implementation; *pd is null where there is only the reference. */
static enum vbs_status choose(struct od_build *b, const struct arrangement *a,
                              const dnnl_memory_desc_t *full_md, const dnnl_memory_desc_t *other_md,
                              int *n_fused, dnnl_primitive_desc_t *pd)
{
    dnnl_alg_kind_t algorithm = dnnl_alg_kind_undef;
    dnnl_status_t dnnl = dnnl_unimplemented;
    dnnl_binary_desc_t binary;
    dnnl_prelu_desc_t prelu;
    enum vbs_status status;

    if (algorithm_of(b->l->op, &algorithm))
        dnnl = algorithm == dnnl_alg_kind_undef
                   ? dnnl_prelu_forward_desc_init(&prelu, dnnl_forward_inference, full_md, other_md)
                   : dnnl_binary_desc_init(&binary, algorithm, full_md, other_md, full_md);
    if (dnnl != dnnl_success)
        return VBS_OK;
    *n_fused = a->negated ? 0 : od_fusable(b, 0);
    status = od_best(b, algorithm == dnnl_alg_kind_undef ? (const void *)&prelu : &binary, 0,
                     n_fused, pd);
    if (status == VBS_UNSUPPORTED)
        return VBS_OK;
    if (status == VBS_OK && od_is_reference(*pd)) {
        dnnl_primitive_desc_destroy(*pd);
        *pd = NULL;
    }
    return status;
}

static enum vbs_status primitive_steps(struct od_build *b, const struct arrangement *a,
                                       const_dnnl_primitive_desc_t pd,
                                       const dnnl_memory_desc_t *full_md,
                                       const dnnl_memory_desc_t *other_md, int64_t *weight_bytes,
                                       int *format)
{
    static const struct od_eltwise negative = {dnnl_eltwise_linear, -1, 0};
    dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC_0, NULL},
                              {b->l->op == VBS_OP_PRELU ? DNNL_ARG_WEIGHTS : DNNL_ARG_SRC_1, NULL},
                              {DNNL_ARG_DST, NULL}};

    VBS_TRY(side_memory(b, &a->full, full_md, &args[0].memory, weight_bytes, format));
    VBS_TRY(side_memory(b, &a->other, other_md, &args[1].memory, weight_bytes, format));
    VBS_TRY(od_kernel_memory(b, full_md, OD_DST, 0, NULL, &args[2].memory));
    VBS_TRY(od_kernel_step(b, pd, 3, args));
    if (a->negated)
        VBS_TRY(od_eltwise_step(b, &negative, full_md, args[2].memory, args[2].memory));
    return VBS_OK;
}

/* Tries a primitive; *made: a kernel was begun and has all steps but those of fused operators. */
static enum vbs_status try_primitive(struct od_build *b, const struct od_pair *pair, int *n_fused,
                                     int64_t *weight_bytes, int *format, bool *made)
{
    struct arrangement a;
    dnnl_memory_desc_t full_md, other_md;
    dnnl_primitive_desc_t pd = NULL;
    bool possible = false;
    enum vbs_status status = VBS_OK;

    *made = false;
    if (!arrange(b->l->op, pair, &a))
        return VBS_OK;
    status = describe_pair(b, &a, &full_md, &other_md, &possible);
    if (status == VBS_OK && possible)
        status = choose(b, &a, &full_md, &other_md, n_fused, &pd);
    *made = pd != NULL;
    if (status == VBS_OK && pd)
        status = od_kernel_begin_with(b, pd);
    if (status == VBS_OK && pd)
        status = primitive_steps(b, &a, pd, &full_md, &other_md, weight_bytes, format);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

/* ---- a constant of one value: an operator on values ---- */

static bool with_value(const struct od_build *b, double value, struct od_eltwise *operation)
{
    bool swapped = b->l->attributes.binary.swapped;
    float v = (float)value;
    int exponent;

    switch (b->l->op) {
    case VBS_OP_ADD:
        *operation = (struct od_eltwise){dnnl_eltwise_linear, 1, v};
        return true;
    case VBS_OP_SUB:
        *operation = swapped ? (struct od_eltwise){dnnl_eltwise_linear, -1, v}
                             : (struct od_eltwise){dnnl_eltwise_linear, 1, -v};
        return true;
    case VBS_OP_MUL:
        *operation = (struct od_eltwise){dnnl_eltwise_linear, v, -0.0F};
        return true;
    case VBS_OP_DIV:
        *operation = swapped ? (struct od_eltwise){dnnl_eltwise_pow, v, -1}
                             : (struct od_eltwise){dnnl_eltwise_linear, 1 / v, -0.0F};
        /* the product with another reciprocal may be below a whole number that the quotient is */
        return swapped || (frexpf(fabsf(v), &exponent) == 0.5F && isfinite(1 / v));
    case VBS_OP_MAX:
        *operation = (struct od_eltwise){dnnl_eltwise_clip, v, INFINITY};
        return true;
    case VBS_OP_MIN:
        *operation = (struct od_eltwise){dnnl_eltwise_clip, -INFINITY, v};
        return true;
    case VBS_OP_PRELU:
        *operation = (struct od_eltwise){dnnl_eltwise_relu, v, 0};
        return !swapped;
    default:
        *operation = (struct od_eltwise){dnnl_eltwise_pow, 1, v};
        return b->l->op == VBS_OP_POW && !swapped;
    }
}

static enum vbs_status try_value(struct od_build *b, const struct od_pair *pair, bool *made)
{
    const struct od_side *constant = pair->first.constant ? &pair->first : &pair->second;
    const struct od_side *other = pair->first.constant ? &pair->second : &pair->first;
    struct od_eltwise operation;
    dnnl_memory_t from, to;
    dnnl_memory_desc_t md;
    float value = 0;
    enum vbs_status status;

    *made = false;
    if (!constant->constant || vbs_shape_elements(&constant->shape) != 1 || !other->full)
        return VBS_OK;
    status =
        vbs_parameter_values(b->ctx, b->network, b->layer, -1, VBS_PARAMETER_OPERAND, 0, 1, &value);
    if (status != VBS_OK || !with_value(b, value, &operation))
        return status;
    *made = true;
    VBS_TRY(od_describe(b, od_output(b), b->batch, od_output(b)->canonical, true, &md));
    VBS_TRY(od_kernel_begin(b, "eltwise"));
    VBS_TRY(od_source(b, other->input, od_output(b)->canonical, &md, &from));
    VBS_TRY(od_kernel_memory(b, &md, OD_DST, 0, NULL, &to));
    return od_eltwise_step(b, &operation, &md, from, to);
}

/* ---- everything else: loops ---- */

#define LOOPS(name, expression)                                                                    \
    static void name##_row(const void *plan, const struct od_axis *axis, int64_t first, int64_t n, \
                           void *const *at)                                                        \
    {                                                                                              \
        int64_t step = axis->stride[0], a_step = axis->stride[1], b_step = axis->stride[2];        \
        float *to = (float *)at[0] + first * step;                                                 \
        const float *a = (float *)at[1] + first * a_step, *b = (float *)at[2] + first * b_step;    \
                                                                                                   \
        (void)plan;                                                                                \
        for (int64_t i = 0; i < n; i++) {                                                          \
            float x = a[i * a_step], y = b[i * b_step];                                            \
                                                                                                   \
            to[i * step] = (expression);                                                           \
        }                                                                                          \
    }

LOOPS(add, x + y)
LOOPS(sub, x - y)
LOOPS(mul, x *y)
LOOPS(div, x / y)
LOOPS(pow, powf(x, y))
LOOPS(prelu, x < 0 ? x * y : x)
LOOPS(equal, x == y)
LOOPS(less, x < y)
LOOPS(less_equal, x <= y)
LOOPS(keep, y != 0 ? x : 0)
LOOPS(remainder, fmodf(x, y))

/* Calls a loop over floats side by side, for values that are farther apart one by one. */
static void choose_row(od_choice *choice, const struct od_axis *axis, int64_t first, int64_t n,
                       void *const *at)
{
    int64_t step = axis->stride[0], a_step = axis->stride[1], b_step = axis->stride[2];
    bool whole = step == 1 && (a_step | 1) == 1 && (b_step | 1) == 1;

    for (int64_t i = first; i < first + n; i += whole ? n : 1)
        choice((float *)at[1] + i * a_step, a_step & 1, (float *)at[2] + i * b_step, b_step & 1,
               whole ? n : 1, (float *)at[0] + i * step);
}

static void max_row(const void *plan, const struct od_axis *axis, int64_t first, int64_t n,
                    void *const *at)
{
    (void)plan;
    choose_row(od_rows()->larger, axis, first, n, at);
}

static void min_row(const void *plan, const struct od_axis *axis, int64_t first, int64_t n,
                    void *const *at)
{
    (void)plan;
    choose_row(od_rows()->smaller, axis, first, n, at);
}

static od_row *row_of(enum vbs_op op)
{
    switch (op) {
    case VBS_OP_ADD:
        return add_row;
    case VBS_OP_SUB:
        return sub_row;
    case VBS_OP_MUL:
        return mul_row;
    case VBS_OP_DIV:
        return div_row;
    case VBS_OP_MAX:
        return max_row;
    case VBS_OP_MIN:
        return min_row;
    case VBS_OP_POW:
        return pow_row;
    case VBS_OP_EQUAL:
        return equal_row;
    case VBS_OP_LESS:
        return less_row;
    case VBS_OP_LESS_EQUAL:
        return less_equal_row;
    case VBS_OP_KEEP:
        return keep_row;
    case VBS_OP_REMAINDER:
        return remainder_row;
    default:
        return prelu_row;
    }
}

struct loop_plan {
    od_row *row;
    struct od_nest nest;
};

static bool run_loops(const void *plan, float *const *data)
{
    const struct loop_plan *p = plan;

    od_nest_run(&p->nest, p->row, NULL, data);
    return true;
}

/* Sets the strides of operand number i of nest, whose axes exist: the batch, blocks of channels (in
 * blocks), dimensions of the sample, channels in a block (in blocks). */
static void set_strides(const struct od_build *b, const struct od_side *s, int i,
                        struct od_nest *nest)
{
    struct od_tensor tensor = side_tensor(b, s);
    bool in_blocks = od_output(b)->canonical == OD_BLOCKED;
    int64_t stride = tensor.canonical == OD_BLOCKED ? b->session->block : 1;
    bool last = tensor.canonical == OD_CHANNELS_LAST;

    if (in_blocks)
        nest->axes[nest->n_axes - 1].stride[i] = tensor.canonical == OD_BLOCKED ? 1 : 0;
    if (last) {
        nest->axes[1].stride[i] = s->shape.dim[0] > 1 ? 1 : 0;
        stride = s->shape.dim[0];
    }
    for (int d = s->shape.n_dims - 1; d >= last; d--) {
        nest->axes[1 + d].stride[i] = s->shape.dim[d] > 1 ? stride : 0;
        stride *= s->shape.dim[d];
    }
    nest->axes[0].stride[i] = s->constant ? 0 : tensor.stored_channels * tensor.positions;
}

static void plan_loops(const struct od_build *b, const struct od_pair *pair, struct loop_plan *plan)
{
    const struct od_tensor *out = od_output(b);
    struct od_side whole = {.shape = b->l->shape, .full = true};
    int64_t block = out->canonical == OD_BLOCKED ? b->session->block : 1;

    plan->row = row_of(b->l->op);
    if (pair->first.full && pair->second.full) { /* the same elements in any order */
        int64_t sample = out->stored_channels * out->positions;

        od_nest_add_strided(&plan->nest, b->batch, sample, pair->first.constant ? 0 : sample,
                            pair->second.constant ? 0 : sample);
        od_nest_add_strided(&plan->nest, sample, 1, 1, 1);
        od_nest_simplify(&plan->nest);
        return;
    }
    od_nest_add(&plan->nest, b->batch);
    od_nest_add(&plan->nest, out->stored_channels / block);
    for (int d = 1; d < b->l->shape.n_dims; d++)
        od_nest_add(&plan->nest, b->l->shape.dim[d]);
    if (out->canonical == OD_BLOCKED)
        od_nest_add(&plan->nest, block);
    set_strides(b, &whole, 0, &plan->nest);
    set_strides(b, &pair->first, 1, &plan->nest);
    set_strides(b, &pair->second, 2, &plan->nest);
    od_nest_simplify(&plan->nest);
}

/* Makes a memory object of an operand for a loop, which uses only the size of md. */
static enum vbs_status loop_memory(struct od_build *b, const struct od_side *s,
                                   dnnl_memory_t *memory, int64_t *weight_bytes, int *format)
{
    struct od_tensor tensor = side_tensor(b, s);
    dnnl_memory_desc_t md;

    VBS_TRY(od_describe(b, &tensor, s->constant ? 1 : b->batch, tensor.canonical, true, &md));
    return side_memory(b, s, &md, memory, weight_bytes, format);
}

static enum vbs_status build_loops(struct od_build *b, const struct od_pair *pair,
                                   int64_t *weight_bytes, int *format)
{
    struct loop_plan *plan = vbs_arena_alloc(&b->session->core.arena, 1, sizeof *plan);
    dnnl_memory_t data[OD_OPERANDS];
    dnnl_memory_desc_t md;

    VBS_TRY(plan ? od_kernel_begin(b, "loop:binary") : vbs_no_memory(b->ctx));
    plan_loops(b, pair, plan);
    VBS_TRY(od_describe(b, od_output(b), b->batch, od_output(b)->canonical, true, &md));
    VBS_TRY(od_kernel_memory(b, &md, OD_DST, 0, NULL, &data[0]));
    VBS_TRY(loop_memory(b, &pair->first, &data[1], weight_bytes, format));
    VBS_TRY(loop_memory(b, &pair->second, &data[2], weight_bytes, format));
    return od_kernel_call(b, run_loops, plan, OD_OPERANDS, data);
}

/* Gives whether padding is 0 again: both operands have padding, and 0 op 0 is 0. */
static bool padding_stays(const struct od_build *b, const struct od_pair *pair)
{
    static const enum vbs_op CHANGES[] = {VBS_OP_DIV, VBS_OP_POW, VBS_OP_EQUAL, VBS_OP_LESS_EQUAL,
                                          VBS_OP_REMAINDER};
    bool stays = has_blocks(b, &pair->first) && has_blocks(b, &pair->second);

    for (size_t i = 0; i < sizeof CHANGES / sizeof CHANGES[0]; i++)
        stays &= b->l->op != CHANGES[i];
    return stays;
}

enum vbs_status od_build_binary(struct od_build *b)
{
    struct od_pair pair = sides(b);
    int64_t weight_bytes = 0;
    int n_fused = 0, format = 0;
    bool made = false;

    VBS_TRY(try_value(b, &pair, &made));
    if (!made)
        VBS_TRY(try_primitive(b, &pair, &n_fused, &weight_bytes, &format, &made));
    if (!made)
        VBS_TRY(build_loops(b, &pair, &weight_bytes, &format));
    if (!padding_stays(b, &pair))
        VBS_TRY(od_zero_padding(b));
    return od_fused_end(b, n_fused, weight_bytes, format);
}
