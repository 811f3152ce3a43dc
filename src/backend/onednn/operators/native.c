/*
 * Kernels of whole numbers and of bfloat16: convolutions, transposed ones too, and fully connected
 * layers whose input has 8 bits and whose weights are whole multiples of a step; convolutions and
 * fully connected layers whose input and weights are bfloat16. The latter work as kernels of floats
 * do, in the same layouts.
 *
 * oneDNN multiplies whole numbers, adds the bias in units of their products, and multiplies by a
 * factor of each output channel. Where only a ReLU or clip is fused, that factor contains the
 * output's scale, else a linear operation divides by it at the end. Operators behind a rounding are
 * looked up in a table.
 */
#include "backend/onednn/operators/operators.h"

#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/rows/rows.h"
#include "base/fail.h"
#include "model/network/network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A kernel before its primitive is known. */
struct whole {
    struct od_stored in, out;
    bool wide;            /* of bfloat16; else of whole numbers */
    bool stored;          /* bfloat16: padding counts as channels */
    bool scaled;          /* the factors contain the output's scale */
    struct od_tail tail;  /* an output of whole numbers is encoded as it says */
    float *factors;       /* [output channels] */
    float *bias;          /* [output channels] in units of products; null: there is none */
    int64_t first, count; /* the output channels that a primitive computes */
    int64_t rows;         /* of an fc, that a primitive computes */
};

/* ---- attributes ---- */

/* Gives whether an operator does the same to values divided by a scale, but for its limits. */
static bool scales(const struct vbs_fused *fused)
{
    return fused->op == VBS_OP_RELU || fused->op == VBS_OP_CLIP || fused->op == VBS_OP_DROPOUT ||
           fused->op == VBS_OP_LEAKY_RELU;
}

/* Appends a fused operator on values that have been divided by scale. */
static dnnl_status_t append_fused(const struct vbs_fused *fused, float scale, dnnl_post_ops_t ops)
{
    struct od_eltwise operations[OD_MAX_OPERATIONS];
    int n = od_eltwise_operations(fused->op, &fused->attributes, operations);
    dnnl_status_t status = dnnl_success;

    for (int i = 0; i < n && status == dnnl_success; i++) {
        bool clip = operations[i].algorithm == dnnl_eltwise_clip;

        status = dnnl_post_ops_append_eltwise(ops, 1, operations[i].algorithm,
                                              operations[i].alpha / (clip ? scale : 1),
                                              operations[i].beta / (clip ? scale : 1));
    }
    return status;
}

/* Appends the fused operators and, of an output of whole numbers, what is left to them. */
static dnnl_status_t append_operations(const struct od_build *b, const struct whole *w,
                                       dnnl_post_ops_t ops)
{
    const struct od_weights *weights = &b->session->weights[b->layer];
    const struct vbs_encoding *e = &w->out.encoding;
    dnnl_status_t status = dnnl_success;

    for (int i = weights->n_folded; i < w->tail.end && status == dnnl_success; i++)
        status = append_fused(&b->l->fused[i], w->scaled ? e->scale : 1, ops);
    /* ONNX Runtime adds the zero to the whole number. */
    if (status == dnnl_success && w->scaled && e->zero != 0)
        status = dnnl_post_ops_append_eltwise(ops, 1, dnnl_eltwise_round, 0, 0);
    if (status == dnnl_success && vbs_storage_is_whole(e->storage) && (!w->scaled || e->zero != 0))
        status = dnnl_post_ops_append_eltwise(ops, 1, dnnl_eltwise_linear,
                                              w->scaled ? 1 : 1 / e->scale, (float)e->zero);
    return status;
}

