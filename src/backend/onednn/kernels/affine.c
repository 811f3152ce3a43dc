/* BatchNorm and Scale, as layers and in place behind other layers. */
#include "backend/onednn/kernels/elementwise.h"

#include "backend/common/common.h"
#include "base/fail.h"

/* factor * x + shift is computed as a normalization with mean 0 and variance 1. */
enum vbs_status od_affine_pd(struct od_build *b, bool relu, dnnl_primitive_desc_t *pd)
{
    const struct od_tensor *out = od_output(b);
    unsigned flags = dnnl_use_global_stats | dnnl_use_scale | dnnl_use_shift |
                     (relu ? dnnl_fuse_norm_relu : dnnl_normalization_flags_none);
    int n_fused = 0;
    dnnl_batch_normalization_desc_t desc;
    dnnl_memory_desc_t md;
    dnnl_status_t dnnl;

    VBS_TRY(od_describe(b, out, b->batch, out->canonical, true, &md));
    dnnl = dnnl_batch_normalization_forward_desc_init(&desc, dnnl_forward_inference, &md, 0, flags);
    return dnnl == dnnl_success ? od_best(b, &desc, 0, &n_fused, pd)
                                : od_fail(b, dnnl, "describing a normalization");
}

/* Sets argument number *n of args: vector id of n_values constants. */
enum vbs_status od_add_vector(struct od_build *b, int id, int64_t n_values, float *values, int *n,
                              dnnl_exec_arg_t *args)
{
    dnnl_memory_desc_t md;
    enum vbs_status status = od_describe_vector(b, n_values, &md);

    args[*n].arg = id;
    return status == VBS_OK ? od_kernel_memory(b, &md, OD_FIXED, 0, values, &args[(*n)++].memory)
                            : status;
}

/* Appends the four constants of od_affine_pd to args. */
static enum vbs_status affine_args(struct od_build *b, int fused, int *n_args,
                                   dnnl_exec_arg_t *args, int64_t *bytes)
{
    static const int ids[] = {DNNL_ARG_SCALE, DNNL_ARG_SHIFT, DNNL_ARG_MEAN, DNNL_ARG_VARIANCE};
    int64_t n = od_output(b)->stored_channels;
    int64_t stride = (n + 15) / 16 * 16;
    float *values = od_constants(b, 4 * stride);
    enum vbs_status status =
        values ? vbs_affine(b->ctx, b->network, b->layer, fused, n, values, values + stride)
               : vbs_no_memory(b->ctx);

    if (status != VBS_OK)
        return status;
    for (int64_t c = 0; c < n; c++)
        values[3 * stride + c] = 1;
    for (int i = 0; i < 4 && status == VBS_OK; i++)
        status = od_add_vector(b, ids[i], n, values + i * stride, n_args, args);
    *bytes += 4 * n * (int64_t)sizeof *values;
    return status;
}

enum vbs_status od_affine_step_with(struct od_build *b, const_dnnl_primitive_desc_t pd, int fused,
                                    dnnl_memory_t from, dnnl_memory_t to, int64_t *weight_bytes)
{
    dnnl_exec_arg_t args[6] = {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}};
    int n_args = 2;

    VBS_TRY(affine_args(b, fused, &n_args, args, weight_bytes));
    return od_kernel_step(b, pd, n_args, args);
}

enum vbs_status od_affine_step(struct od_build *b, int fused, bool relu, dnnl_memory_t from,
                               dnnl_memory_t to, int64_t *weight_bytes)
{
    dnnl_primitive_desc_t pd = NULL;
    enum vbs_status status = od_affine_pd(b, relu, &pd);

    if (status == VBS_OK)
        status = od_affine_step_with(b, pd, fused, from, to, weight_bytes);
    dnnl_primitive_desc_destroy(pd);
    return status;
}
