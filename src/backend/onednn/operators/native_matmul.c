/*
 * Products of two tensors of 8 bits, both of which are data. oneDNN multiplies whole numbers less
 * their zeros, and sums of products by one factor. It wants a second operand with a sign: the
 * numbers of one without are copied to the workspace less 128.
 *
 * A product of 8 bits is rounded before its zero is added, as ONNX Runtime does.
 */
#include "backend/onednn/operators/operators.h"

#include "backend/onednn/kernels/kernels.h"
#include "base/fail.h"
#include "model/network/network.h"

#include <string.h>

#define MOST_TERMS 16384 /* of a sum, which a 32-bit number holds whatever the terms are */

struct whole_product {
    struct od_factor x, y, z;
    struct vbs_encoding first, second, to;
    struct od_tail tail; /* of an output of 8 bits */
    float factor;
};

/* ---- the primitive ---- */

/* Appends what comes behind the sum times the factor. */
static dnnl_status_t append_end(const struct whole_product *p, dnnl_post_ops_t ops)
{
    dnnl_status_t status;

    if (p->to.zero == 0)
        return dnnl_success;
    status = dnnl_post_ops_append_eltwise(ops, 1, dnnl_eltwise_round, 0, 0);
    if (status == dnnl_success)
        status = dnnl_post_ops_append_eltwise(ops, 1, dnnl_eltwise_linear, 1, (float)p->to.zero);
    return status;
}

/* Makes the attributes; those of an output of floats contain the fused operators. */
static enum vbs_status product_attributes(struct od_build *b, const struct whole_product *p,
                                          dnnl_primitive_attr_t *attr)
{
    bool whole = vbs_storage_is_whole(p->to.storage);
    int32_t zero_x = p->first.zero, zero_y = p->second.zero;
    dnnl_primitive_attr_t made = NULL;
    dnnl_post_ops_t ops = NULL;
    dnnl_status_t status = dnnl_success;

    VBS_TRY(od_attributes(b, 0, whole ? 0 : b->l->n_fused, &made));
    status = dnnl_primitive_attr_set_output_scales(made, 1, 0, &p->factor);
    if (status == dnnl_success && zero_x != 0)
        status = dnnl_primitive_attr_set_zero_points(made, DNNL_ARG_SRC, 1, 0, &zero_x);
    if (status == dnnl_success && zero_y != 0)
        status = dnnl_primitive_attr_set_zero_points(made, DNNL_ARG_WEIGHTS, 1, 0, &zero_y);
    if (status == dnnl_success && whole)
        status = dnnl_post_ops_create(&ops);
    if (status == dnnl_success && whole)
        status = append_end(p, ops);
    return od_attributes_end(b, status, made, ops, attr);
}

static enum vbs_status describe(struct od_build *b, const struct od_factor *f,
                                enum vbs_storage storage, dnnl_memory_desc_t *md)
{
    VBS_TRY(od_describe_dense(b, f->n_dims, f->dims, md));
    md->data_type = od_data_type(storage);
    return VBS_OK;
}

/* Finds the implementation; null: there is none that is fast. */
static enum vbs_status product_pd(struct od_build *b, const struct whole_product *p,
                                  dnnl_primitive_desc_t *pd)
{
    dnnl_memory_desc_t src, weights, dst;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_matmul_desc_t desc;
    dnnl_status_t dnnl;

    *pd = NULL;
    VBS_TRY(describe(b, &p->x, p->first.storage, &src));
    VBS_TRY(describe(b, &p->y, p->second.storage, &weights));
    VBS_TRY(describe(b, &p->z, p->to.storage, &dst));
    dnnl = dnnl_matmul_desc_init(&desc, &src, &weights, NULL, &dst);
    if (dnnl != dnnl_success)
        return od_fail(b, dnnl, "describing a product");
    VBS_TRY(product_attributes(b, p, &attr));
    dnnl = od_pd_first(&desc, attr, b->session->engine, pd);
    dnnl_primitive_attr_destroy(attr);
    if (dnnl == dnnl_unimplemented)
        return VBS_OK;
    if (dnnl != dnnl_success)
        return od_fail(b, dnnl, "looking for implementations");
    if (!od_has_vnni(*pd)) {
        dnnl_primitive_desc_destroy(*pd);
        *pd = NULL;
    }
    return VBS_OK;
}

