/* Convolutions and inner products: every implementation that oneDNN offers and that can matter. */
#include "backend/onednn.h"

#include "base/fail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Layouts that a primitive works in; where they are not home, the kernel copies. */
struct variant {
    enum od_layout src, dst;
    bool home;
    bool stored; /* padding counts as channels */
};

/* An implementation of the layer. */
struct candidate {
    dnnl_primitive_desc_t pd;
    struct variant variant;
    char name[64];
    int isa; /* rank of the instruction set in its name; 0: none named */
    bool reference;
};

struct candidates {
    int n, max;
    struct candidate *list;
};

static void candidates_release(struct candidates *all)
{
    for (int i = 0; i < all->n; i++)
        dnnl_primitive_desc_destroy(all->list[i].pd);
    free(all->list);
}

static int isa_rank(const char *impl)
{
    static const char *const names[] = {"sse41", "avx", "avx2", "avx512"};

    for (int i = 3; i >= 0; i--)
        if (strstr(impl, names[i]))
            return i + 1;
    return 0;
}

/* "x64:gemm:jit" and, where the kernel copies, "x64:gemm:jit+reorder". */
static void name_candidate(struct candidate *c, const char *impl)
{
    snprintf(c->name, sizeof c->name, "%.40s%s", impl, c->variant.home ? "" : "+reorder");
    for (char *p = c->name; *p; p++)
        if (*p == ' ' || *p == ',' || *p == ';')
            *p = '_';
}

/* Takes pd. */
static enum vbs_status add_candidate(struct od_build *b, struct candidates *all,
                                     dnnl_primitive_desc_t pd, struct variant variant)
{
    struct candidate c = {.pd = pd, .variant = variant};
    const char *impl = NULL;
    dnnl_status_t status = dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &impl);

    if (all->n == all->max) {
        int max = all->max ? 2 * all->max : 16;
        struct candidate *list = realloc(all->list, (size_t)max * sizeof *list);

        if (!list) {
            dnnl_primitive_desc_destroy(pd);
            return vbs_no_memory(b->ctx);
        }
        all->list = list;
        all->max = max;
    }
    if (status != dnnl_success) {
        dnnl_primitive_desc_destroy(pd);
        return od_fail(b, status, "asking for an implementation's name");
    }
    name_candidate(&c, impl);
    c.reference = strncmp(impl, "ref", 3) == 0;
    c.isa = isa_rank(impl);
    all->list[all->n++] = c;
    return VBS_OK;
}

/* Adds all implementations of an operation; none is no failure. */
static enum vbs_status enumerate(struct od_build *b, struct candidates *all,
                                 const_dnnl_op_desc_t desc, bool relu, struct variant variant)
{
    dnnl_primitive_desc_iterator_t iterator = NULL;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t dnnl;
    enum vbs_status status = od_attributes(b, relu, &attr);

    if (status != VBS_OK)
        return status;
    dnnl = dnnl_primitive_desc_iterator_create(&iterator, desc, attr, b->session->engine, NULL);
    while (dnnl == dnnl_success && status == VBS_OK) {
        dnnl_primitive_desc_t pd = dnnl_primitive_desc_iterator_fetch(iterator);

        status = pd ? add_candidate(b, all, pd, variant) : vbs_no_memory(b->ctx);
        dnnl = dnnl_primitive_desc_iterator_next(iterator);
    }
    if (status == VBS_OK && dnnl != dnnl_success && dnnl != dnnl_iterator_ends &&
        dnnl != dnnl_unimplemented)
        status = od_fail(b, dnnl, "looking for implementations");
    dnnl_primitive_desc_iterator_destroy(iterator);
    dnnl_primitive_attr_destroy(attr);
    return status;
}

static bool named_before(const struct candidates *all, int index)
{
    for (int i = 0; i < index; i++)
        if (strcmp(all->list[i].name, all->list[index].name) == 0)
            return true;
    return false;
}

/*
 * Whether a kernel that copies may come near those that do not. Measured on AVX-512 at batches 1 to
 * 12: copies cost a quarter of the time at 100 operations per byte copied, and all of it below 30;
 * GEMM loses 1.5 to 4 times where it must unfold the input (im2col), and is close to the blocked
 * kernels where it need not; the channels-last brgconv is level with them, and a tenth ahead where
 * they compute on padding.
 */
static bool copying_may_pay(const struct od_build *b, const struct candidate *c)
{
    const struct od_tensor *in = od_input(b, 0), *out = od_output(b);
    bool padded = in->channels != in->stored_channels || out->channels != out->stored_channels;

    if (2 * b->l->macs / (in->bytes + out->bytes) < 100)
        return false;
    if (strstr(c->name, "brg"))
        return padded;
    if (!strstr(c->name, "gemm"))
        return false;
    for (int i = 0; i < in->n_spatial; i++)
        if (b->l->attributes.kernel[i] > 1)
            return false;
    return true;
}

/* Drops references where anything else works, lesser instruction sets where a better one does, and
 * copies that cannot pay. */
