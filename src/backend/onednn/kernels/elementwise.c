/*
 * Operators that work value by value, and operators that are applied in place behind a layer: by
 * one or more operations of oneDNN where it has them, else by functions of one float. Bounds are
 * loops, too, because oneDNN's make a number of what is none.
 */
#include "backend/onednn/kernels/elementwise.h"
#include "backend/onednn/kernels/encode.h"
#include "backend/onednn/kernels/nest.h"
#include "backend/onednn/rows/rows.h"

#include "base/fail.h"

#include <math.h>
#include <string.h>

/* A new operator belongs into keeps_zero where it keeps 0, before its name replaces the last one
 * here. */
_Static_assert(VBS_OP_DFT + 1 == VBS_N_OPS, "a new operator: see keeps_zero");

/* Gives whether 0 stays 0, so that the zeros of padding do. For operators that are not named here
 * the zeros are written again, which costs time and does no harm. */
static bool keeps_zero(enum vbs_op op, const union vbs_attributes *a)
{
    switch (op) {
    case VBS_OP_DROPOUT:
    case VBS_OP_IDENTITY:
    case VBS_OP_BATCHNORM:
    case VBS_OP_SCALE:
    case VBS_OP_RELU:
    case VBS_OP_LEAKY_RELU:
    case VBS_OP_ELU:
    case VBS_OP_SELU:
    case VBS_OP_CELU:
    case VBS_OP_TANH:
    case VBS_OP_HARD_SWISH:
    case VBS_OP_SWISH:
    case VBS_OP_GELU:
    case VBS_OP_MISH:
    case VBS_OP_SOFTSIGN:
    case VBS_OP_SQRT:
    case VBS_OP_ABS:
    case VBS_OP_NEG:
    case VBS_OP_SIGN:
    case VBS_OP_FLOOR:
    case VBS_OP_CEIL:
    case VBS_OP_ROUND:
    case VBS_OP_ERF:
    case VBS_OP_SIN:
    case VBS_OP_TAN:
    case VBS_OP_ASIN:
    case VBS_OP_ATAN:
    case VBS_OP_SINH:
    case VBS_OP_ASINH:
    case VBS_OP_ATANH:
        return true;
    case VBS_OP_CLIP:
        return a->clip.low <= 0 && a->clip.high >= 0;
    case VBS_OP_LINEAR:
        return a->linear.shift == 0;
    case VBS_OP_SHRINK:
        return a->shrink.lambda >= 0;
    case VBS_OP_THRESHOLDED_RELU:
        return a->thresholded_relu.threshold >= 0;
    default:
        return false;
    }
}

/* ---- what oneDNN has not ---- */

struct scalar_plan {
    od_row *row;
    float threshold, bias; /* of THRESHOLDED_RELU and SHRINK */
    struct od_nest nest;
};

/* The operators, and their functions of x, which is no number where x is none. */
#define SCALARS(X)                                                                                 \
    X(SOFTSIGN, x / (1 + fabsf(x)))                                                                \
    X(THRESHOLDED_RELU, x <= p->threshold ? 0 : x)                                                 \
    X(SHRINK, x < -p->threshold ? x + p->bias : x <= p->threshold ? 0 : x - p->bias)               \
    X(SIGN, isnan(x) ? x : (float)(x > 0) - (float)(x < 0))                                        \
    X(FLOOR, floorf(x))                                                                            \
    X(CEIL, ceilf(x))                                                                              \
    X(LOG, logf(x)) /* oneDNN's is off by 1e-6 near 1 */                                           \
    X(ERF, erff(x))                                                                                \
    X(SIN, sinf(x))                                                                                \
    X(COS, cosf(x))                                                                                \
    X(TAN, tanf(x))                                                                                \
    X(ASIN, asinf(x))                                                                              \
    X(ACOS, acosf(x))                                                                              \
    X(ATAN, atanf(x))                                                                              \
    X(SINH, sinhf(x))                                                                              \
    X(COSH, coshf(x))                                                                              \
    X(ASINH, asinhf(x))                                                                            \
    X(ACOSH, acoshf(x))                                                                            \
    X(ATANH, atanhf(x))

#define DEFINE(op, expression)                                                                     \
    static void row_##op(const void *plan, const struct od_axis *axis, int64_t first, int64_t n,   \
                         void *const *at)                                                          \
    {                                                                                              \
        const struct scalar_plan *p = plan;                                                        \
        const float *from = at[1];                                                                 \
        float *to = at[0];                                                                         \
                                                                                                   \
        (void)axis, (void)p;                                                                       \
        for (int64_t i = first; i < first + n; i++) {                                              \
            float x = from[i];                                                                     \
                                                                                                   \
            to[i] = (expression);                                                                  \
        }                                                                                          \
    }