static enum vbs_status whole_attributes(struct od_build *b, const struct whole *w,
                                        dnnl_primitive_attr_t *attr)
{
    dnnl_primitive_attr_t made = NULL;
    dnnl_post_ops_t ops = NULL;
    int32_t zero = w->in.encoding.zero;
    dnnl_status_t status;

    if (w->wide)
        return od_attributes(b, b->session->weights[b->layer].n_folded,
                             b->session->weights[b->layer].n_fused, attr);
    status = dnnl_primitive_attr_create(&made);
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_scratchpad_mode(made, dnnl_scratchpad_mode_user);
    if (status == dnnl_success)
        status =
            dnnl_primitive_attr_set_output_scales(made, w->count, 1 << 1, w->factors + w->first);
    if (status == dnnl_success && zero != 0)
        status = dnnl_primitive_attr_set_zero_points(made, DNNL_ARG_SRC, 1, 0, &zero);
    if (status == dnnl_success)
        status = dnnl_post_ops_create(&ops);
    if (status == dnnl_success)
        status = append_operations(b, w, ops);
    return od_attributes_end(b, status, made, ops, attr);
}

/* ---- the layer ---- */

/* Gives whether oneDNN can do the fused operators up to number end, each algorithm once. */
static bool all_fuse(const struct od_build *b, int end, bool scaled)
{
    const struct od_weights *weights = &b->session->weights[b->layer];

    if (weights->n_folded + weights->n_fused < end)
        return false;
    for (int i = weights->n_folded; i < end; i++) {
        struct od_eltwise operations[OD_MAX_OPERATIONS];
        int n = od_eltwise_operations(b->l->fused[i].op, &b->l->fused[i].attributes, operations);

        for (int p = 0; p < n && !scaled; p++)
            if (operations[p].algorithm == dnnl_eltwise_linear)
                return false;
    }
    return true;
}

/* Describes the layer; *possible: there may be kernels of whole numbers. */
static enum vbs_status whole_init(struct od_build *b, struct whole *w, bool *possible)
{
    const struct od_weights *weights = &b->session->weights[b->layer];
    int64_t outputs = od_weights_outputs(b);

    *w = (struct whole){.in = *od_stored_of(b, 0),
                        .out = *od_stored_of(b, b->l->n_inputs),
                        .count = outputs,
                        .rows = b->batch * vbs_shape_elements(&b->l->shape) / outputs};
    w->scaled = vbs_storage_is_whole(w->out.encoding.storage);
    w->tail.end = b->l->n_fused;
    if (w->scaled) {
        VBS_TRY(od_tail_init(b, weights->n_folded, &w->tail));
        w->out.encoding = w->tail.encoding;
    }
    for (int i = weights->n_folded; i < w->tail.end; i++)
        w->scaled = w->scaled && scales(&b->l->fused[i]);
    *possible = weights->unit_factors && vbs_storage_is_whole(w->in.encoding.storage) &&
                w->out.encoding.storage != VBS_BFLOAT16 && all_fuse(b, w->tail.end, w->scaled);
    if (!*possible)
        return VBS_OK;
    w->bias = weights->unit_bias;
    w->factors = weights->unit_factors;
    if (!w->scaled)
        return VBS_OK;
    w->factors = od_constants(b, outputs);
    if (!w->factors)
        return vbs_no_memory(b->ctx);
    for (int64_t o = 0; o < outputs; o++)
        w->factors[o] = weights->unit_factors[o] / w->out.encoding.scale;
    return VBS_OK;
}

/* Describes the layer of bfloat16, all of whose operators are to fuse. */
static void wide_init(struct od_build *b, struct whole *w, bool *possible)
{
    const struct od_weights *weights = &b->session->weights[b->layer];

    *w = (struct whole){.in = *od_stored_of(b, 0),
                        .out = *od_stored_of(b, b->l->n_inputs),
                        .wide = true,
                        .bias = weights->bias};
    w->stored = b->l->op == VBS_OP_CONV && od_filter_can_be_stored(b);
    *possible = w->in.encoding.storage == VBS_BFLOAT16 && w->out.encoding.storage == VBS_BFLOAT16 &&
                weights->n_folded + weights->n_fused == b->l->n_fused && !od_breaks_padding(b);
}

/* Gives the packed weights that a kernel reads. */
static enum vbs_status pack(struct od_build *b, const struct whole *w, const dnnl_memory_desc_t *md,
                            struct od_packed **packed)
{
    return w->wide ? od_weights_packed(b, md, 1, w->stored, packed)
                   : od_weights_whole(b, md, 1, packed);
}