static bool keep(const struct od_build *b, const struct candidates *all, int index)
{
    const struct candidate *c = &all->list[index];
    bool home_has_fast = false;

    if (named_before(all, index))
        return false;
    for (int i = 0; i < all->n; i++) {
        const struct candidate *other = &all->list[i];

        if (c->reference && !other->reference)
            return false;
        if (c->isa && c->isa < other->isa && (other->variant.home || !c->variant.home))
            return false;
        if (other->variant.home && !other->reference)
            home_has_fast = true;
    }
    return c->variant.home || !home_has_fast || copying_may_pay(b, c);
}

/* What the primitive reads or writes: the tensor itself, or a buffer that is copied from or to it
 * (else home is null). Kernels that copy use true shapes, so that md suits the copy as well. */
struct operand {
    dnnl_memory_desc_t md, home_md;
    dnnl_memory_t memory, home;
};

static enum vbs_status operand_init(struct od_build *b, const struct od_tensor *tensor,
                                    enum od_place place, enum od_layout layout,
                                    const dnnl_memory_desc_t *md, struct operand *o)
{
    enum vbs_status status;

    *o = (struct operand){.md = *md};
    if (layout == tensor->home)
        return od_kernel_memory(b, md, place, 0, NULL, &o->memory);
    status = od_describe(b, tensor, b->batch, tensor->home, false, &o->home_md);
    if (status == VBS_OK)
        status = od_kernel_memory(b, &o->home_md, place, 0, NULL, &o->home);
    if (status == VBS_OK)
        status = od_kernel_buffer(b, md, &o->memory);
    return status;
}

static enum vbs_status main_step(struct od_build *b, const struct candidate *c,
                                 const struct operand *src, const struct operand *dst,
                                 int64_t *weight_bytes, int *form)
{
    const struct od_weights *w = &b->session->weights[b->layer];
    const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(c->pd, dnnl_query_weights_md, 0);
    const dnnl_memory_desc_t *bias_md =
        w->bias ? dnnl_primitive_desc_query_md(c->pd, dnnl_query_weights_md, 1) : NULL;
    dnnl_exec_arg_t args[4] = {{DNNL_ARG_SRC, src->memory}, {DNNL_ARG_DST, dst->memory}};
    const struct od_packed *packed;
    int n = 2;
    enum vbs_status status = od_weights_pack(b, md, c->variant.stored, &packed);

    if (status != VBS_OK)
        return status;
    args[n].arg = DNNL_ARG_WEIGHTS;
    status = od_kernel_memory(b, md, OD_FIXED, 0, packed->data, &args[n++].memory);
    if (status == VBS_OK && bias_md) {
        args[n].arg = DNNL_ARG_BIAS;
        status = od_kernel_memory(b, bias_md, OD_FIXED, 0, w->bias, &args[n++].memory);
    }
    *weight_bytes = packed->bytes + w->bias_bytes;
    *form = packed->number;
    return status == VBS_OK ? od_kernel_step(b, c->pd, n, args) : status;
}

/* Copy in, compute, copy out, what is bundled and not fused. */
static enum vbs_status build(struct od_build *b, const struct candidate *c)
{
    const struct od_weights *w = &b->session->weights[b->layer];
    int64_t weight_bytes = 0;
    int form = 0;
    struct operand src = {0}, dst = {0};
    enum vbs_status status = od_kernel_begin(b, c->name);

    if (status == VBS_OK)
        status = operand_init(b, od_input(b, 0), OD_SRC, c->variant.src,
                              dnnl_primitive_desc_query_md(c->pd, dnnl_query_src_md, 0), &src);
    if (status == VBS_OK)
        status = operand_init(b, od_output(b), OD_DST, c->variant.dst,
                              dnnl_primitive_desc_query_md(c->pd, dnnl_query_dst_md, 0), &dst);
    if (status == VBS_OK && src.home)
        status = od_kernel_reorder(b, &src.home_md, src.home, &src.md, src.memory);
    if (status == VBS_OK)
        status = main_step(b, c, &src, &dst, &weight_bytes, &form);
    if (status == VBS_OK && dst.home)
        status = od_kernel_reorder(b, &dst.md, dst.memory, &dst.home_md, dst.home);
    if (status == VBS_OK)
        status = od_bundled(b, w->n_folded + (w->relu ? 1 : 0), &weight_bytes);
    if (status == VBS_OK)
        od_kernel_end(b, weight_bytes, form);
    return status;
}

static enum vbs_status build_kept(struct od_build *b, const struct candidates *all)
{
    int n_built = 0;

    for (int i = 0; i < all->n; i++) {
        enum vbs_status status;

        if (!keep(b, all, i))
            continue;
        status = build(b, &all->list[i]);
        if (status != VBS_OK)
            return status;
        n_built++;
    }
    return n_built > 0 ? VBS_OK : od_fail(b, dnnl_unimplemented, vbs_op_word(b->l->op));
}

