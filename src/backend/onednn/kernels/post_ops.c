/*
 * The operators that oneDNN fuses behind an operation, the attributes for them, and its best
 * implementation with or without them.
 */
#include "backend/onednn/kernels/kernel.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- operators on values, as oneDNN has them ---- */

static int set_operation(dnnl_alg_kind_t algorithm, double alpha, double beta,
                         struct od_eltwise *operation)
{
    *operation = (struct od_eltwise){algorithm, (float)alpha, (float)beta};
    /* A product that is -0 stays so when -0 is added to it. */
    if (algorithm == dnnl_eltwise_linear && beta == 0)
        operation->beta = -0.0F;
    return 1;
}

/* Infinite numbers stay so where a bound is the last finite number, which stands for none. */
static int set_bounds(double low, double high, struct od_eltwise *operation)
{
    return set_operation(dnnl_eltwise_clip, low <= -FLT_MAX ? -INFINITY : low,
                         high >= FLT_MAX ? INFINITY : high, operation);
}

int od_eltwise_operations(enum vbs_op op, const union vbs_attributes *a,
                          struct od_eltwise *operations)
{
    switch (op) {
    case VBS_OP_RELU:
        return set_operation(dnnl_eltwise_relu, 0, 0, operations);
    case VBS_OP_LEAKY_RELU:
        return set_operation(dnnl_eltwise_relu, a->leaky_relu.slope, 0, operations);
    case VBS_OP_ELU:
        return set_operation(dnnl_eltwise_elu, a->elu.alpha, 0, operations);
    case VBS_OP_SELU:
        return set_operation(dnnl_eltwise_elu, a->selu.alpha, 0, operations) +
               set_operation(dnnl_eltwise_linear, a->selu.gamma, 0, operations + 1);
    case VBS_OP_CELU:
        return set_operation(dnnl_eltwise_linear, 1 / a->elu.alpha, 0, operations) +
               set_operation(dnnl_eltwise_elu, 1, 0, operations + 1) +
               set_operation(dnnl_eltwise_linear, a->elu.alpha, 0, operations + 2);
    case VBS_OP_SIGMOID:
        return set_operation(dnnl_eltwise_logistic, 0, 0, operations);
    case VBS_OP_TANH:
        return set_operation(dnnl_eltwise_tanh, 0, 0, operations);
    case VBS_OP_HARD_SIGMOID:
        return set_operation(dnnl_eltwise_linear, a->hard_sigmoid.slope, a->hard_sigmoid.offset,
                             operations) +
               set_operation(dnnl_eltwise_clip, 0, 1, operations + 1);
    case VBS_OP_HARD_SWISH:
        return set_operation(dnnl_eltwise_hardswish, 0, 0, operations);
    case VBS_OP_SWISH:
        return set_operation(dnnl_eltwise_swish, 1, 0, operations);
    case VBS_OP_GELU:
        return set_operation(a->gelu.by_tanh ? dnnl_eltwise_gelu_tanh : dnnl_eltwise_gelu_erf, 0, 0,
                             operations);
    case VBS_OP_MISH:
        return set_operation(dnnl_eltwise_mish, 0, 0, operations);
    case VBS_OP_SOFTPLUS:
        return set_operation(dnnl_eltwise_soft_relu, 0, 0, operations);
    case VBS_OP_CLIP:
        return set_bounds(fmin(a->clip.low, a->clip.high), a->clip.high, operations);
    case VBS_OP_LINEAR:
        return set_operation(dnnl_eltwise_linear, a->linear.factor, a->linear.shift, operations);
    case VBS_OP_EXP:
        return set_operation(dnnl_eltwise_exp, 0, 0, operations);
    case VBS_OP_SQRT:
        return set_operation(dnnl_eltwise_sqrt, 0, 0, operations);
    case VBS_OP_RECIPROCAL:
        return set_operation(dnnl_eltwise_pow, 1, -1, operations);
    case VBS_OP_ABS:
        return set_operation(dnnl_eltwise_abs, 0, 0, operations);
    case VBS_OP_NEG:
        return set_operation(dnnl_eltwise_linear, -1, 0, operations);
    case VBS_OP_ROUND:
        return set_operation(dnnl_eltwise_round, 0, 0, operations);
    default:
        return 0;
    }
}

/* Adds the algorithms of an operator to those of a run of operators; false: it has none, or one of
 * them is in the run already. */
static bool add_algorithms(const struct vbs_fused *fused, int *n, dnnl_alg_kind_t *used)
{
    struct od_eltwise operations[OD_MAX_OPERATIONS];
    int n_operations = od_eltwise_operations(fused->op, &fused->attributes, operations);

    for (int p = 0; p < n_operations; p++) {
        for (int i = 0; i < *n; i++)
            if (used[i] == operations[p].algorithm)
                return false;
        if (*n == OD_MAX_FUSED)
            return false;
        used[(*n)++] = operations[p].algorithm;
    }
    return n_operations > 0 || fused->op == VBS_OP_DROPOUT;
}

/* Some implementations of 2.6 use the parameters of the first operation where an algorithm occurs
 * twice, so that none may. */