SCALARS(DEFINE)
#undef DEFINE

static od_row *const rows[VBS_N_OPS] = {
#define ENTRY(op, expression) [VBS_OP_##op] = row_##op,
    SCALARS(ENTRY)
#undef ENTRY
};

static bool run_scalar(const void *plan, float *const *data)
{
    const struct scalar_plan *p = plan;
    float *const operands[OD_OPERANDS] = {data[0], data[1]};

    od_nest_run(&p->nest, p->row, p, operands);
    return true;
}

/* ---- bounds ---- */

#define AT_ONCE 4096 /* values that a thread computes at once */

struct clip_plan {
    float low, high;
    int64_t n;
};

struct clip_job {
    const struct clip_plan *plan;
    const float *from;
    float *to;
};

static void clip_part(void *self, int64_t part)
{
    const struct clip_job *j = self;
    int64_t first = part * AT_ONCE, left = j->plan->n - first;

    od_rows()->clip(j->plan->low, j->plan->high, j->from + first, left < AT_ONCE ? left : AT_ONCE,
                    j->to + first);
}

static bool run_clip(const void *plan, float *const *data)
{
    const struct clip_plan *p = plan;
    struct clip_job job = {.plan = p, .from = data[1], .to = data[0]};

    od_parallel((p->n + AT_ONCE - 1) / AT_ONCE, p->n, clip_part, &job);
    return true;
}

bool od_is_bounds(const struct od_eltwise *operation)
{
    return operation->algorithm == dnnl_eltwise_clip ||
           (operation->algorithm == dnnl_eltwise_relu && operation->alpha == 0);
}

static enum vbs_status clip_step(struct od_build *b, const struct od_eltwise *operation,
                                 const dnnl_memory_desc_t *md, dnnl_memory_t from, dnnl_memory_t to)
{
    const dnnl_memory_t data[] = {to, from};
    struct clip_plan *plan = vbs_arena_alloc(&b->session->core.arena, 1, sizeof *plan);
    bool relu = operation->algorithm == dnnl_eltwise_relu;

    if (!plan)
        return vbs_no_memory(b->ctx);
    *plan = (struct clip_plan){.low = operation->alpha,
                               .high = relu ? INFINITY : operation->beta,
                               .n = (int64_t)(dnnl_memory_desc_get_size(md) / sizeof(float))};
    return od_kernel_call(b, run_clip, plan, 2, data);
}

/* ---- padding ---- */

struct padding_plan {
    int64_t first; /* the first lane of a block that is padding */
    struct od_nest nest;
};

static void padding_row(const void *plan, const struct od_axis *axis, int64_t first, int64_t n,
                        void *const *at)
{
    const struct padding_plan *p = plan;
    int64_t block = axis->stride[0], bytes = p->nest.bytes;
    char *to = at[0];

    for (int64_t i = first; i < first + n; i++)
        memset(to + (i * block + p->first) * bytes, 0, (size_t)((block - p->first) * bytes));
}

static bool run_padding(const void *plan, float *const *data)
{
    const struct padding_plan *p = plan;
    float *const operands[OD_OPERANDS] = {data[0]};

    od_nest_run(&p->nest, padding_row, p, operands);
    return true;
}

enum vbs_status od_zero_padding(struct od_build *b)
{
    const struct od_tensor *out = od_output(b);
    int64_t block = b->session->block, stored = out->stored_channels * out->positions;
    struct padding_plan *plan;
    dnnl_memory_desc_t md;
    dnnl_memory_t memory;

    if (out->channels == out->stored_channels || od_value_bytes(b, b->l->n_inputs) == 1)
        return VBS_OK;
    plan = vbs_arena_alloc(&b->session->core.arena, 1, sizeof *plan);
    if (!plan)
        return vbs_no_memory(b->ctx);
    plan->first = out->channels % block;
    plan->nest.bytes = od_value_bytes(b, b->l->n_inputs);
    plan->nest.start[0] = stored - out->positions * block;
    od_nest_add_strided(&plan->nest, b->batch, stored, 0, 0);
    od_nest_add_strided(&plan->nest, out->positions, block, 0, 0);
    VBS_TRY(od_describe(b, out, b->batch, out->canonical, true, &md));
    VBS_TRY(od_kernel_memory(b, &md, OD_DST, 0, NULL, &memory));
    return od_kernel_call(b, run_padding, plan, 1, &memory);
}

/* ---- steps ---- */