/* Builds the kernel of an implementation. dst is described in layout. */
static enum vbs_status build_kernel(struct od_build *b, const struct whole *w,
                                    const_dnnl_primitive_desc_t pd, enum od_layout layout)
{
    const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0);
    const dnnl_memory_desc_t *bias_md = dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 1);
    const dnnl_memory_desc_t *dst = dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0);
    dnnl_exec_arg_t args[4] = {{DNNL_ARG_SRC, NULL}, {DNNL_ARG_DST, NULL}};
    struct od_target target = {0};
    struct od_packed *packed;
    int64_t bias_bytes = 0;
    int n = 2;

    VBS_TRY(od_kernel_begin_with(b, pd));
    VBS_TRY(pack(b, w, md, &packed));
    od_kernel_weights(b, packed, 0, packed->channels);
    VBS_TRY(od_kernel_memory(b, dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 0), OD_SRC, 0,
                             NULL, &args[0].memory));
    if (w->out.encoding.storage == VBS_FLOAT32)
        VBS_TRY(od_target(b, layout, dst, &target));
    else
        VBS_TRY(od_kernel_memory(b, dst, OD_DST, 0, NULL, &target.memory));
    args[1].memory = target.memory;
    args[n].arg = DNNL_ARG_WEIGHTS;
    VBS_TRY(od_kernel_memory(b, md, OD_WEIGHTS, 0, NULL, &args[n++].memory));
    if (w->bias) {
        args[n].arg = DNNL_ARG_BIAS;
        bias_bytes = (int64_t)dnnl_memory_desc_get_size(bias_md);
        VBS_TRY(od_kernel_memory(b, bias_md, OD_FIXED, 0, w->bias, &args[n++].memory));
    }
    VBS_TRY(od_kernel_step(b, pd, n, args));
    VBS_TRY(od_target_end(b, &target));
    VBS_TRY(od_tail_step(b, &w->tail));
    return od_kernel_end(b, packed->bytes + bias_bytes + od_line_bytes(w->tail.line),
                         packed->number);
}

/* Gives whether an implementation computes what w says: exactly, where it multiplies bytes. */
static bool is_right(const struct whole *w, const_dnnl_primitive_desc_t pd)
{
    return w->wide || od_adds_bytes_exactly(pd);
}

/* Gives whether an implementation can matter: it is no reference and has the best instruction set.
 */
static bool can_matter(const struct od_pds *pds, int index)
{
    const char *name = od_pd_name(pds->list[index]);

    if (!name || od_is_reference(pds->list[index]))
        return false;
    for (int i = 0; i < pds->n; i++) {
        const char *other = od_pd_name(pds->list[i]);

        if (other && od_isa_rank(other) > od_isa_rank(name))
            return false;
        if (other && i < index && strcmp(other, name) == 0)
            return false;
    }
    return true;
}

/* Builds the kernels of all implementations of an operation that can matter, or the requested one.
 */
static enum vbs_status build_all(struct od_build *b, const struct whole *w,
                                 const_dnnl_op_desc_t desc, enum od_layout layout)
{
    dnnl_primitive_attr_t attr = NULL;
    struct od_pds pds;
    dnnl_status_t dnnl;
    enum vbs_status status;

    VBS_TRY(whole_attributes(b, w, &attr));
    dnnl = od_pds_init(&pds, desc, attr, b->session->engine, NULL);
    dnnl_primitive_attr_destroy(attr);
    if (dnnl != dnnl_success)
        return od_fail(b, dnnl, "looking for implementations");
    status = VBS_OK;
    for (int i = 0; i < pds.n && status == VBS_OK; i++) {
        const char *name = od_pd_name(pds.list[i]);

        if (!is_right(w, pds.list[i]))
            continue;
        if (b->requested ? name && strcmp(name, b->requested->name) == 0 : can_matter(&pds, i))
            status = build_kernel(b, w, pds.list[i], layout);
    }
    od_pds_clear(&pds);
    return status;
}

/* ---- convolutions ---- */

