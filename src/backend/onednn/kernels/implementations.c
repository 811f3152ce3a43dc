/* Every implementation that oneDNN offers for a layer with weights, and the choice of those that
 * can matter. */
#include "backend/onednn/kernels/implementations.h"

#include "backend/onednn/kernels/elementwise.h"
#include "backend/onednn/kernels/weights.h"

#include "base/fail.h"
#include "base/grow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void od_implementations_release(struct od_implementations *all)
{
    for (int i = 0; i < all->n; i++)
        dnnl_primitive_desc_destroy(all->list[i].pd);
    free(all->list);
}

int od_isa_rank(const char *impl)
{
    static const char *const names[] = {"sse41", "avx", "avx2", "avx512"};

    for (int i = 3; i >= 0; i--)
        if (strstr(impl, names[i]))
            return i + 1;
    return 0;
}

/* Gives how many operators the primitive of a variant may fuse. */
static int n_fusable(const struct od_build *b, const struct od_variant *variant)
{
    return variant->apart ? 0 : od_weights_fused(b, variant->algorithm);
}

void od_implementation_name(const char *impl, const char *how, char *name)
{
    snprintf(name, OD_IMPLEMENTATION_NAME, "%.40s%s", impl, how);
    for (char *p = name; *p; p++)
        if (*p == ' ' || *p == ',' || *p == ';')
            *p = '_';
}

/* Gives what is added to the library's name: "+reorder" where the kernel copies, "+apart" where
 * operators that could be fused are not, "+transposed" where the weights are. */
static const char *how_of(const struct od_variant *variant)
{
    if (variant->transposed)
        return variant->apart ? "+transposed+apart" : "+transposed";
    if (variant->canonical)
        return variant->apart ? "+apart" : "";
    return variant->apart ? "+reorder+apart" : "+reorder";
}

/* Adds an implementation that fuses n operators, and takes ownership of pd. */
static enum vbs_status add_implementation(struct od_build *b, struct od_implementations *all,
                                          dnnl_primitive_desc_t pd, struct od_variant variant,
                                          int n)
{
    struct od_implementation c = {.pd = pd, .variant = variant, .n_fused = n};
    const char *impl = od_pd_name(pd);

    if (vbs_grow(b->ctx, &all->list, &all->max, (int64_t)all->n + 1, sizeof *all->list)) {
        dnnl_primitive_desc_destroy(pd);
        return VBS_NO_MEMORY;
    }
    if (!impl) {
        dnnl_primitive_desc_destroy(pd);
        return od_fail(b, dnnl_runtime_error, "asking for an implementation's name");
    }
    c.impl = impl;
    od_implementation_name(impl, how_of(&variant), c.name);
    c.reference = strncmp(impl, "ref", 3) == 0;
    c.isa = od_isa_rank(impl);
    all->list[all->n++] = c;
    return VBS_OK;
}

/* Returns whether an implementation without fused operators need not be offered: with them it costs
 * no more, because convolutions apply them to values in registers, or is the same kernel, because
 * it does not fuse them (unfuse). Such a kernel is made where a profile of earlier versions
 * requests it. */
static bool fuses_well(const struct od_build *b, const struct od_implementations *all,
                       const_dnnl_primitive_desc_t pd, const struct od_variant *variant)
{
    const char *impl = od_pd_name(pd);

    for (int i = 0; impl && i < all->n; i++)
        if (!all->list[i].variant.apart && all->list[i].variant.src == variant->src &&
            all->list[i].variant.dst == variant->dst && strcmp(all->list[i].impl, impl) == 0)
            return b->l->op == VBS_OP_CONV || (all->list[i].n_fused == 0 && !b->requested);
    return false;
}

/* Replaces an implementation that would apply its *n fused operators value by value by the same one
 * without them. They are steps of their own then: a transposed convolution with them takes up to 20
 * times as long. */
static enum vbs_status unfuse(struct od_build *b, const_dnnl_op_desc_t desc,
                              dnnl_primitive_desc_t *pd, int *n)
{
    dnnl_primitive_attr_t attr = NULL;
    struct od_pds bare;
    dnnl_status_t dnnl;

    if (*n == 0 || !od_fuses_by_value(*pd))
        return VBS_OK;
    VBS_TRY(od_attributes(b, 0, 0, &attr));
    dnnl = od_pds_init(&bare, desc, attr, b->session->engine, od_pd_name(*pd));
    dnnl_primitive_attr_destroy(attr);
    if (dnnl != dnnl_success)
        return od_fail(b, dnnl, "looking for an implementation");
    if (bare.n > 0) {
        dnnl_primitive_desc_destroy(*pd);
        *pd = bare.list[0];
        bare.list[0] = NULL;
        *n = 0;
    }
    od_pds_clear(&bare);
    return VBS_OK;
}

