/* Convolutions, transposed ones too, and inner products. */
#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/operators/operators.h"

#include "base/fail.h"

#include <stddef.h>

/* ---- convolutions ---- */

static enum vbs_status whole_desc(struct od_build *b, struct od_variant v, union od_conv_desc *desc)
{
    dnnl_memory_desc_t src, dst, weights;
    dnnl_dims_t dims = {0};
    dnnl_status_t dnnl;
    int n = od_filter_dims(b, v.stored, dims);

    VBS_TRY(od_describe(b, od_input(b, 0), b->batch, v.src, v.stored, &src));
    VBS_TRY(od_describe(b, od_output(b), b->batch, v.dst, v.stored, &dst));
    dnnl = dnnl_memory_desc_init_by_tag(&weights, n, dims, dnnl_f32, dnnl_format_tag_any);
    return dnnl == dnnl_success ? od_conv_desc(b, v.algorithm, &src, &weights, &dst, desc)
                                : od_fail(b, dnnl, "describing weights");
}

/* Adds the implementations of both algorithms, and those that fuse no operators. */
static enum vbs_status add_variant(struct od_build *b, struct od_implementations *all,
                                   struct od_variant v)
{
    static const dnnl_alg_kind_t algorithms[] = {dnnl_convolution_direct,
                                                 dnnl_convolution_winograd};

    for (int i = 0; i < 2; i++) {
        union od_conv_desc desc;

        v.algorithm = algorithms[i];
        v.apart = false;
        VBS_TRY(whole_desc(b, v, &desc));
        VBS_TRY(od_implementations_add(b, all, &desc, v));
        v.apart = true;
        if (od_weights_fused(b, v.algorithm) > 0)
            VBS_TRY(od_implementations_add(b, all, &desc, v));
    }
    return VBS_OK;
}

static struct od_variant canonical_variant(const struct od_build *b)
{
    return (struct od_variant){.src = od_input(b, 0)->canonical,
                               .dst = od_output(b)->canonical,
                               .canonical = true,
                               .stored = od_filter_can_be_stored(b)};
}

static enum vbs_status build_all(struct od_build *b)
{
    enum od_layout src = od_input(b, 0)->canonical, dst = od_output(b)->canonical;
    struct od_variant blocked = {.src = OD_BLOCKED, .dst = OD_BLOCKED};
    struct od_variant last = {.src = OD_CHANNELS_LAST, .dst = OD_CHANNELS_LAST};
    struct od_implementations all = {0};
    enum vbs_status status = add_variant(b, &all, canonical_variant(b));

    if (status != VBS_OK)
        goto done;
    if (b->session->block > 1 && (src != OD_BLOCKED || dst != OD_BLOCKED))
        status = add_variant(b, &all, blocked);
    if (status != VBS_OK)
        goto done;
    status = add_variant(b, &all, last);
    if (status != VBS_OK)
        goto done;
    status = od_implementations_build(b, &all);
    if (status == VBS_OK)
        status = od_build_tiling(b);
done:
    od_implementations_release(&all);
    return status;
}

/* Builds the kernels that are measured in slices: those of layers with large weights and with a
 * primitive for one sample. */
static enum vbs_status build_in_slices(struct od_build *b)
{
    struct od_implementations all = {0};
    const struct od_implementation *chosen = NULL;
    int batch = b->batch;
    enum vbs_status status;

    b->batch = 1;
    status = add_variant(b, &all, canonical_variant(b));
    if (status == VBS_OK)
        status = od_implementations_for_slices(b, &all, &chosen);
    b->batch = batch;
    if (status == VBS_OK && chosen) {
        struct od_sliceable sliceable = {chosen->impl, chosen->variant.algorithm, chosen->n_fused,
                                         NULL, chosen->variant.stored};

        status = od_build_in_slices(b, chosen->name, &sliceable, od_implementation_bytes(chosen));
    }
    od_implementations_release(&all);
    return status;
}