static enum vbs_status build_conv(struct od_build *b, const struct whole *w)
{
    dnnl_memory_desc_t src, dst, weights;
    union od_conv_desc desc;
    dnnl_dims_t dims = {0};
    int n = od_filter_dims(b, w->stored, dims);
    dnnl_status_t dnnl;

    VBS_TRY(od_describe_stored(b, od_input(b, 0), &w->in, w->stored, &src));
    VBS_TRY(od_describe_stored(b, od_output(b), &w->out, w->stored, &dst));
    dnnl = dnnl_memory_desc_init_by_tag(&weights, n, dims, w->wide ? dnnl_bf16 : dnnl_s8,
                                        dnnl_format_tag_any);
    if (dnnl != dnnl_success)
        return od_fail(b, dnnl, "describing weights");
    VBS_TRY(od_conv_desc(b, dnnl_convolution_direct, &src, &weights, &dst, &desc));
    return build_all(b, w, &desc, OD_CHANNELS_LAST);
}

/* ---- fully connected layers ---- */

/* Describes a product of matrices, whose primitive has zero points, which that of inner products
 * lacks: that of w's output channels. */
static enum vbs_status fc_desc(struct od_build *b, const struct whole *w, dnnl_matmul_desc_t *desc)
{
    int64_t outputs = od_weights_outputs(b);
    int64_t inputs = vbs_weight_count(b->network, b->layer) / outputs;
    dnnl_dims_t src_dims = {w->rows, inputs};
    dnnl_dims_t dst_dims = {w->rows, w->count}, weight_dims = {inputs, w->count};
    dnnl_dims_t bias_dims = {1, w->count};
    dnnl_memory_desc_t src, dst, weights, bias;
    dnnl_status_t dnnl = dnnl_memory_desc_init_by_tag(
        &src, 2, src_dims, od_data_type(w->in.encoding.storage), dnnl_ab);

    if (dnnl == dnnl_success)
        dnnl = dnnl_memory_desc_init_by_tag(&dst, 2, dst_dims,
                                            od_data_type(w->out.encoding.storage), dnnl_ab);
    if (dnnl == dnnl_success)
        dnnl = dnnl_memory_desc_init_by_tag(&weights, 2, weight_dims, dnnl_s8, dnnl_format_tag_any);
    if (dnnl == dnnl_success)
        dnnl = dnnl_memory_desc_init_by_tag(&bias, 2, bias_dims, dnnl_f32, dnnl_ab);
    if (dnnl == dnnl_success)
        dnnl = dnnl_matmul_desc_init(desc, &src, &weights, w->bias ? &bias : NULL, &dst);
    return dnnl == dnnl_success ? VBS_OK : od_fail(b, dnnl, "describing a product");
}

static enum vbs_status build_fc(struct od_build *b, const struct whole *w)
{
    dnnl_matmul_desc_t desc;

    VBS_TRY(fc_desc(b, w, &desc));
    return build_all(b, w, &desc, OD_PLAIN);
}

/* ---- fully connected layers in slices ---- */

/* Finds the implementation of the product of w's output channels, the first or that of this name;
 * null: there is none but a reference. */
static enum vbs_status slice_pd(struct od_build *b, const struct whole *w, const char *name,
                                dnnl_primitive_desc_t *pd)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_matmul_desc_t desc;
    struct od_pds pds;
    dnnl_status_t dnnl;

    *pd = NULL;
    VBS_TRY(fc_desc(b, w, &desc));
    VBS_TRY(whole_attributes(b, w, &attr));
    dnnl = od_pds_init(&pds, &desc, attr, b->session->engine, name);
    dnnl_primitive_attr_destroy(attr);
    if (dnnl != dnnl_success)
        return od_fail(b, dnnl, "looking for implementations");
    if (pds.n > 0 && od_pd_name(pds.list[0]) && !od_is_reference(pds.list[0]) &&
        is_right(w, pds.list[0])) {
        *pd = pds.list[0];
        pds.list[0] = NULL;
    }
    od_pds_clear(&pds);
    return VBS_OK;
}

/* The rows of a slice, which primitives write one after the other. */
struct row_copies {
    int64_t n, bytes, stride;
};

