/*
 * Layers on some of their output channels: requested slices, and kernels that run a layer
 * slice after slice.
 *
 * A convolution runs sample by sample: the channels of one sample lie side by side, so that a range
 * of them is a tensor of its own and nothing is copied. Where the channels are last, the slice of a
 * sample goes through a buffer. Direct kernels lose no time by this.
 * Winograd kernels need the workspace of one sample only, and keep the transformed data in the
 * caches. An inner product runs all samples at once, so that its weights are read once; where there
 * are several, their outputs go through a buffer.
 */
#include "backend/onednn/kernels/slices.h"

#include "backend/onednn/kernels/elementwise.h"
#include "backend/onednn/kernels/weights.h"

#include "base/fail.h"

#include <stdio.h>
#include <string.h>

/* A layer is measured in at most N_NUMBERS numbers of slices, such that a slice has more than
 * LEAST_SLICE_BYTES and at most MOST_SLICE_BYTES. */
#define MOST_SLICE_BYTES  ((int64_t)24 << 20)
#define LEAST_SLICE_BYTES ((int64_t)2 << 20)
#define N_NUMBERS         3
/* A packed format takes at most four times the bytes of the plain weights. */
#define LEAST_PLAIN_BYTES (LEAST_SLICE_BYTES * 2 / 4)

static const struct od_weights *weights_of(const struct od_build *b)
{
    return &b->session->weights[b->layer];
}

static int64_t groups_of(const struct od_build *b)
{
    return b->l->op == VBS_OP_CONV ? b->l->attributes.weighted.groups : 1;
}

static int64_t units_of(const struct od_build *b)
{
    const struct od_weights *w = weights_of(b);

    return w->unit > 0 ? w->channels / w->unit : 1;
}

/* Gives whether there are operators that cannot be fused. They work on the whole output, as does
 * zeroing the padding. */
static bool has_unfused(const struct od_build *b, dnnl_alg_kind_t algorithm)
{
    const struct od_weights *w = weights_of(b);

    for (int i = w->n_folded + od_weights_fused(b, algorithm); i < b->l->n_fused; i++)
        if (b->l->fused[i].op != VBS_OP_DROPOUT)
            return true;
    return od_breaks_padding(b);
}

/* ---- primitives ---- */

/* Describes the weights of count outputs. */
static enum vbs_status slice_weights(struct od_build *b, const struct od_sliceable *sliceable,
                                     int64_t count, dnnl_memory_desc_t *md)
{
    const struct od_tensor *in = od_input(b, 0);
    dnnl_dims_t dims = {count, in->stored_channels * in->positions};
    bool groups = groups_of(b) > 1;
    dnnl_status_t status;
    int n = 2;

    if (sliceable->md) {
        *md = od_packed_slice(sliceable->md, groups, count);
        return VBS_OK;
    }
    if (b->l->op == VBS_OP_CONV)
        n = od_filter_dims(b, sliceable->stored, dims);
    dims[0] = count;
    status = dnnl_memory_desc_init_by_tag(md, n, dims, dnnl_f32, dnnl_format_tag_any);
    return status == dnnl_success ? VBS_OK : od_fail(b, status, "describing weights");
}

/* Makes the descriptor of the convolution of one sample, of one group where there are several. */
static enum vbs_status slice_desc(struct od_build *b, const struct od_sliceable *sliceable,
                                  int64_t count, const dnnl_memory_desc_t *weights,
                                  union od_conv_desc *desc)
{
    struct od_tensor in = *od_input(b, 0), out = *od_output(b);
    dnnl_memory_desc_t src, dst;

    if (groups_of(b) > 1)
        in.channels = in.stored_channels = in.channels / groups_of(b);
    out.channels = out.stored_channels = count;
    VBS_TRY(od_describe(b, &in, 1, in.canonical, sliceable->stored, &src));
    VBS_TRY(od_describe(b, &out, 1, out.canonical, sliceable->stored, &dst));
    return od_conv_desc(b, sliceable->algorithm, &src, weights, &dst, desc);
}