/* ---- the kernel ---- */

/* Makes the memory of the second operand, with a sign. */
static enum vbs_status second_memory(struct od_build *b, const struct whole_product *p,
                                     const_dnnl_primitive_desc_t pd, dnnl_memory_t *memory)
{
    const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0);
    const struct od_stored *stored = od_stored_of(b, p->y.input);
    dnnl_memory_t from;
    uint8_t *table;

    if (stored->encoding.storage == VBS_INT8)
        return od_kernel_memory(b, md, OD_SRC, p->y.input, NULL, memory);
    table = vbs_arena_alloc(&b->session->core.arena, OD_TABLE, sizeof *table);
    if (!table)
        return vbs_no_memory(b->ctx);
    for (int i = 0; i < OD_TABLE; i++)
        table[i] = (uint8_t)(i ^ 128);
    VBS_TRY(od_stored_memory(b, p->y.input, &from));
    VBS_TRY(od_kernel_buffer(b, md, memory));
    return od_table_step(b, table, b->batch * stored->bytes, from, *memory);
}

static enum vbs_status build_product(struct od_build *b, const struct whole_product *p,
                                     const_dnnl_primitive_desc_t pd)
{
    dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, NULL}, {DNNL_ARG_WEIGHTS, NULL}, {DNNL_ARG_DST, NULL}};

    VBS_TRY(od_kernel_begin_with(b, pd));
    VBS_TRY(od_kernel_memory(b, dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 0), OD_SRC,
                             p->x.input, NULL, &args[0].memory));
    VBS_TRY(second_memory(b, p, pd, &args[1].memory));
    VBS_TRY(od_kernel_memory(b, dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0), OD_DST, 0,
                             NULL, &args[2].memory));
    VBS_TRY(od_kernel_step(b, pd, 3, args));
    VBS_TRY(od_tail_step(b, &p->tail));
    return od_kernel_end(b, od_line_bytes(p->tail.line), od_line_format(p->tail.line));
}

/* Gives whether both operands have 8 bits, and all tensors lie in row-major order. */
static bool is_possible(const struct od_build *b)
{
    const struct od_tensor *out = od_output(b);

    if (b->l->n_inputs != 2)
        return false;
    for (int i = 0; i < 2; i++)
        if (!vbs_storage_is_whole(od_stored_of(b, i)->encoding.storage) ||
            od_stored_layout(b, i) != OD_PLAIN)
            return false;
    if (vbs_storage_is_whole(od_stored_of(b, 2)->encoding.storage))
        return od_stored_layout(b, 2) == OD_PLAIN;
    return od_stored_of(b, 2)->encoding.storage == VBS_FLOAT32 && out->canonical == OD_PLAIN &&
           od_fusable(b, 0) == b->l->n_fused;
}

/* Describes the product; *possible: all operators behind it are in the kernel. */
static enum vbs_status product_init(struct od_build *b, struct whole_product *p, bool *possible)
{
    *p = (struct whole_product){.to = od_stored_of(b, 2)->encoding};
    od_factors_init(b, &p->x, &p->y, &p->z);
    p->first = od_stored_of(b, p->x.input)->encoding;
    p->second = od_stored_of(b, p->y.input)->encoding;
    p->factor = p->first.scale * p->second.scale;
    *possible = p->x.dims[p->x.n_dims - 1] <= MOST_TERMS;
    if (vbs_storage_is_whole(p->to.storage)) {
        VBS_TRY(od_tail_init(b, 0, &p->tail));
        *possible &= p->tail.end == 0;
        p->to = p->tail.encoding;
        p->factor /= p->to.scale;
    }
    if (p->second.storage == VBS_UINT8) {
        p->second.storage = VBS_INT8;
        p->second.zero -= 128;
    }
    return VBS_OK;
}

enum vbs_status od_build_native_matmul(struct od_build *b)
{
    dnnl_primitive_desc_t pd = NULL;
    struct whole_product p;
    bool possible = false;
    enum vbs_status status = VBS_OK;

    if (!is_possible(b))
        return VBS_OK;
    VBS_TRY(product_init(b, &p, &possible));
    if (!possible)
        return VBS_OK;
    VBS_TRY(product_pd(b, &p, &pd));
    if (pd)
        status = build_product(b, &p, pd);
    dnnl_primitive_desc_destroy(pd);
    return status;
}
