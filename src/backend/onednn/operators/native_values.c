/*
 * Kernels that work on whole numbers as they are stored, without weights: sums and pools.
 * Values of equal encodings are moved and compared as the numbers that stand for them; a sum
 * multiplies each operand by its scale and adds what all zero points together are.
 */
#include "backend/onednn/operators/operators.h"

#include "backend/onednn/kernels/kernels.h"
#include "base/fail.h"
#include "model/network/network.h"

#include <string.h>

/* Gives whether all inputs and the output have 8 bits in one layout, and inputs are read in their
 * own shapes; equal: and one encoding. */
static bool are_alike(const struct od_build *b, bool equal)
{
    const struct od_stored *out = od_stored_of(b, b->l->n_inputs);

    if (!vbs_storage_is_whole(out->encoding.storage))
        return false;
    for (int i = 0; i < b->l->n_inputs; i++) {
        const struct od_stored *in = od_stored_of(b, i);
        const struct vbs_shape *own = &b->network->layers[b->l->inputs[i]].shape;

        if (!vbs_storage_is_whole(in->encoding.storage) || in->layout != out->layout ||
            !vbs_shape_equal(own, &b->l->views[i]) ||
            (equal && !vbs_encoding_equal(&in->encoding, &out->encoding)))
            return false;
    }
    return true;
}

/* Ends the kernel of a primitive that has been chosen: its step, and nothing behind it. */
static enum vbs_status end_with(struct od_build *b, const_dnnl_primitive_desc_t pd, int n,
                                const dnnl_exec_arg_t *args)
{
    VBS_TRY(od_kernel_step(b, pd, n, args));
    return od_kernel_end(b, 0, 0);
}

/* ---- sums ---- */

static enum vbs_status sum_attributes(struct od_build *b, dnnl_primitive_attr_t *attr)
{
    const struct vbs_encoding *out = &od_stored_of(b, 2)->encoding;
    float scales[2], shift = (float)out->zero;
    dnnl_primitive_attr_t made = NULL;
    dnnl_post_ops_t ops = NULL;
    dnnl_status_t status = dnnl_primitive_attr_create(&made);

    for (int i = 0; i < 2; i++) {
        const struct vbs_encoding *in = &od_stored_of(b, i)->encoding;

        scales[i] = in->scale / out->scale;
        shift -= scales[i] * (float)in->zero;
    }
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_scratchpad_mode(made, dnnl_scratchpad_mode_user);
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_scales(made, DNNL_ARG_SRC_0, 1, 0, &scales[0]);
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_scales(made, DNNL_ARG_SRC_1, 1, 0, &scales[1]);
    if (status == dnnl_success)
        status = dnnl_post_ops_create(&ops);
    if (status == dnnl_success)
        status = dnnl_post_ops_append_eltwise(ops, 1, dnnl_eltwise_linear, 1, shift);
    if (status == dnnl_success && b->l->n_fused > 0) /* a ReLU */
        status = dnnl_post_ops_append_eltwise(ops, 1, dnnl_eltwise_clip, (float)out->zero,
                                              (float)vbs_storage_high(out->storage));
    return od_attributes_end(b, status, made, ops, attr);
}

/* Describes all values of the batch, whose places do not matter. */
static enum vbs_status describe_flat(struct od_build *b, int index, dnnl_memory_desc_t *md)
{
    const struct od_stored *stored = od_stored_of(b, index);
    dnnl_dims_t dims = {b->batch, stored->bytes};
    dnnl_status_t dnnl =
        dnnl_memory_desc_init_by_tag(md, 2, dims, od_data_type(stored->encoding.storage), dnnl_ab);

    return dnnl == dnnl_success ? VBS_OK : od_fail(b, dnnl, "describing a tensor");
}

static enum vbs_status sum_pd(struct od_build *b, dnnl_memory_desc_t *md, dnnl_primitive_desc_t *pd)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_binary_desc_t desc;
    dnnl_status_t dnnl;

    for (int i = 0; i < 3; i++)
        VBS_TRY(describe_flat(b, i, &md[i]));
    dnnl = dnnl_binary_desc_init(&desc, dnnl_binary_add, &md[0], &md[1], &md[2]);
    if (dnnl != dnnl_success)
        return od_fail(b, dnnl, "describing a sum");
    VBS_TRY(sum_attributes(b, &attr));
    dnnl = od_pd_first(&desc, attr, b->session->engine, pd);
    dnnl_primitive_attr_destroy(attr);
    return dnnl == dnnl_success || dnnl == dnnl_unimplemented
               ? VBS_OK
               : od_fail(b, dnnl, "looking for implementations");
}