/* Finds the implementation of this name; null: there is none. */
static enum vbs_status find_named(struct od_build *b, const_dnnl_op_desc_t desc,
                                  const struct od_sliceable *sliceable, dnnl_primitive_desc_t *pd)
{
    dnnl_primitive_attr_t attr = NULL;
    struct od_pds found;
    dnnl_status_t dnnl;
    enum vbs_status status = od_attributes(b, weights_of(b)->n_folded, sliceable->n_fused, &attr);

    *pd = NULL;
    if (status != VBS_OK)
        return status;
    dnnl = od_pds_init(&found, desc, attr, b->session->engine, sliceable->impl);
    dnnl_primitive_attr_destroy(attr);
    if (dnnl == dnnl_out_of_memory)
        return od_fail(b, dnnl, "looking for implementations");
    if (found.n > 0) {
        *pd = found.list[0];
        found.list[0] = NULL;
    }
    od_pds_clear(&found);
    return VBS_OK;
}

/* Finds the primitive for count output channels, of one sample or of all; null: there is none. */
static enum vbs_status slice_pd(struct od_build *b, const struct od_sliceable *sliceable,
                                int64_t count, dnnl_primitive_desc_t *pd)
{
    dnnl_inner_product_desc_t product;
    union od_conv_desc convolution;
    dnnl_memory_desc_t weights;

    VBS_TRY(slice_weights(b, sliceable, count, &weights));
    if (b->l->op == VBS_OP_FC) {
        VBS_TRY(od_fc_desc(b, &weights, &product));
        return find_named(b, &product, sliceable, pd);
    }
    VBS_TRY(slice_desc(b, sliceable, count, &weights, &convolution));
    return find_named(b, &convolution, sliceable, pd);
}

static int64_t aligned(int64_t bytes)
{
    return (bytes + OD_ALIGNMENT - 1) / OD_ALIGNMENT * OD_ALIGNMENT;
}

static int64_t scratch_bytes(const_dnnl_primitive_desc_t pd)
{
    const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);

    return md ? (int64_t)dnnl_memory_desc_get_size(md) : 0;
}

/* Gives whether the output channels of a slice do not lie side by side in a sample. */
static bool is_scattered(const struct od_build *b)
{
    return b->l->op == VBS_OP_CONV && od_output(b)->canonical == OD_CHANNELS_LAST &&
           od_output(b)->positions > 1;
}

/* Gives the bytes of count outputs that go through a buffer: of several samples of an inner
 * product, or of one of a convolution. */
static int64_t buffer_bytes(const struct od_build *b, int64_t count)
{
    if (is_scattered(b))
        return aligned(4 * count * od_output(b)->positions);
    return b->l->op == VBS_OP_FC && b->batch > 1 ? aligned(4 * b->batch * count) : 0;
}

/* Gives whether the input channels of a group lie side by side in a sample. */
static bool has_groups_apart(const struct od_build *b)
{
    return groups_of(b) == 1 || od_input(b, 0)->canonical != OD_CHANNELS_LAST;
}

/* Gives whether the buffer of a half takes less than half of the weights, so that slices can save
 * memory. The kernel of the whole would have this workspace, too. */
static bool is_buffer_small(const struct od_build *b, int64_t half)
{
    return !is_scattered(b) ||
           buffer_bytes(b, half) < 4 * vbs_weight_count(b->network, b->layer) / 2;
}

enum vbs_status od_can_slice(struct od_build *b, const struct od_sliceable *sliceable,
                             bool *divides, int64_t *ws_bytes)
{
    const struct od_weights *w = weights_of(b);
    int64_t group = w->channels / groups_of(b), half = (units_of(b) + 1) / 2 * w->unit;
    int64_t block = od_packed_unit(sliceable->md, groups_of(b) > 1);
    int64_t counts[] = {w->unit, half < group ? half : group};

    *ws_bytes = 0;
    *divides = units_of(b) > 1 && block > 0 && w->unit % block == 0 && has_groups_apart(b) &&
               is_buffer_small(b, half) && !has_unfused(b, sliceable->algorithm);
    for (int i = 0; i < 2 && *divides; i++) {
        dnnl_primitive_desc_t pd;
        int64_t bytes;

        VBS_TRY(slice_pd(b, sliceable, counts[i], &pd));
        *divides = pd != NULL;
        bytes = pd ? buffer_bytes(b, counts[i]) + aligned(scratch_bytes(pd)) : 0;
        *ws_bytes = bytes > *ws_bytes ? bytes : *ws_bytes;
        dnnl_primitive_desc_destroy(pd);
    }
    return VBS_OK;
}