enum vbs_status od_implementations_add(struct od_build *b, struct od_implementations *all,
                                       const_dnnl_op_desc_t desc, struct od_variant variant)
{
    const struct od_weights *w = &b->session->weights[b->layer];
    dnnl_primitive_attr_t attr = NULL;
    struct od_pds pds;
    dnnl_status_t dnnl;
    enum vbs_status status = od_attributes(b, w->n_folded, n_fusable(b, &variant), &attr);

    if (status != VBS_OK)
        return status;
    dnnl = od_pds_init(&pds, desc, attr, b->session->engine, NULL);
    dnnl_primitive_attr_destroy(attr);
    if (dnnl != dnnl_success)
        return od_fail(b, dnnl, "looking for implementations");
    for (int i = 0; i < pds.n && status == VBS_OK; i++) {
        int n = n_fusable(b, &variant);

        if (variant.apart && fuses_well(b, all, pds.list[i], &variant))
            continue;
        status = unfuse(b, desc, &pds.list[i], &n);
        if (status != VBS_OK)
            break;
        status = add_implementation(b, all, pds.list[i], variant, n);
        pds.list[i] = NULL;
    }
    od_pds_clear(&pds);
    return status;
}

static bool named_before(const struct od_implementations *all, int index)
{
    for (int i = 0; i < index; i++)
        if (strcmp(all->list[i].name, all->list[index].name) == 0)
            return true;
    return false;
}

/*
 * Gives whether a kernel that copies may be nearly as fast as those that do not. Measured on
 * AVX-512 at batches 1 to 12: copies cost a quarter of the time at 100 operations per byte copied,
 * and all of it below 30. GEMM is 1.5 to 4 times slower where it must unfold the input (im2col),
 * and else close to the blocked kernels. The channels-last brgconv is as fast as these, and a tenth
 * faster where they compute on padding.
 */
static bool copying_may_pay(const struct od_build *b, const struct od_implementation *c)
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
        if (b->l->attributes.weighted.window.kernel[i] > 1)
            return false;
    return true;
}

/* Gives whether an implementation is a fast one. A product of matrices for each group is not where
 * groups are small: of 80 channels in groups of one, with filters of 7 x 7, it takes 48 times as
 * long as a kernel for such groups between two copies. */
static bool is_fast(const struct od_build *b, const struct od_implementation *c)
{
    bool has_groups =
        b->l->op != VBS_OP_FC && b->l->attributes.weighted.groups > 1; /* an fc has none */

    return !c->reference && !(has_groups && strstr(c->name, "gemm"));
}

/* Gives whether an implementation can matter: not a reference where another one works, not a lesser
 * instruction set where a better one works, and not copies that cannot pay. */
static bool can_matter(const struct od_build *b, const struct od_implementations *all, int index)
{
    const struct od_implementation *c = &all->list[index];
    bool canonical_has_fast = false;

    if (named_before(all, index))
        return false;
    for (int i = 0; i < all->n; i++) {
        const struct od_implementation *other = &all->list[i];

        if (c->reference && !other->reference)
            return false;
        if (c->isa && c->isa < other->isa && (other->variant.canonical || !c->variant.canonical))
            return false;
        if (other->variant.canonical && is_fast(b, other))
            canonical_has_fast = true;
    }
    /* Winograd needs blocks, which tensors with the channels last do not have. */
    if (b->session->stripes && c->variant.algorithm == dnnl_convolution_winograd)
        return true;
    return c->variant.canonical || !canonical_has_fast || copying_may_pay(b, c);
}

/* An input or output of the primitive: the tensor itself (canonical is null), or a buffer from or
 * to which it is copied. Kernels that copy use true shapes, so that md suits the copy as well. */
struct operand {
    dnnl_memory_desc_t md, canonical_md;
    dnnl_memory_t memory, canonical;
};

static enum vbs_status operand_init(struct od_build *b, const struct od_tensor *tensor,
                                    enum od_location location, enum od_layout layout,
                                    const dnnl_memory_desc_t *md, struct operand *o)
{
    *o = (struct operand){.md = *md};
    if (layout == tensor->canonical)
        return od_kernel_memory(b, md, location, 0, NULL, &o->memory);
    VBS_TRY(od_describe(b, tensor, b->batch, tensor->canonical, false, &o->canonical_md));
    VBS_TRY(od_kernel_memory(b, &o->canonical_md, location, 0, NULL, &o->canonical));
    return od_kernel_buffer(b, md, &o->memory);
}

static enum vbs_status main_step(struct od_build *b, const struct od_implementation *c,
                                 const struct operand *src, const struct operand *dst,
                                 int64_t *weight_bytes, int *format)
{
    const struct od_weights *w = &b->session->weights[b->layer];
    const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(c->pd, dnnl_query_weights_md, 0);
    const dnnl_memory_desc_t *bias_md =
        w->bias ? dnnl_primitive_desc_query_md(c->pd, dnnl_query_weights_md, 1) : NULL;
    dnnl_exec_arg_t args[4] = {{DNNL_ARG_SRC, src->memory}, {DNNL_ARG_DST, dst->memory}};
    struct od_packed *packed;
    int n = 2;
    enum vbs_status status;

    VBS_TRY(od_weights_packed(b, md, 1, c->variant.stored, &packed));
    od_kernel_weights(b, packed, 0, packed->channels);
    args[n].arg = DNNL_ARG_WEIGHTS;
    status = od_kernel_memory(b, md, OD_WEIGHTS, 0, NULL, &args[n++].memory);
    if (status == VBS_OK && bias_md) {
        args[n].arg = DNNL_ARG_BIAS;
        status = od_kernel_memory(b, bias_md, OD_FIXED, 0, w->bias, &args[n++].memory);
    }
    *weight_bytes = packed->bytes + w->bias_bytes;
    *format = packed->number;
    return status == VBS_OK ? od_kernel_step(b, c->pd, n, args) : status;
}