enum vbs_status od_build_conv(struct od_build *b)
{
    VBS_TRY(od_weights_init(b));
    if (!(b->requested && b->requested->row_slices))
        VBS_TRY(build_all(b));
    VBS_TRY(od_build_winograd(b));
    if (od_may_run_in_slices(b))
        VBS_TRY(build_in_slices(b));
    return od_build_coded(b);
}

/* ---- inner products ---- */

/* Gives whether a GELU is fused, which takes longer in oneDNN's primitives than as a step. */
static bool fuses_gelu(const struct od_build *b)
{
    const struct od_weights *w = &b->session->weights[b->layer];

    for (int i = 0; i < w->n_fused; i++)
        if (od_is_gelu_step(&b->l->fused[w->n_folded + i]))
            return true;
    return false;
}

/* Adds implementations with weights in a layout, and those that fuse no GELU. */
static enum vbs_status add_matrix(struct od_build *b, struct od_implementations *all,
                                  dnnl_format_tag_t layout)
{
    const struct od_tensor *in = od_input(b, 0), *out = od_output(b);
    dnnl_dims_t dims = {od_weights_outputs(b), od_weights_inputs(b)};
    struct od_variant canonical = {.src = in->canonical,
                                   .dst = out->canonical,
                                   .canonical = true,
                                   .stored = true,
                                   .transposed = layout == dnnl_ba};
    dnnl_memory_desc_t weights;
    dnnl_inner_product_desc_t desc;
    dnnl_status_t dnnl = dnnl_memory_desc_init_by_tag(&weights, 2, dims, dnnl_f32, layout);

    VBS_TRY(dnnl == dnnl_success ? od_fc_desc(b, &weights, &desc)
                                 : od_fail(b, dnnl, "describing weights"));
    VBS_TRY(od_implementations_add(b, all, &desc, canonical));
    canonical.apart = fuses_gelu(b);
    return canonical.apart ? od_implementations_add(b, all, &desc, canonical) : VBS_OK;
}

/* Builds an implementation that does not divide in slices of whole blocks of its weights, which
 * need no other format. */
static enum vbs_status build_matrix_in_slices(struct od_build *b,
                                              const struct od_implementations *all)
{
    const struct od_implementation *chosen;
    struct od_sliceable sliceable = {0};
    enum vbs_status status = od_implementations_for_slices(b, all, &chosen);

    if (status != VBS_OK || !chosen)
        return status;
    sliceable = (struct od_sliceable){
        .impl = chosen->impl,
        .n_fused = chosen->n_fused,
        .md = dnnl_primitive_desc_query_md(chosen->pd, dnnl_query_weights_md, 0),
        .stored = true};
    return od_build_in_slices(b, chosen->name, &sliceable, od_implementation_bytes(chosen));
}

/* An fc is a product of matrices: [N, I] by [I, O]. A spatial input is read as one row per sample,
 * in the order in which it is stored; the weights are packed to match. Kernels that work with
 * weights output by output are offered with them, which can be divided. Where a sample has many
 * rows, GEMM is offered with transposed weights, too: for 197 rows it takes 0.75 to 0.85 of the
 * time then. For few rows they gain nothing. */
enum vbs_status od_build_fc(struct od_build *b)
{
    struct od_implementations all = {0};
    enum vbs_status status = od_weights_init(b);

    if (status != VBS_OK)
        goto done;
    status = add_matrix(b, &all, dnnl_ab);
    if (status != VBS_OK)
        goto done;
    status = add_matrix(b, &all, dnnl_format_tag_any);
    if (status == VBS_OK && b->l->attributes.weighted.rows)
        status = add_matrix(b, &all, dnnl_ba);
    if (status != VBS_OK)
        goto done;
    if (!(b->requested && b->requested->row_slices))
        status = od_implementations_build(b, &all);
    if (status != VBS_OK)
        goto done;
    if (od_may_run_in_slices(b))
        status = build_matrix_in_slices(b, &all);
    if (status == VBS_OK)
        status = od_build_coded(b);
done:
    od_implementations_release(&all);
    return status;
}