/* ---- kernels ---- */

/* A range of output channels, first.. first + count - 1, and the size of its slices. */
struct od_ranges {
    const struct od_sliceable *sliceable;
    struct od_packed *packed;
    int64_t first, count, each;
    dnnl_memory_t buffer; /* for outputs; null: none is needed */
    int64_t buffer_offset;
};

/* Appends the weights and the bias of some channels to args. */
static enum vbs_status add_parameters(struct od_build *b, const struct od_ranges *r,
                                      const_dnnl_primitive_desc_t pd, int64_t first, int64_t count,
                                      dnnl_exec_arg_t *args, int *n_args)
{
    const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0);
    struct od_memory where = {.location = OD_WEIGHTS,
                              .offset = od_packed_bytes(r->packed, first) -
                                        od_packed_bytes(r->packed, r->first)};
    float *bias = weights_of(b)->bias;
    dnnl_memory_desc_t bias_md;
    enum vbs_status status;

    args[*n_args].arg = DNNL_ARG_WEIGHTS;
    status = od_kernel_add(b, md, where, NULL, &args[(*n_args)++].memory);
    if (status == VBS_OK && bias)
        status = od_describe_vector(b, count, &bias_md);
    if (status != VBS_OK || !bias)
        return status;
    args[*n_args].arg = DNNL_ARG_BIAS;
    return od_kernel_memory(b, &bias_md, OD_FIXED, 0, bias + first, &args[(*n_args)++].memory);
}

/* Adds the operators that the primitive could fuse and does not, on some outputs in place. */
static enum vbs_status add_unfused(struct od_build *b, const struct od_sliceable *sliceable,
                                   const dnnl_memory_desc_t *md, dnnl_memory_t memory)
{
    int first = weights_of(b)->n_folded;
    int end = first + od_weights_fused(b, sliceable->algorithm);

    for (int i = first + sliceable->n_fused; i < end; i++) {
        const struct vbs_fused *fused = &b->l->fused[i];

        if (fused->op != VBS_OP_DROPOUT)
            VBS_TRY(od_unary_steps(b, fused->op, &fused->attributes, md, memory, memory));
    }
    return VBS_OK;
}

/* Adds the copy of the buffer to the channels from first on of a sample. */
static enum vbs_status add_scatter(struct od_build *b, const struct od_ranges *r,
                                   const dnnl_memory_desc_t *md, int64_t first, int sample)
{
    const struct od_tensor *out = od_output(b);
    struct od_memory where = {.location = OD_DST, .offset = sample * out->bytes};
    dnnl_dims_t offsets = {0, first};
    dnnl_memory_desc_t full, part;
    dnnl_memory_t target;
    dnnl_status_t status;

    VBS_TRY(od_describe(b, out, 1, out->canonical, false, &full));
    status = dnnl_memory_desc_init_submemory(&part, &full, md->dims, offsets);
    if (status != dnnl_success)
        return od_fail(b, status, "describing channels");
    VBS_TRY(od_kernel_add(b, &part, where, NULL, &target));
    return od_kernel_reorder(b, md, r->buffer, &part, target);
}

/* Adds, for each sample, a convolution of channels of one group. */
static enum vbs_status add_samples(struct od_build *b, struct od_ranges *r, int64_t group,
                                   int64_t first, int64_t count)
{
    const struct od_tensor *in = od_input(b, 0), *out = od_output(b);
    int64_t src_offset = group * (in->channels / groups_of(b)) * in->positions * 4;
    dnnl_exec_arg_t args[4] = {{DNNL_ARG_SRC, NULL}, {DNNL_ARG_DST, NULL}};
    const dnnl_memory_desc_t *dst_md;
    dnnl_primitive_desc_t pd;
    int n_args = 2;
    enum vbs_status status = slice_pd(b, r->sliceable, count, &pd);

    if (status != VBS_OK)
        goto done;
    if (!pd) {
        status = od_fail(b, dnnl_unimplemented, "a slice");
        goto done;
    }
    status = add_parameters(b, r, pd, first, count, args, &n_args);
    if (status != VBS_OK)
        goto done;
    dst_md = dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0);
    if (is_scattered(b) && !r->buffer)
        status = od_kernel_buffer(b, dst_md, &r->buffer);
    if (status != VBS_OK)
        goto done;
    args[1].memory = r->buffer;
    for (int i = 0; i < b->batch; i++) {
        struct od_memory src = {.location = OD_SRC, .offset = i * in->bytes + src_offset};
        struct od_memory dst = {.location = OD_DST,
                                .offset = i * out->bytes + first * out->positions * 4};

        status = od_kernel_add(b, dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 0), src, NULL,
                               &args[0].memory);
        if (status != VBS_OK)
            goto done;
        if (!is_scattered(b))
            status = od_kernel_add(b, dst_md, dst, NULL, &args[1].memory);
        if (status != VBS_OK)
            goto done;
        status = od_kernel_step(b, pd, n_args, args);
        if (status == VBS_OK)
            status = add_unfused(b, r->sliceable, dst_md, args[1].memory);
        if (status == VBS_OK && is_scattered(b))
            status = add_scatter(b, r, dst_md, first, i);
        if (status != VBS_OK)
            goto done;
    }