/* Builds the kernel of a whole layer: copies in, the primitive, copies out, and the operators that
 * are not fused. */
static enum vbs_status build_whole(struct od_build *b, const struct od_implementation *c)
{
    const struct od_weights *w = &b->session->weights[b->layer];
    int64_t weight_bytes = 0;
    int format = 0;
    struct operand src = {0}, dst = {0};

    VBS_TRY(od_kernel_begin(b, c->name));
    VBS_TRY(operand_init(b, od_input(b, 0), OD_SRC, c->variant.src,
                         dnnl_primitive_desc_query_md(c->pd, dnnl_query_src_md, 0), &src));
    VBS_TRY(operand_init(b, od_output(b), OD_DST, c->variant.dst,
                         dnnl_primitive_desc_query_md(c->pd, dnnl_query_dst_md, 0), &dst));
    if (src.canonical)
        VBS_TRY(od_kernel_reorder(b, &src.canonical_md, src.canonical, &src.md, src.memory));
    VBS_TRY(main_step(b, c, &src, &dst, &weight_bytes, &format));
    if (dst.canonical)
        VBS_TRY(od_kernel_reorder(b, &dst.md, dst.memory, &dst.canonical_md, dst.canonical));
    return od_fused_end(b, w->n_folded + c->n_fused, weight_bytes, format);
}

/* Builds the kernel of an implementation, or the slice of it that is requested. */
static enum vbs_status build_kernel(struct od_build *b, const struct od_implementation *c)
{
    struct od_sliceable sliceable = {
        .impl = c->impl,
        .algorithm = c->variant.algorithm,
        .n_fused = c->n_fused,
        .md = dnnl_primitive_desc_query_md(c->pd, dnnl_query_weights_md, 0),
        .stored = c->variant.stored};
    bool divides = false;
    int64_t ws_bytes = 0;
    struct vbs_kernel *offer;
    enum vbs_status status = VBS_OK;

    if (c->variant.canonical && !c->variant.apart && !c->variant.transposed && !b->serial &&
        !b->row_output)
        status = od_can_slice(b, &sliceable, &divides, &ws_bytes);
    if (status == VBS_OK && b->requested && b->requested->n_slices > 1)
        return divides ? od_build_slice(b, c->name, &sliceable) : VBS_OK;
    if (status == VBS_OK)
        status = build_whole(b, c);
    if (status != VBS_OK || !divides)
        return status;
    offer = &b->session->core.offers[b->session->core.session.n_kernels - 1];
    offer->row_slices = 0;
    if (offer->ws_bytes < ws_bytes)
        offer->ws_bytes = ws_bytes;
    return VBS_OK;
}

enum vbs_status od_implementations_build(struct od_build *b, const struct od_implementations *all)
{
    int n_built = 0;

    for (int i = 0; i < all->n; i++) {
        if (b->requested
                ? named_before(all, i) || strcmp(all->list[i].name, b->requested->name) != 0
                : !can_matter(b, all, i))
            continue;
        VBS_TRY(build_kernel(b, &all->list[i]));
        n_built++;
    }
    return n_built > 0 || b->requested ? VBS_OK
                                       : od_fail(b, dnnl_unimplemented, vbs_op_word(b->l->op));
}

int64_t od_implementation_bytes(const struct od_implementation *c)
{
    return (int64_t)dnnl_memory_desc_get_size(
        dnnl_primitive_desc_query_md(c->pd, dnnl_query_weights_md, 0));
}

enum vbs_status od_implementations_for_slices(struct od_build *b,
                                              const struct od_implementations *all,
                                              const struct od_implementation **chosen)
{
    *chosen = NULL;
    for (int i = 0; i < all->n; i++) {
        const struct od_implementation *c = &all->list[i];
        struct od_sliceable sliceable = {
            c->impl, c->variant.algorithm, c->n_fused,
            dnnl_primitive_desc_query_md(c->pd, dnnl_query_weights_md, 0), c->variant.stored};
        bool divides;
        int64_t ws_bytes;

        if (c->reference || c->variant.apart || c->variant.transposed || !can_matter(b, all, i) ||
            (*chosen && od_implementation_bytes(*chosen) <= od_implementation_bytes(c)))
            continue;
        if (b->requested && strcmp(c->name, b->requested->name) != 0)
            continue;
        VBS_TRY(od_can_slice(b, &sliceable, &divides, &ws_bytes));
        if (!divides)
            *chosen = c;
    }
    return VBS_OK;
}