static bool copy_rows(const void *plan, float *const *data)
{
    const struct row_copies *p = plan;

    for (int64_t i = 0; i < p->n; i++)
        memcpy((char *)data[0] + i * p->stride, (const char *)data[1] + i * p->bytes,
               (size_t)p->bytes);
    return true;
}

/* Appends the copy of a slice's rows from the workspace to their places in the output. */
static enum vbs_status add_row_copies(struct od_build *b, const struct whole *w, int64_t rows,
                                      dnnl_memory_t to, dnnl_memory_t from)
{
    const dnnl_memory_t data[] = {to, from};
    struct row_copies *plan = vbs_arena_alloc(&b->session->core.arena, 1, sizeof *plan);

    if (!plan)
        return vbs_no_memory(b->ctx);
    plan->n = rows;
    plan->bytes = w->count * vbs_storage_bytes(w->out.encoding.storage);
    plan->stride = b->batch * od_stored_of(b, b->l->n_inputs)->bytes / rows;
    return od_kernel_call(b, copy_rows, plan, 2, data);
}

/* Appends the steps of w's output channels, whose weights begin there in the kernel's. Where there
 * are several rows, they go through the workspace from offset buffer on. */
static enum vbs_status slice_step(struct od_build *b, const struct whole *w,
                                  const_dnnl_primitive_desc_t pd, int64_t weights, int64_t buffer)
{
    const dnnl_memory_desc_t *dst = dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0);
    struct od_memory to = {.location = OD_DST,
                           .offset = w->first * vbs_storage_bytes(w->out.encoding.storage)};
    struct od_memory from = {.location = OD_WEIGHTS, .offset = weights};
    dnnl_exec_arg_t args[4] = {{DNNL_ARG_SRC, NULL},
                               {DNNL_ARG_DST, NULL},
                               {DNNL_ARG_WEIGHTS, NULL},
                               {DNNL_ARG_BIAS, NULL}};
    int64_t rows = dst->dims[0];
    dnnl_memory_t output;

    VBS_TRY(od_kernel_memory(b, dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 0), OD_SRC, 0,
                             NULL, &args[0].memory));
    VBS_TRY(od_kernel_add(b, dst, to, NULL, &output));
    args[1].memory = output;
    if (rows > 1)
        VBS_TRY(od_kernel_at(b, dst, buffer, &args[1].memory));
    VBS_TRY(od_kernel_add(b, dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0), from, NULL,
                          &args[2].memory));
    if (w->bias)
        VBS_TRY(od_kernel_memory(b, dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 1),
                                 OD_FIXED, 0, w->bias + w->first, &args[3].memory));
    VBS_TRY(od_kernel_step(b, pd, w->bias ? 4 : 3, args));
    return rows > 1 ? add_row_copies(b, w, rows, output, args[1].memory) : VBS_OK;
}

/* Appends the steps of n slices from number first on, of each_bytes of weights. */
static enum vbs_status slice_steps(struct od_build *b, struct whole w, const char *name, int first,
                                   int n, int64_t each_bytes)
{
    int64_t rows = b->batch * vbs_shape_elements(&b->l->shape) / od_weights_outputs(b);
    int64_t bytes = rows * w.count * vbs_storage_bytes(w.out.encoding.storage);
    int64_t buffer = rows > 1 ? od_kernel_reserve(b, bytes) : 0;

    for (int i = first; i < first + n; i++) {
        dnnl_primitive_desc_t pd;
        enum vbs_status status;

        w.first = i * w.count;
        VBS_TRY(slice_pd(b, &w, name, &pd));
        status = pd ? slice_step(b, &w, pd, (i - first) * each_bytes, buffer)
                    : od_fail(b, dnnl_unimplemented, "a slice");
        dnnl_primitive_desc_destroy(pd);
        VBS_TRY(status);
    }
    return VBS_OK;
}