done:
    dnnl_primitive_desc_destroy(pd);
    return status;
}

static enum vbs_status add_convolutions(struct od_build *b, struct od_ranges *r, int64_t first,
                                        int64_t end)
{
    int64_t per_group = weights_of(b)->channels / groups_of(b);

    while (first < end) {
        int64_t group = first / per_group, stop = (group + 1) * per_group;

        stop = stop < end ? stop : end;
        VBS_TRY(add_samples(b, r, groups_of(b) > 1 ? group : 0, first, stop - first));
        first = stop;
    }
    return VBS_OK;
}

/* Adds the copies of the buffer's rows to their places in each sample. */
static enum vbs_status add_copies(struct od_build *b, const struct od_ranges *r, int64_t first,
                                  int64_t count)
{
    dnnl_memory_desc_t row;

    VBS_TRY(od_describe_vector(b, count, &row));
    for (int i = 0; i < b->batch; i++) {
        struct od_memory from = {.location = OD_BUFFER, .offset = r->buffer_offset + 4 * i * count};
        struct od_memory to = {.location = OD_DST, .offset = i * od_output(b)->bytes + 4 * first};
        dnnl_memory_t source, target;

        VBS_TRY(od_kernel_add(b, &row, from, NULL, &source));
        VBS_TRY(od_kernel_add(b, &row, to, NULL, &target));
        VBS_TRY(od_kernel_reorder(b, &row, source, &row, target));
    }
    return VBS_OK;
}

/* Adds an inner product of all samples. */
static enum vbs_status add_product(struct od_build *b, struct od_ranges *r, int64_t first,
                                   int64_t count)
{
    struct od_memory dst = {.location = OD_DST, .offset = 4 * first};
    dnnl_exec_arg_t args[4] = {{DNNL_ARG_SRC, NULL}, {DNNL_ARG_DST, NULL}};
    const dnnl_memory_desc_t *dst_md;
    dnnl_primitive_desc_t pd;
    int n_args = 2;
    enum vbs_status status;

    VBS_TRY(slice_pd(b, r->sliceable, count, &pd));
    if (!pd)
        return od_fail(b, dnnl_unimplemented, "a slice");
    dst_md = dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0);
    status = od_kernel_memory(b, dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 0), OD_SRC, 0,
                              NULL, &args[0].memory);
    if (status == VBS_OK && b->batch == 1)
        status = od_kernel_add(b, dst_md, dst, NULL, &args[1].memory);
    else if (status == VBS_OK && !r->buffer) {
        r->buffer_offset = b->kernel->buffer_bytes;
        status = od_kernel_buffer(b, dst_md, &r->buffer);
    }
    if (r->buffer)
        args[1].memory = r->buffer;
    if (status != VBS_OK)
        goto done;
    status = add_parameters(b, r, pd, first, count, args, &n_args);
    if (status != VBS_OK)
        goto done;
    status = od_kernel_step(b, pd, n_args, args);
    if (status == VBS_OK)
        status = add_unfused(b, r->sliceable, dst_md, args[1].memory);
    if (status != VBS_OK)
        goto done;
    if (b->batch > 1)
        status = add_copies(b, r, first, count);
done:
    dnnl_primitive_desc_destroy(pd);
    return status;
}

