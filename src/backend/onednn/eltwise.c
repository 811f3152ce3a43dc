/*
 * Operators that work value by value: as layers, in place behind other layers, and fused. Where
 * oneDNN has them, as one or more of its own; the rest by functions of one float.
 */
#include "backend/onednn/onednn.h"

#include "backend/onednn/nest.h"
#include "base/fail.h"

#include <math.h>
#include <string.h>

/* ---- what oneDNN has ---- */

static int one(dnnl_alg_kind_t algorithm, double alpha, double beta, struct od_eltwise *part)
{
    *part = (struct od_eltwise){algorithm, (float)alpha, (float)beta};
    return 1;
}

int od_eltwise_parts(enum vbs_op op, const struct vbs_attributes *a, struct od_eltwise *parts)
{
    switch (op) {
    case VBS_OP_RELU:
        return one(dnnl_eltwise_relu, 0, 0, parts);
    case VBS_OP_LEAKY_RELU:
        return one(dnnl_eltwise_relu, a->alpha, 0, parts);
    case VBS_OP_ELU:
        return one(dnnl_eltwise_elu, a->alpha, 0, parts);
    case VBS_OP_SELU:
        return one(dnnl_eltwise_elu, a->alpha, 0, parts) +
               one(dnnl_eltwise_linear, a->beta, 0, parts + 1);
    case VBS_OP_CELU:
        return one(dnnl_eltwise_linear, 1 / a->alpha, 0, parts) +
               one(dnnl_eltwise_elu, 1, 0, parts + 1) +
               one(dnnl_eltwise_linear, a->alpha, 0, parts + 2);
    case VBS_OP_SIGMOID:
        return one(dnnl_eltwise_logistic, 0, 0, parts);
    case VBS_OP_TANH:
        return one(dnnl_eltwise_tanh, 0, 0, parts);
    case VBS_OP_HARD_SIGMOID:
        return one(dnnl_eltwise_linear, a->alpha, a->beta, parts) +
               one(dnnl_eltwise_clip, 0, 1, parts + 1);
    case VBS_OP_HARD_SWISH:
        return one(dnnl_eltwise_hardswish, 0, 0, parts);
    case VBS_OP_SWISH:
        return one(dnnl_eltwise_swish, 1, 0, parts);
    case VBS_OP_GELU:
        return one(a->alpha != 0 ? dnnl_eltwise_gelu_tanh : dnnl_eltwise_gelu_erf, 0, 0, parts);
    case VBS_OP_MISH:
        return one(dnnl_eltwise_mish, 0, 0, parts);
    case VBS_OP_SOFTPLUS:
        return one(dnnl_eltwise_soft_relu, 0, 0, parts);
    case VBS_OP_CLIP:
        return one(dnnl_eltwise_clip, fmin(a->alpha, a->beta), a->beta, parts);
    case VBS_OP_LINEAR:
        return one(dnnl_eltwise_linear, a->alpha, a->beta, parts);
    case VBS_OP_EXP:
        return one(dnnl_eltwise_exp, 0, 0, parts);
    case VBS_OP_SQRT:
        return one(dnnl_eltwise_sqrt, 0, 0, parts);
    case VBS_OP_RECIPROCAL:
        return one(dnnl_eltwise_pow, 1, -1, parts);
    case VBS_OP_ABS:
        return one(dnnl_eltwise_abs, 0, 0, parts);
    case VBS_OP_NEG:
        return one(dnnl_eltwise_linear, -1, 0, parts);
    case VBS_OP_ROUND:
        return one(dnnl_eltwise_round, 0, 0, parts);
    default:
        return 0;
    }
}

/* Adds the algorithms of an operator to those of a run; false: it has none, or one is there. */
static bool add_algorithms(const struct vbs_fused *fused, int *n, dnnl_alg_kind_t *used)
{
    struct od_eltwise parts[OD_MAX_PARTS];
    int n_parts = od_eltwise_parts(fused->op, &fused->attributes, parts);

    for (int p = 0; p < n_parts; p++) {
        for (int i = 0; i < *n; i++)
            if (used[i] == parts[p].algorithm)
                return false;
        if (*n == OD_MAX_FUSED)
            return false;
        used[(*n)++] = parts[p].algorithm;
    }
    return n_parts > 0 || fused->op == VBS_OP_DROPOUT;
}

/* Some implementations of 2.6 take the parameters of the first one where an algorithm comes twice,
 * so none does. */
int od_fusable(const struct od_build *b, int first)
{
    dnnl_alg_kind_t used[OD_MAX_FUSED];
    int n = 0, n_used = 0;

    while (first + n < b->l->n_fused && add_algorithms(&b->l->fused[first + n], &n_used, used))
        n++;
    return n;
}