enum vbs_status od_eltwise_step(struct od_build *b, const struct od_eltwise *operation,
                                const dnnl_memory_desc_t *md, dnnl_memory_t from, dnnl_memory_t to)
{
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}};
    dnnl_primitive_desc_t pd = NULL;
    dnnl_eltwise_desc_t desc;
    int n_fused = 0;
    dnnl_status_t dnnl;
    enum vbs_status status;

    if (od_is_bounds(operation))
        return clip_step(b, operation, md, from, to);
    dnnl = dnnl_eltwise_forward_desc_init(&desc, dnnl_forward_inference, operation->algorithm, md,
                                          operation->alpha, operation->beta);
    if (dnnl != dnnl_success)
        return od_fail(b, dnnl, "describing an operator on values");
    status = od_best(b, &desc, 0, &n_fused, &pd);
    if (status == VBS_OK)
        status = od_kernel_step(b, pd, 2, args);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

/* Appends the step of a function; md has no gaps. */
static enum vbs_status scalar_step(struct od_build *b, enum vbs_op op,
                                   const union vbs_attributes *a, const dnnl_memory_desc_t *md,
                                   dnnl_memory_t from, dnnl_memory_t to)
{
    const dnnl_memory_t data[] = {to, from};
    struct scalar_plan *plan = vbs_arena_alloc(&b->session->core.arena, 1, sizeof *plan);

    if (!plan)
        return vbs_no_memory(b->ctx);
    if (!rows[op])
        return vbs_fail(b->ctx, VBS_UNSUPPORTED, "layer '%s': the onednn backend has no '%s'",
                        b->l->name, vbs_op_word(op));
    plan->row = rows[op];
    if (op == VBS_OP_THRESHOLDED_RELU)
        plan->threshold = (float)a->thresholded_relu.threshold;
    if (op == VBS_OP_SHRINK) {
        plan->threshold = (float)a->shrink.lambda;
        plan->bias = (float)a->shrink.bias;
    }
    plan->nest.cost = 4;
    od_nest_add_strided(&plan->nest, (int64_t)(dnnl_memory_desc_get_size(md) / sizeof(float)), 1, 1,
                        0);
    return od_kernel_call(b, run_scalar, plan, 2, data);
}

enum vbs_status od_unary_steps(struct od_build *b, enum vbs_op op, const union vbs_attributes *a,
                               const dnnl_memory_desc_t *md, dnnl_memory_t from, dnnl_memory_t to)
{
    struct od_eltwise operations[OD_MAX_OPERATIONS];
    int n = od_eltwise_operations(op, a, operations);

    if (n == 0)
        return scalar_step(b, op, a, md, from, to);
    for (int i = 0; i < n; i++)
        VBS_TRY(od_eltwise_step(b, &operations[i], md, i == 0 ? from : to, to));
    return VBS_OK;
}

/* ---- what is fused and not fused ---- */

static bool is_affine(enum vbs_op op)
{
    return op == VBS_OP_BATCHNORM || op == VBS_OP_SCALE;
}

bool od_breaks_padding(const struct od_build *b)
{
    if (od_output(b)->channels == od_output(b)->stored_channels)
        return false;
    for (int i = 0; i < b->l->n_fused; i++)
        if (!keeps_zero(b->l->fused[i].op, &b->l->fused[i].attributes))
            return true;
    return vbs_op_class(b->l->op) == VBS_CLASS_UNARY && !keeps_zero(b->l->op, &b->l->attributes);
}

static enum vbs_status append_fused(struct od_build *b, int first, int64_t *weight_bytes)
{
    const struct od_tensor *out = od_output(b);
    dnnl_memory_t memory = NULL;
    dnnl_memory_desc_t md;

    VBS_TRY(od_describe(b, out, b->batch, out->canonical, true, &md));
    if (first < b->l->n_fused)
        VBS_TRY(od_kernel_memory(b, &md, OD_DST, 0, NULL, &memory));
    for (int i = first; i < b->l->n_fused; i++) {
        const struct vbs_fused *fused = &b->l->fused[i];
        bool relu = i + 1 < b->l->n_fused && b->l->fused[i + 1].op == VBS_OP_RELU;

        if (fused->op == VBS_OP_DROPOUT)
            continue;
        if (is_affine(fused->op)) {
            VBS_TRY(od_affine_step(b, i, relu, memory, memory, weight_bytes));
            i += relu;
        } else if (od_is_gelu_step(fused)) {
            int64_t n = (int64_t)(dnnl_memory_desc_get_size(&md) / sizeof(float));

            VBS_TRY(
                od_gelu_step(b, &(struct vbs_encoding){.storage = VBS_FLOAT32}, n, memory, memory));
        } else {
            VBS_TRY(od_unary_steps(b, fused->op, &fused->attributes, &md, memory, memory));
        }
    }
    return od_breaks_padding(b) ? od_zero_padding(b) : VBS_OK;
}

enum vbs_status od_fused_end(struct od_build *b, int first, int64_t weight_bytes, int format)
{
    VBS_TRY(append_fused(b, first, &weight_bytes));
    return od_kernel_end(b, weight_bytes, format);
}