/* Builds the kernel in n slices, or the requested one of them. pd: of the first slice. */
static enum vbs_status slices_kernel(struct od_build *b, const struct whole *w,
                                     const_dnnl_primitive_desc_t pd, int n)
{
    const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0);
    bool one = b->requested && b->requested->n_slices > 1;
    int first = one ? b->requested->slice - 1 : 0, count = one ? 1 : n;
    int64_t bias_bytes = w->bias ? od_weights_outputs(b) * (int64_t)sizeof *w->bias : 0;
    struct od_packed *packed;
    char shown[OD_KERNEL_NAME];

    snprintf(shown, sizeof shown, "%s/%d", od_pd_name(pd), n);
    VBS_TRY(od_weights_whole(b, md, n, &packed));
    VBS_TRY(od_kernel_begin(b, shown));
    od_kernel_weights(b, packed, first * w->count, count * w->count);
    VBS_TRY(slice_steps(b, *w, od_pd_name(pd), first, count, packed->bytes / n));
    VBS_TRY(
        od_kernel_end(b, od_packed_bytes(packed, count * w->count) + bias_bytes, packed->number));
    b->session->core.offers[b->session->core.session.n_kernels - 1].row_slices = n;
    return VBS_OK;
}

static enum vbs_status build_number(struct od_build *b, const struct whole *w, int n)
{
    struct whole slice = *w;
    dnnl_primitive_desc_t pd;
    enum vbs_status status = VBS_OK;

    slice.count = od_weights_outputs(b) / n;
    VBS_TRY(slice_pd(b, &slice, b->requested ? b->requested->name : NULL, &pd));
    if (pd)
        status = slices_kernel(b, &slice, pd, n);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

/* Gives whether slices of the output can be computed alone. */
static bool may_be_sliced(const struct od_build *b, const struct whole *w)
{
    const struct od_tensor *out = od_output(b);

    return !b->serial && w->tail.left.end == 0 &&
           (w->out.encoding.storage != VBS_FLOAT32 || out->canonical == OD_PLAIN ||
            od_layouts_agree(b->session, out, OD_PLAIN));
}

/* Builds the kernels in numbers of slices that suit the bytes of the weights, or the requested one.
 */
static enum vbs_status build_fc_in_slices(struct od_build *b, const struct whole *w)
{
    int64_t bytes = vbs_weight_count(b->network, b->layer), outputs = od_weights_outputs(b);
    int n, end;

    if (!may_be_sliced(b, w))
        return VBS_OK;
    if (b->requested) {
        n = b->requested->row_slices;
        return n > 1 && outputs % n == 0 &&
                       (b->requested->n_slices <= 1 || b->requested->n_slices == n)
                   ? build_number(b, w, n)
                   : VBS_OK;
    }
    for (od_slice_numbers(bytes, &n, &end); n < end; n *= 2)
        if (outputs % n == 0)
            VBS_TRY(build_number(b, w, n));
    return VBS_OK;
}

/* ---- fully connected layers with GELU ---- */

#define SUM_BYTES (640 << 10) /* of floats that stay in the caches between two steps */
#define MOST_SUMS 64          /* products that a kernel is cut into */

/* Gives whether a GELU is all that comes behind the sum, but for what od_tail_step does. */
static bool ends_with_gelu(const struct od_build *b, const struct whole *w)
{
    const struct vbs_encoding *to = &w->out.encoding;
    int at = b->session->weights[b->layer].n_folded;

    return vbs_storage_is_whole(to->storage) && w->tail.end == at + 1 &&
           od_is_gelu_step(&b->l->fused[at]) && od_rows_take(to->scale);
}

/* Gives how many products of equal numbers of rows have sums that are small enough; 0: no number.
 */
static int64_t count_products(const struct whole *w)
{
    for (int64_t n = 1; n <= MOST_SUMS && n <= w->rows; n++)
        if (w->rows % n == 0 && w->rows / n * w->count * (int64_t)sizeof(float) <= SUM_BYTES)
            return n;
    return 0;
}

/* Appends the steps of product number i, whose sums go to args[1]. */
static enum vbs_status gelu_steps(struct od_build *b, const struct whole *w,
                                  const struct whole *sums, const_dnnl_primitive_desc_t pd,
                                  int64_t i, dnnl_exec_arg_t *args)
{
    const dnnl_memory_desc_t *src = dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 0);
    const dnnl_memory_desc_t *dst = dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0);
    int64_t values = sums->rows * sums->count;
    struct od_memory from = {.location = OD_SRC,
                             .offset = i * (int64_t)dnnl_memory_desc_get_size(src)};
    struct od_memory to = {.location = OD_DST, .offset = i * values};
    dnnl_memory_t target;

    VBS_TRY(od_kernel_add(b, src, from, NULL, &args[0].memory));
    VBS_TRY(od_kernel_add(b, dst, to, NULL, &target)); /* only its address is used */
    VBS_TRY(od_kernel_step(b, pd, w->bias ? 4 : 3, args));
    return od_gelu_step(b, &w->out.encoding, values, args[1].memory, target);
}