int od_fusable(const struct od_build *b, int first)
{
    dnnl_alg_kind_t used[OD_MAX_FUSED];
    int n = 0, n_used = 0;

    while (first + n < b->l->n_fused && add_algorithms(&b->l->fused[first + n], &n_used, used))
        n++;
    return n;
}

/* ---- attributes ---- */

/* Appends the operations of fused operators first .. first + n - 1. */
static dnnl_status_t append_fused(const struct od_build *b, int first, int n, dnnl_post_ops_t ops)
{
    dnnl_status_t status = dnnl_success;

    for (int i = first; i < first + n; i++) {
        struct od_eltwise operations[OD_MAX_OPERATIONS];
        int n_operations =
            od_eltwise_operations(b->l->fused[i].op, &b->l->fused[i].attributes, operations);

        for (int p = 0; p < n_operations && status == dnnl_success; p++)
            status = dnnl_post_ops_append_eltwise(ops, 1, operations[p].algorithm,
                                                  operations[p].alpha, operations[p].beta);
    }
    return status;
}

enum vbs_status od_attributes_end(struct od_build *b, dnnl_status_t status,
                                  dnnl_primitive_attr_t made, dnnl_post_ops_t ops,
                                  dnnl_primitive_attr_t *attr)
{
    if (status == dnnl_success && ops)
        status = dnnl_primitive_attr_set_post_ops(made, ops);
    dnnl_post_ops_destroy(ops);
    if (status != dnnl_success) {
        dnnl_primitive_attr_destroy(made);
        return od_fail(b, status, "setting attributes");
    }
    *attr = made;
    return VBS_OK;
}

enum vbs_status od_attributes(struct od_build *b, int first, int n_fused,
                              dnnl_primitive_attr_t *attr)
{
    dnnl_post_ops_t ops = NULL;
    dnnl_primitive_attr_t made = NULL;
    dnnl_status_t status = dnnl_primitive_attr_create(&made);

    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_scratchpad_mode(made, dnnl_scratchpad_mode_user);
    if (status == dnnl_success && n_fused > 0) {
        status = dnnl_post_ops_create(&ops);
        if (status == dnnl_success)
            status = append_fused(b, first, n_fused, ops);
    }
    return od_attributes_end(b, status, made, ops, attr);
}

/* ---- implementations ---- */

bool od_is_reference(const_dnnl_primitive_desc_t pd)
{
    const char *impl = NULL;

    return dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &impl) == dnnl_success &&
           strncmp(impl, "ref", 3) == 0;
}

bool od_fuses_by_value(const_dnnl_primitive_desc_t pd)
{
    const char *name = od_pd_name(pd);
    dnnl_primitive_kind_t kind = dnnl_undefined_primitive;
    bool multiplies =
        dnnl_primitive_desc_query(pd, dnnl_query_primitive_kind, 0, &kind) == dnnl_success &&
        (kind == dnnl_inner_product || kind == dnnl_matmul);

    if (!name || strncmp(name, "jit", 3) == 0 || strncmp(name, "brg", 3) == 0)
        return false;
    return !(multiplies && strstr(name, "gemm:jit"));
}

bool od_has_vnni(const_dnnl_primitive_desc_t pd)
{
    const char *name = od_pd_name(pd);

    return name && (strstr(name, "vnni") || strstr(name, "amx"));
}

bool od_adds_bytes_exactly(const_dnnl_primitive_desc_t pd)
{
    static const dnnl_cpu_isa_t without[] = {dnnl_cpu_isa_sse41,      dnnl_cpu_isa_avx,
                                             dnnl_cpu_isa_avx2,       dnnl_cpu_isa_avx2_vnni,
                                             dnnl_cpu_isa_avx512_mic, dnnl_cpu_isa_avx512_mic_4ops,
                                             dnnl_cpu_isa_avx512_core};
    dnnl_cpu_isa_t isa = dnnl_get_effective_cpu_isa();

    for (size_t i = 0; i < sizeof without / sizeof without[0]; i++)
        if (isa == without[i])
            return od_has_vnni(pd);
    return true;
}

static enum vbs_status create_pd(struct od_build *b, const_dnnl_op_desc_t desc, int first,
                                 int n_fused, dnnl_primitive_desc_t *pd)
{
    dnnl_primitive_attr_t attr;
    dnnl_status_t dnnl;
    enum vbs_status status = od_attributes(b, first, n_fused, &attr);

    *pd = NULL;
    if (status != VBS_OK)
        return status;
    dnnl = od_pd_first(desc, attr, b->session->engine, pd);
    dnnl_primitive_attr_destroy(attr);
    return dnnl == dnnl_success ? VBS_OK : od_fail(b, dnnl, vbs_op_word(b->l->op));
}

enum vbs_status od_best(struct od_build *b, const_dnnl_op_desc_t desc, int first, int *n_fused,
                        dnnl_primitive_desc_t *pd)
{
    enum vbs_status status = VBS_UNSUPPORTED;

    if (*n_fused > 0) {
        status = create_pd(b, desc, first, *n_fused, pd);
        if (status == VBS_OK && od_fuses_by_value(*pd)) {
            dnnl_primitive_desc_destroy(*pd);
            status = VBS_UNSUPPORTED;
        }
    }
    if (status != VBS_UNSUPPORTED)
        return status;
    *n_fused = 0;
    return create_pd(b, desc, 0, 0, pd);
}