/* Whether 0 stays 0. */
static bool keeps_zero(enum vbs_op op, const struct vbs_attributes *a)
{
    switch (op) {
    case VBS_OP_SIGMOID:
    case VBS_OP_HARD_SIGMOID:
    case VBS_OP_SOFTPLUS:
    case VBS_OP_EXP:
    case VBS_OP_LOG:
    case VBS_OP_RECIPROCAL:
    case VBS_OP_COS:
    case VBS_OP_ACOS:
    case VBS_OP_COSH:
    case VBS_OP_ACOSH:
        return false;
    case VBS_OP_CLIP:
        return a->alpha <= 0 && a->beta >= 0;
    case VBS_OP_LINEAR:
        return a->beta == 0;
    case VBS_OP_SHRINK:
    case VBS_OP_THRESHOLDED_RELU:
        return a->alpha >= 0;
    default:
        return true;
    }
}

/* ---- what it has not ---- */

struct scalar_plan {
    od_row *row;
    float alpha, beta;
    struct od_nest nest;
};

/* Operators by what they make of x. */
#define SCALARS(X)                                                                                 \
    X(SOFTSIGN, x / (1 + fabsf(x)))                                                                \
    X(THRESHOLDED_RELU, x > alpha ? x : 0)                                                         \
    X(SHRINK, x<-alpha ? x + beta : x> alpha ? x - beta : 0)                                       \
    X(SIGN, (float)(x > 0) - (float)(x < 0))                                                       \
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
                         float *const *at)                                                         \
    {                                                                                              \
        const struct scalar_plan *p = plan;                                                        \
        const float alpha = p->alpha, beta = p->beta;                                              \
                                                                                                   \
        (void)axis, (void)alpha, (void)beta;                                                       \
        for (int64_t i = first; i < first + n; i++) {                                              \
            float x = at[1][i];                                                                    \
                                                                                                   \
            at[0][i] = (expression);                                                               \
        }                                                                                          \
    }
SCALARS(DEFINE)
#undef DEFINE

static od_row *const rows[VBS_N_OPS] = {
#define ENTRY(op, expression) [VBS_OP_##op] = row_##op,
    SCALARS(ENTRY)
#undef ENTRY
};

static void run_scalar(const void *plan, float *const *data)
{
    const struct scalar_plan *p = plan;
    float *const operands[OD_OPERANDS] = {data[0], data[1]};

    od_nest_run(&p->nest, p->row, p, operands);
}

/* ---- padding ---- */

struct padding_plan {
    int64_t first; /* lane of a block that is padding, as are those after it */
    struct od_nest nest;
};

static void padding_row(const void *plan, const struct od_axis *axis, int64_t first, int64_t n,
                        float *const *at)
{
    const struct padding_plan *p = plan;
    int64_t block = axis->stride[0];

    for (int64_t i = first; i < first + n; i++)
        for (int64_t lane = p->first; lane < block; lane++)
            at[0][i * block + lane] = 0;
}

static void run_padding(const void *plan, float *const *data)
{
    const struct padding_plan *p = plan;
    float *const operands[OD_OPERANDS] = {data[0]};

    od_nest_run(&p->nest, padding_row, p, operands);
}

enum vbs_status od_zero_padding(struct od_build *b)
{
    const struct od_tensor *out = od_output(b);
    int64_t block = b->session->block, stored = out->stored_channels * out->positions;
    struct padding_plan *plan;
    dnnl_memory_desc_t md;
    dnnl_memory_t memory;
    enum vbs_status status;

    if (out->channels == out->stored_channels)
        return VBS_OK;
    plan = vbs_arena_alloc(&b->session->arena, 1, sizeof *plan);
    if (!plan)
        return vbs_no_memory(b->ctx);
    plan->first = out->channels % block;
    plan->nest.start[0] = stored - out->positions * block;
    od_nest_add_strided(&plan->nest, b->batch, stored, 0, 0);
    od_nest_add_strided(&plan->nest, out->positions, block, 0, 0);
    status = od_describe(b, out, b->batch, out->home, true, &md);
    if (status == VBS_OK)
        status = od_kernel_memory(b, &md, OD_DST, 0, NULL, &memory);
    return status == VBS_OK ? od_kernel_call(b, run_padding, plan, 1, &memory) : status;
}

/* ---- steps ---- */

enum vbs_status od_eltwise_step(struct od_build *b, const struct od_eltwise *part,
                                const dnnl_memory_desc_t *md, dnnl_memory_t from, dnnl_memory_t to)
{
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}};
    dnnl_primitive_desc_t pd = NULL;
    dnnl_eltwise_desc_t desc;
    int n_fused = 0;
    dnnl_status_t dnnl = dnnl_eltwise_forward_desc_init(
        &desc, dnnl_forward_inference, part->algorithm, md, part->alpha, part->beta);
    enum vbs_status status;

    if (dnnl != dnnl_success)
        return od_fail(b, dnnl, "describing an operator on values");
    status = od_best(b, &desc, 0, &n_fused, &pd);
    if (status == VBS_OK)
        status = od_kernel_step(b, pd, 2, args);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