static enum vbs_status gelu_kernel(struct od_build *b, const struct whole *w,
                                   const struct whole *sums, const_dnnl_primitive_desc_t pd,
                                   const char *name)
{
    const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0);
    dnnl_exec_arg_t args[4] = {{DNNL_ARG_SRC, NULL},
                               {DNNL_ARG_DST, NULL},
                               {DNNL_ARG_WEIGHTS, NULL},
                               {DNNL_ARG_BIAS, NULL}};
    int64_t bias_bytes = w->bias ? w->count * (int64_t)sizeof *w->bias : 0;
    struct od_packed *packed;

    VBS_TRY(od_kernel_begin(b, name));
    VBS_TRY(od_weights_whole(b, md, 1, &packed));
    od_kernel_weights(b, packed, 0, packed->channels);
    VBS_TRY(od_kernel_buffer(b, dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0),
                             &args[1].memory));
    VBS_TRY(od_kernel_memory(b, md, OD_WEIGHTS, 0, NULL, &args[2].memory));
    if (w->bias)
        VBS_TRY(od_kernel_memory(b, dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 1),
                                 OD_FIXED, 0, w->bias, &args[3].memory));
    for (int64_t i = 0; i < w->rows / sums->rows; i++)
        VBS_TRY(gelu_steps(b, w, sums, pd, i, args));
    VBS_TRY(od_tail_step(b, &w->tail));
    return od_kernel_end(b, packed->bytes + bias_bytes + od_line_bytes(w->tail.line),
                         packed->number);
}

/* Builds the kernel that leaves GELU to a step of its own, which takes less time than the
 * library's post-op, or none where another kernel is requested. */
static enum vbs_status build_gelu(struct od_build *b, const struct whole *w)
{
    struct whole sums = *w;
    int64_t n = ends_with_gelu(b, w) ? count_products(w) : 0;
    char name[OD_IMPLEMENTATION_NAME];
    dnnl_primitive_desc_t pd = NULL;
    enum vbs_status status = VBS_OK;

    if (n == 0)
        return VBS_OK;
    sums.rows = w->rows / n;
    sums.out.encoding = (struct vbs_encoding){.storage = VBS_FLOAT32};
    sums.tail.end = b->session->weights[b->layer].n_folded;
    VBS_TRY(slice_pd(b, &sums, NULL, &pd));
    if (!pd)
        return VBS_OK;
    od_implementation_name(od_pd_name(pd), "+gelu", name);
    if (!b->requested || strcmp(name, b->requested->name) == 0)
        status = gelu_kernel(b, w, &sums, pd, name);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

/* ---- fully connected layers of bfloat16 ---- */

/* An inner product of bfloat16, of the inputs in the order in which they are stored. */
static enum vbs_status build_wide_fc(struct od_build *b, const struct whole *w)
{
    int64_t outputs = od_weights_outputs(b);
    dnnl_dims_t src_dims = {b->batch * vbs_shape_elements(&b->l->shape) / outputs,
                            od_weights_inputs(b)};
    dnnl_dims_t dst_dims = {src_dims[0], outputs}, weight_dims = {outputs, src_dims[1]};
    dnnl_memory_desc_t src, dst, weights, bias;
    dnnl_inner_product_desc_t desc;
    dnnl_status_t dnnl = dnnl_memory_desc_init_by_tag(&src, 2, src_dims, dnnl_bf16, dnnl_ab);