static enum vbs_status conv_desc(struct od_build *b, struct variant v, dnnl_alg_kind_t algorithm,
                                 dnnl_convolution_desc_t *desc)
{
    const struct vbs_attributes *a = &b->l->attributes;
    bool bias = b->session->weights[b->layer].bias;
    dnnl_memory_desc_t src, dst, weights, bias_md;
    dnnl_dims_t dims = {0}, strides, dilates, low, high;
    dnnl_status_t dnnl;
    int n;
    enum vbs_status status = od_describe(b, od_input(b, 0), b->batch, v.src, v.stored, &src);

    if (status == VBS_OK)
        status = od_describe(b, od_output(b), b->batch, v.dst, v.stored, &dst);
    if (status == VBS_OK)
        status = od_describe_vector(b, dst.dims[1], &bias_md);
    if (status != VBS_OK)
        return status;
    for (int i = 0; i < od_input(b, 0)->n_spatial; i++) {
        strides[i] = a->stride[i];
        dilates[i] = a->dilation[i] - 1;
        low[i] = a->pad_low[i];
        high[i] = a->pad_high[i];
    }
    n = od_filter_dims(b, v.stored, dims);
    dnnl = dnnl_memory_desc_init_by_tag(&weights, n, dims, dnnl_f32, dnnl_format_tag_any);
    if (dnnl == dnnl_success)
        dnnl = dnnl_dilated_convolution_forward_desc_init(desc, dnnl_forward_inference, algorithm,
                                                          &src, &weights, bias ? &bias_md : NULL,
                                                          &dst, strides, dilates, low, high);
    return dnnl == dnnl_success ? VBS_OK : od_fail(b, dnnl, "describing a convolution");
}

static enum vbs_status add_variant(struct od_build *b, struct candidates *all, struct variant v)
{
    static const dnnl_alg_kind_t algorithms[] = {dnnl_convolution_direct,
                                                 dnnl_convolution_winograd};
    bool relu = b->session->weights[b->layer].relu;

    for (int i = 0; i < 2; i++) {
        dnnl_convolution_desc_t desc;
        enum vbs_status status = conv_desc(b, v, algorithms[i], &desc);

        if (status == VBS_OK)
            status = enumerate(b, all, &desc, relu, v);
        if (status != VBS_OK)
            return status;
    }
    return VBS_OK;
}

enum vbs_status od_build_conv(struct od_build *b)
{
    enum od_layout src = od_input(b, 0)->home, dst = od_output(b)->home;
    bool can_be_stored = od_filter_can_be_stored(b);
    struct variant home = {src, dst, true, can_be_stored};
    struct variant blocked = {OD_BLOCKED, OD_BLOCKED, false, false};
    struct variant last = {OD_CHANNELS_LAST, OD_CHANNELS_LAST, false, false};
    struct candidates all = {0};
    enum vbs_status status = od_weights_init(b);

    if (status == VBS_OK)
        status = add_variant(b, &all, home);
    if (status == VBS_OK && b->session->block > 1 && (src != OD_BLOCKED || dst != OD_BLOCKED))
        status = add_variant(b, &all, blocked);
    if (status == VBS_OK)
        status = add_variant(b, &all, last);
    if (status == VBS_OK)
        status = build_kept(b, &all);
    candidates_release(&all);
    return status;
}

/* A product of matrices: [N, I] by [I, O]. A spatial input is read as one row per sample, in the
 * order in which it is stored; the weights are packed to match. */
enum vbs_status od_build_fc(struct od_build *b)
{
    const struct od_tensor *in = od_input(b, 0), *out = od_output(b);
    dnnl_dims_t src_dims = {b->batch, in->stored_channels * in->positions};
    dnnl_dims_t dst_dims = {b->batch, out->channels};
    dnnl_dims_t dims = {dst_dims[1], src_dims[1]};
    struct variant home = {in->home, out->home, true, true};
    struct candidates all = {0};
    dnnl_memory_desc_t src, dst, weights, bias;
    dnnl_inner_product_desc_t desc;
    dnnl_status_t dnnl;
    enum vbs_status status = od_weights_init(b);

    if (status == VBS_OK)
        status = od_describe_vector(b, dst_dims[1], &bias);
    if (status != VBS_OK)
        return status;
    dnnl = dnnl_memory_desc_init_by_tag(&src, 2, src_dims, dnnl_f32, dnnl_nc);
    if (dnnl == dnnl_success)
        dnnl = dnnl_memory_desc_init_by_tag(&dst, 2, dst_dims, dnnl_f32, dnnl_nc);
    if (dnnl == dnnl_success)
        dnnl = dnnl_memory_desc_init_by_tag(&weights, 2, dims, dnnl_f32, dnnl_format_tag_any);
    if (dnnl == dnnl_success)
        dnnl = dnnl_inner_product_forward_desc_init(
            &desc, dnnl_forward_inference, &src, &weights,
            b->session->weights[b->layer].bias ? &bias : NULL, &dst);
    if (dnnl != dnnl_success)
        return od_fail(b, dnnl, "describing an inner product");
    status = enumerate(b, &all, &desc, b->session->weights[b->layer].relu, home);
    if (status == VBS_OK)
        status = build_kept(b, &all);
    candidates_release(&all);
    return status;
}