/* Appends a function's step; md is dense. */
static enum vbs_status scalar_step(struct od_build *b, enum vbs_op op,
                                   const struct vbs_attributes *a, const dnnl_memory_desc_t *md,
                                   dnnl_memory_t from, dnnl_memory_t to)
{
    const dnnl_memory_t data[] = {to, from};
    struct scalar_plan *plan = vbs_arena_alloc(&b->session->arena, 1, sizeof *plan);

    if (!plan)
        return vbs_no_memory(b->ctx);
    if (!rows[op])
        return vbs_fail(b->ctx, VBS_UNSUPPORTED, "layer '%s': the onednn backend has no '%s'",
                        b->l->name, vbs_op_word(op));
    *plan = (struct scalar_plan){.row = rows[op], .alpha = (float)a->alpha, .beta = (float)a->beta};
    plan->nest.cost = 4;
    od_nest_add_strided(&plan->nest, (int64_t)(dnnl_memory_desc_get_size(md) / sizeof(float)), 1, 1,
                        0);
    return od_kernel_call(b, run_scalar, plan, 2, data);
}

/* One operator, from one memory object to the other, which may be the same. */
static enum vbs_status unary_steps(struct od_build *b, enum vbs_op op,
                                   const struct vbs_attributes *a, const dnnl_memory_desc_t *md,
                                   dnnl_memory_t from, dnnl_memory_t to)
{
    struct od_eltwise parts[OD_MAX_PARTS];
    int n = od_eltwise_parts(op, a, parts);
    enum vbs_status status = VBS_OK;

    if (n == 0)
        return scalar_step(b, op, a, md, from, to);
    for (int i = 0; i < n && status == VBS_OK; i++)
        status = od_eltwise_step(b, &parts[i], md, i == 0 ? from : to, to);
    return status;
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

enum vbs_status od_fused(struct od_build *b, int first, int64_t *weight_bytes)
{
    const struct od_tensor *out = od_output(b);
    dnnl_memory_t memory = NULL;
    dnnl_memory_desc_t md;
    enum vbs_status status = od_describe(b, out, b->batch, out->home, true, &md);

    if (status == VBS_OK && first < b->l->n_fused)
        status = od_kernel_memory(b, &md, OD_DST, 0, NULL, &memory);
    for (int i = first; i < b->l->n_fused && status == VBS_OK; i++) {
        const struct vbs_fused *fused = &b->l->fused[i];
        bool relu = i + 1 < b->l->n_fused && b->l->fused[i + 1].op == VBS_OP_RELU;

        if (fused->op == VBS_OP_DROPOUT)
            continue;
        if (is_affine(fused->op)) {
            status = od_affine_step(b, i, relu, memory, memory, weight_bytes);
            i += relu;
        } else {
            status = unary_steps(b, fused->op, &fused->attributes, &md, memory, memory);
        }
    }
    if (status == VBS_OK && od_breaks_padding(b))
        status = od_zero_padding(b);
    return status;
}

/* ---- layers ---- */

/* The first part's implementation, or "loop:scalar". */
static enum vbs_status begin_unary(struct od_build *b, const dnnl_memory_desc_t *md)
{
    struct od_eltwise parts[OD_MAX_PARTS];
    dnnl_primitive_desc_t pd = NULL;
    dnnl_eltwise_desc_t desc;
    int n_fused = 0;
    dnnl_status_t dnnl;
    enum vbs_status status;

    if (od_eltwise_parts(b->l->op, &b->l->attributes, parts) == 0)
        return od_kernel_begin(b, "loop:scalar");
    dnnl = dnnl_eltwise_forward_desc_init(&desc, dnnl_forward_inference, parts[0].algorithm, md,
                                          parts[0].alpha, parts[0].beta);
    if (dnnl != dnnl_success)
        return od_fail(b, dnnl, "describing an operator on values");
    status = od_best(b, &desc, 0, &n_fused, &pd);
    if (status == VBS_OK)
        status = od_kernel_begin_with(b, pd);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

enum vbs_status od_build_unary(struct od_build *b)
{
    const struct od_tensor *out = od_output(b);
    int64_t weight_bytes = 0;
    dnnl_memory_t from = NULL, to = NULL;
    dnnl_memory_desc_t md;
    enum vbs_status status = od_describe(b, out, b->batch, out->home, true, &md);

    if (status == VBS_OK)
        status = begin_unary(b, &md);
    if (status == VBS_OK)
        status = od_source(b, 0, out->home, &md, &from);
    if (status == VBS_OK)
        status = od_kernel_memory(b, &md, OD_DST, 0, NULL, &to);
    if (status == VBS_OK)
        status = unary_steps(b, b->l->op, &b->l->attributes, &md, from, to);
    if (status == VBS_OK)
        status = od_fused(b, 0, &weight_bytes);
    if (status == VBS_OK)
        od_kernel_end(b, weight_bytes, 0);
    return status;
}