static enum vbs_status build_sum(struct od_build *b)
{
    dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC_0, NULL}, {DNNL_ARG_SRC_1, NULL}, {DNNL_ARG_DST, NULL}};
    dnnl_memory_desc_t md[3];
    dnnl_primitive_desc_t pd = NULL;
    enum vbs_status status = sum_pd(b, md, &pd);

    if (status == VBS_OK && pd && !od_is_reference(pd)) {
        status = od_kernel_begin_with(b, pd);
        for (int i = 0; i < 3 && status == VBS_OK; i++)
            status =
                od_kernel_memory(b, &md[i], i < 2 ? OD_SRC : OD_DST, i % 2, NULL, &args[i].memory);
        if (status == VBS_OK)
            status = end_with(b, pd, 3, args);
    }
    dnnl_primitive_desc_destroy(pd);
    return status;
}

static bool is_sum(const struct od_build *b)
{
    bool fused = b->l->n_fused == 0 || (b->l->n_fused == 1 && b->l->fused[0].op == VBS_OP_RELU);

    return b->l->op == VBS_OP_ADD && b->l->n_inputs == 2 && fused && are_alike(b, false) &&
           vbs_shape_equal(&b->l->views[0], &b->l->shape) &&
           vbs_shape_equal(&b->l->views[1], &b->l->shape);
}

/* ---- pools ---- */

/* Gives whether the padding of a mean, which is 0, is the whole number 0 or does not count. */
static bool pads_well(const struct od_build *b)
{
    const union vbs_attributes *a = &b->l->attributes;
    bool padded = false;

    for (int i = 0; i < od_input(b, 0)->n_spatial; i++)
        padded |= a->pool.window.pad_low[i] != 0 || a->pool.window.pad_high[i] != 0;
    return b->l->op == VBS_OP_POOL_MAX || !a->pool.pad_counts || !padded ||
           od_stored_of(b, 0)->encoding.zero == 0;
}

static bool is_pool(const struct od_build *b)
{
    return (b->l->op == VBS_OP_POOL_MAX || b->l->op == VBS_OP_POOL_AVG) && b->l->n_fused == 0 &&
           are_alike(b, true) && od_stored_of(b, 0)->layout == OD_CHANNELS_LAST && pads_well(b);
}

static enum vbs_status build_pool(struct od_build *b)
{
    struct od_window w = od_window_of(b->l->op, &b->l->attributes, od_input(b, 0)->n_spatial);
    dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, NULL}, {DNNL_ARG_DST, NULL}};
    dnnl_memory_desc_t src, dst;
    dnnl_primitive_desc_t pd = NULL;
    union od_pool_desc desc;
    int n_fused = 0;
    dnnl_status_t dnnl;
    enum vbs_status status;

    VBS_TRY(od_describe_stored(b, od_input(b, 0), od_stored_of(b, 0), false, &src));
    VBS_TRY(od_describe_stored(b, od_output(b), od_stored_of(b, 1), false, &dst));
    dnnl = od_pool_desc(&w, dnnl_forward_inference, &src, &dst, &desc);
    if (dnnl != dnnl_success)
        return od_fail(b, dnnl, "describing a pool");
    status = od_best(b, &desc, 0, &n_fused, &pd);
    if (status == VBS_UNSUPPORTED)
        return VBS_OK;
    if (status == VBS_OK && !od_is_reference(pd)) {
        status = od_kernel_begin_with(b, pd);
        if (status == VBS_OK)
            status = od_kernel_memory(b, &src, OD_SRC, 0, NULL, &args[0].memory);
        if (status == VBS_OK)
            status = od_kernel_memory(b, &dst, OD_DST, 0, NULL, &args[1].memory);
        if (status == VBS_OK)
            status = end_with(b, pd, 2, args);
    }
    dnnl_primitive_desc_destroy(pd);
    return status;
}

/* ---- the choice ---- */

enum vbs_status od_build_native_values(struct od_build *b)
{
    if (is_sum(b))
        return build_sum(b);
    if (is_pool(b))
        return build_pool(b);
    return VBS_OK;
}