/* Builds the kernel of all ranges, one after the other. */
static enum vbs_status build_ranges(struct od_build *b, const char *name, struct od_ranges *r)
{
    VBS_TRY(od_kernel_begin(b, name));
    od_kernel_weights(b, r->packed, r->first, r->count);
    for (int64_t c = r->first; c < r->first + r->count; c += r->each)
        VBS_TRY(b->l->op == VBS_OP_FC ? add_product(b, r, c, r->each)
                                      : add_convolutions(b, r, c, c + r->each));
    return od_kernel_end(b, od_packed_bytes(r->packed, r->count) + weights_of(b)->bias_bytes,
                         r->packed->number);
}

enum vbs_status od_build_slice(struct od_build *b, const char *name,
                               const struct od_sliceable *sliceable)
{
    int64_t unit = weights_of(b)->unit, units = units_of(b);
    int64_t first = (b->requested->slice - 1) * units / b->requested->n_slices;
    int64_t end = b->requested->slice * units / b->requested->n_slices;
    struct od_ranges r = {
        .sliceable = sliceable, .first = first * unit, .count = (end - first) * unit};

    VBS_TRY(od_weights_packed(b, sliceable->md, 1, sliceable->stored, &r.packed));
    r.each = r.count;
    VBS_TRY(build_ranges(b, name, &r));
    b->session->core.offers[b->session->core.session.n_kernels - 1].row_slices = 0;
    return VBS_OK;
}

/* ---- kernels that are measured in slices ---- */

bool od_may_run_in_slices(const struct od_build *b)
{
    if (b->serial || b->row_output || units_of(b) == 1 || groups_of(b) > 1 ||
        has_unfused(b, dnnl_convolution_direct))
        return false;
    return b->requested ? b->requested->row_slices > 0
                        : 4 * vbs_weight_count(b->network, b->layer) >= LEAST_PLAIN_BYTES;
}

/* Builds the kernel in n slices, or none where there is no primitive for a slice. */
static enum vbs_status build_number(struct od_build *b, const char *name,
                                    const struct od_sliceable *sliceable, int n)
{
    bool one = b->requested && b->requested->n_slices > 1;
    int64_t block = sliceable->md ? od_packed_unit(sliceable->md, false) : 0;
    struct od_ranges r = {.sliceable = sliceable, .count = weights_of(b)->channels, .each = 0};
    dnnl_primitive_desc_t pd = NULL;
    char shown[80];
    enum vbs_status status;

    r.each = r.count / n;
    if (sliceable->md && (block == 0 || r.each % block != 0))
        return VBS_OK;
    status = slice_pd(b, sliceable, r.each, &pd);
    if (status != VBS_OK || !pd)
        return status;
    status = od_weights_packed(b, dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0), n,
                               sliceable->stored, &r.packed);
    dnnl_primitive_desc_destroy(pd);
    if (one) {
        r.first = (b->requested->slice - 1) * r.each;
        r.count = r.each;
    }
    snprintf(shown, sizeof shown, "%s/%d", name, n);
    if (status != VBS_OK)
        return status;
    VBS_TRY(build_ranges(b, shown, &r));
    b->session->core.offers[b->session->core.session.n_kernels - 1].row_slices = n;
    return VBS_OK;
}

void od_slice_numbers(int64_t packed_bytes, int *first, int *end)
{
    int n = 2;

    while (packed_bytes / n > MOST_SLICE_BYTES)
        n *= 2;
    *first = n;
    for (int i = 0; i < N_NUMBERS && packed_bytes / n > LEAST_SLICE_BYTES; i++)
        n *= 2;
    *end = n;
}

enum vbs_status od_build_in_slices(struct od_build *b, const char *name,
                                   const struct od_sliceable *sliceable, int64_t packed_bytes)
{
    int n, end;

    if (has_unfused(b, sliceable->algorithm))
        return VBS_OK;
    if (b->requested) {
        n = b->requested->row_slices;
        return units_of(b) % n == 0 && (b->requested->n_slices <= 1 || b->requested->n_slices == n)
                   ? build_number(b, name, sliceable, n)
                   : VBS_OK;
    }
    for (od_slice_numbers(packed_bytes, &n, &end); n < end && units_of(b) % n == 0; n *= 2)
        VBS_TRY(build_number(b, name, sliceable, n));
    return VBS_OK;
}
