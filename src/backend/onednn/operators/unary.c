/* Operators that work value by value, as layers of their own. */
#include "backend/onednn/operators/operators.h"

#include "base/fail.h"

/* Begins a kernel that is named after the first operation's implementation, or "loop:scalar". */
static enum vbs_status begin_unary(struct od_build *b, const dnnl_memory_desc_t *md)
{
    struct od_eltwise operations[OD_MAX_OPERATIONS];
    dnnl_primitive_desc_t pd = NULL;
    dnnl_eltwise_desc_t desc;
    int n_fused = 0;
    dnnl_status_t dnnl;
    enum vbs_status status;

    if (od_eltwise_operations(b->l->op, &b->l->attributes, operations) == 0 ||
        od_is_bounds(&operations[0]))
        return od_kernel_begin(b, "loop:scalar");
    dnnl = dnnl_eltwise_forward_desc_init(&desc, dnnl_forward_inference, operations[0].algorithm,
                                          md, operations[0].alpha, operations[0].beta);
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
    dnnl_memory_t from = NULL, to = NULL;
    dnnl_memory_desc_t md;

    VBS_TRY(od_describe(b, out, b->batch, out->canonical, true, &md));
    VBS_TRY(begin_unary(b, &md));
    VBS_TRY(od_source(b, 0, out->canonical, &md, &from));
    VBS_TRY(od_kernel_memory(b, &md, OD_DST, 0, NULL, &to));
    VBS_TRY(od_unary_steps(b, b->l->op, &b->l->attributes, &md, from, to));
    return od_fused_end(b, 0, 0, 0);
}