    VBS_TRY(od_describe_vector(b, outputs, &bias));
    if (dnnl == dnnl_success)
        dnnl = dnnl_memory_desc_init_by_tag(&dst, 2, dst_dims, dnnl_bf16, dnnl_ab);
    if (dnnl == dnnl_success)
        dnnl =
            dnnl_memory_desc_init_by_tag(&weights, 2, weight_dims, dnnl_bf16, dnnl_format_tag_any);
    if (dnnl == dnnl_success)
        dnnl = dnnl_inner_product_forward_desc_init(&desc, dnnl_forward_inference, &src, &weights,
                                                    w->bias ? &bias : NULL, &dst);
    return dnnl == dnnl_success ? build_all(b, w, &desc, OD_PLAIN)
                                : od_fail(b, dnnl, "describing an inner product");
}

/* Gives whether the layer is a convolution, of either kind. */
static bool has_filter(const struct od_build *b)
{
    return b->l->op == VBS_OP_CONV || b->l->op == VBS_OP_CONV_TRANSPOSE;
}

/* Gives whether oneDNN's kernel of whole numbers computes a transposed convolution. It makes
 * positions of the output that no input reaches wrong, and its code for blocks of fewer than 16
 * channels of a group cannot always be generated. */
static bool transposes_well(const struct od_build *b)
{
    const union vbs_attributes *a = &b->l->attributes;
    const struct vbs_window *w = &a->weighted.window;
    int64_t in = od_input(b, 0)->channels / a->weighted.groups;
    int64_t out = od_output(b)->channels / a->weighted.groups;

    for (int i = 0; i < od_input(b, 0)->n_spatial; i++)
        if (w->kernel[i] < w->stride[i] || w->pad_high[i] < a->weighted.out_pad[i])
            return false;
    return a->weighted.groups == 1 || (in == 1 && out == 1) || (in % 16 == 0 && out % 16 == 0);
}

/* Gives whether the layer can work on its tensors as they lie in memory. */
static bool layouts_suit(const struct od_build *b, const struct whole *w)
{
    const struct od_tensor *own = &b->session->tensors[b->l->inputs[0]];
    bool flat = own->positions == 1 || own->channels == 1;

    if (w->wide) /* as for floats */
        return od_input(b, 0)->canonical == w->in.layout &&
               (b->l->op == VBS_OP_CONV || b->l->attributes.weighted.rows ||
                od_output(b)->positions == 1);
    if (b->l->op == VBS_OP_FC)
        return (!b->l->attributes.weighted.rows || w->in.layout == OD_PLAIN || flat) &&
               (w->out.layout != OD_CHANNELS_LAST || od_output(b)->positions == 1);
    return w->in.layout == OD_CHANNELS_LAST && vbs_shape_equal(&own->shape, &b->l->views[0]) &&
           (w->out.layout == OD_CHANNELS_LAST || w->out.encoding.storage == VBS_FLOAT32);
}

enum vbs_status od_build_native(struct od_build *b)
{
    struct whole w;
    bool slices = b->requested && (b->requested->row_slices || b->requested->n_slices > 1);
    bool possible = false;

    if (!has_filter(b) && b->l->op != VBS_OP_FC)
        return slices ? VBS_OK : od_build_native_values(b);
    if (b->l->weights == VBS_FLOAT32)
        return VBS_OK;
    VBS_TRY(od_weights_init(b));
    if (b->l->weights == VBS_BFLOAT16)
        wide_init(b, &w, &possible);
    else
        VBS_TRY(whole_init(b, &w, &possible));
    if (!possible || !layouts_suit(b, &w))
        return VBS_OK;
    if (slices && (has_filter(b) || w.wide))
        return VBS_OK;
    if (b->l->op == VBS_OP_CONV_TRANSPOSE && !transposes_well(b))
        return VBS_OK;
    if (has_filter(b) || w.wide)
        return has_filter(b) ? build_conv(b, &w) : build_wide_fc(b, &w);
    if (!slices) {
        VBS_TRY(build_fc(b, &w));
        VBS_TRY(build_gelu(b, &w));
    }
    return build_fc_in_slices(b, &w);
}
