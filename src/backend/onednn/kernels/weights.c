/*
 * Weights. They are made from their seed, or read from their file, whenever they are packed, so
 * that no plain copy is kept. All kernels that need packed weights with an equal descriptor share
 * them.
 */
#include "backend/onednn/kernels/weights.h"

#include "backend/onednn/kernels/encode.h"
#include "backend/onednn/kernels/kernel.h"

#include "backend/common/common.h"
#include "base/fail.h"
#include "model/network/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of weights that are made at once, where that is possible. */
#define CHUNK_BYTES ((int64_t)8 << 20)

int64_t od_weights_outputs(const struct od_build *b)
{
    return b->l->attributes.weighted.out_channels;
}

int64_t od_weights_inputs(const struct od_build *b)
{
    const struct od_tensor *in = od_input(b, 0);

    return b->l->attributes.weighted.rows ? in->shape.dim[in->shape.n_dims - 1]
                                          : in->stored_channels * in->positions;
}

int od_weights_fused(const struct od_build *b, dnnl_alg_kind_t algorithm)
{
    const struct od_weights *w = &b->session->weights[b->layer];

    for (int i = 0; algorithm == dnnl_convolution_winograd && i < w->n_fused; i++) {
        enum vbs_op op = b->l->fused[w->n_folded + i].op;

        if (op != VBS_OP_RELU && op != VBS_OP_DROPOUT)
            return i;
    }
    return w->n_fused;
}

bool od_weights_relu(const struct od_build *b)
{
    int first = b->session->weights[b->layer].n_folded;

    return first < b->l->n_fused && b->l->fused[first].op == VBS_OP_RELU;
}

/* Gives whether fused operator number i begins a rounding to 8 bits, which kernels of whole numbers
 * do as one. */
static bool begins_rounding(const struct od_build *b, int i)
{
    struct vbs_encoding encoding;

    return b->l->weights == VBS_INT8 && vbs_layer_rounding(b->l, i, &encoding) > 0;
}

/* Gives whether an operator's factors are those of the outputs that have weights of their own. */
static bool folds(const struct od_build *b, enum vbs_op op)
{
    bool by_channel = op == VBS_OP_BATCHNORM || op == VBS_OP_SCALE;

    return op == VBS_OP_LINEAR || op == VBS_OP_DROPOUT ||
           (by_channel && !(b->l->op == VBS_OP_FC && b->l->attributes.weighted.rows));
}

/* Folds fused operator number fused: scale and bias become those of the pair. */
static enum vbs_status fold(struct od_build *b, int fused, struct od_weights *w)
{
    const struct vbs_fused *f = &b->l->fused[fused];
    int64_t channels = od_weights_outputs(b);
    float *pair = malloc(2 * (size_t)channels * sizeof *pair);
    enum vbs_status status = VBS_OK;

    if (!pair)
        return vbs_no_memory(b->ctx);
    if (f->op == VBS_OP_LINEAR)
        for (int64_t c = 0; c < channels; c++) {
            pair[c] = (float)f->attributes.linear.factor;
            pair[channels + c] = (float)f->attributes.linear.shift;
        }
    else
        status = vbs_affine(b->ctx, b->network, b->layer, fused, channels, pair, pair + channels);
    for (int64_t c = 0; status == VBS_OK && c < channels; c++) {
        w->scale[c] *= pair[c];
        w->bias[c] = w->bias[c] * pair[c] + pair[channels + c];
    }
    free(pair);
    return status;
}

static int64_t block_of(const struct od_build *b, const struct od_tensor *tensor)
{
    return tensor->canonical == OD_BLOCKED ? b->session->block : 1;
}

/* Finds the unit of slices: whole blocks of the layouts; where there are groups, each must have
 * whole blocks. With channels last, blocks are those of packed weights. */
static int64_t find_unit(const struct od_build *b, int64_t channels)
{
    const struct od_tensor *in = od_input(b, 0), *out = od_output(b);
    int64_t groups = b->l->attributes.weighted.groups;

    if (od_is_encoded(b)) /* the whole output is encoded at once */
        return 0;
    if (b->l->op == VBS_OP_FC || (groups == 1 && out->canonical == OD_CHANNELS_LAST))
        return channels % b->session->block == 0 ? b->session->block : 1;
    if (groups > 1 &&
        (channels / groups % block_of(b, out) != 0 || in->channels / groups % block_of(b, in) != 0))
        return 0;
    return block_of(b, out);
}

void od_weights_measure(struct od_build *b)
{
    struct od_weights *w = &b->session->weights[b->layer];
    bool stored = b->l->op == VBS_OP_CONV && od_filter_can_be_stored(b);

    w->channels = stored ? od_output(b)->stored_channels : od_output(b)->channels;
    w->unit = find_unit(b, w->channels);
}

/* Finds the values of one in sums of products of weights of 8 bits with the input's whole
 * numbers. Channels whose sums have no value, because a BatchNorm multiplies them by
 * 0, say, leave the layer without. */
static enum vbs_status init_whole(struct od_build *b, struct od_weights *w)
{
    const struct vbs_encoding *in = &b->network->layers[b->l->inputs[0]].encoding;
    int64_t outputs = od_weights_outputs(b);
    float *values = od_constants(b, 2 * outputs);

    if (!values)
        return vbs_no_memory(b->ctx);
    if (in->scale == 0)
        return VBS_OK;
    w->unit_factors = values;
    w->unit_bias = w->bias ? values + outputs : NULL;
    for (int64_t o = 0; o < outputs; o++) {
        float factor = in->scale * b->l->weight_steps[o] * w->scale[o];
        float bias = w->bias ? w->bias[o] / factor : 0;

        /* That of a quantised file is whole, but for the rounding of floats. */
        if (fabsf(bias - nearbyintf(bias)) < 1e-3f + 1e-6f * fabsf(bias))
            bias = nearbyintf(bias);
        if (!isnormal(factor) || !isfinite(bias)) {
            w->unit_factors = NULL;
            return VBS_OK;
        }
        w->unit_factors[o] = factor;
        if (w->unit_bias)
            w->unit_bias[o] = bias;
    }
    return VBS_OK;
}

enum vbs_status od_weights_init(struct od_build *b)
{
    struct od_weights *w = &b->session->weights[b->layer];
    int64_t outputs = od_weights_outputs(b);
    int64_t stored = b->l->op == VBS_OP_FC ? outputs : od_output(b)->stored_channels;
    bool bias = b->l->attributes.weighted.bias;
    enum vbs_status status = VBS_OK;

    if (w->scale)
        return VBS_OK;
    w->scale = vbs_arena_alloc(&b->session->core.arena, (size_t)outputs, sizeof *w->scale);
    w->bias = od_alloc(stored * (int64_t)sizeof *w->bias);
    if (!w->scale || !w->bias)
        return vbs_no_memory(b->ctx);
    for (int64_t c = 0; c < outputs; c++)
        w->scale[c] = 1;
    status = vbs_parameter_values(b->ctx, b->network, b->layer, -1, VBS_PARAMETER_BIAS, 0, outputs,
                                  w->bias);
    for (int i = 0; i < b->l->n_fused && status == VBS_OK; i++, w->n_folded++) {
        enum vbs_op op = b->l->fused[i].op;

        if (!folds(b, op) || begins_rounding(b, i))
            break;
        if (op == VBS_OP_DROPOUT)
            continue;
        status = fold(b, i, w);
        bias = true;
    }
    w->n_fused = od_fusable(b, w->n_folded);
    w->bias_bytes = stored * (int64_t)sizeof *w->bias;
    if (!bias) {
        free(w->bias);
        w->bias = NULL;
        w->bias_bytes = 0;
    }
    if (status == VBS_OK && b->l->weights == VBS_INT8)
        status = init_whole(b, w);
    return status;
}

void od_weights_release(struct od_weights *weights)
{
    while (weights->codings) {
        struct od_coding *coding = weights->codings;

        weights->codings = coding->next;
        vbs_coded_free(coding->made);
        free(coding);
    }
    while (weights->packed) {
        struct od_packed *packed = weights->packed;

        weights->packed = packed->next;
        free(packed->data);
        free(packed);
    }
    free(weights->bias);
}

static bool depthwise(const struct od_build *b)
{
    int64_t groups = b->l->attributes.weighted.groups;

    return groups == od_input(b, 0)->channels && groups == od_output(b)->channels;
}

bool od_filter_can_be_stored(const struct od_build *b)
{
    return b->l->attributes.weighted.groups == 1 ||
           (depthwise(b) && od_input(b, 0)->stored_channels == od_output(b)->stored_channels);
}

int od_filter_dims(const struct od_build *b, bool stored, dnnl_dims_t dims)
{
    const struct od_tensor *in = od_input(b, 0), *out = od_output(b);
    int64_t groups = b->l->attributes.weighted.groups;
    int64_t n_in = stored ? in->stored_channels : in->channels;
    int64_t n_out = stored ? out->stored_channels : out->channels;
    int n = 0;

    if (groups > 1) {
        if (stored) /* depthwise: the padding counts as further groups */
            groups = n_in;
        dims[n++] = groups;
    }
    dims[n++] = n_out / groups;
    dims[n++] = n_in / groups;
    for (int i = 0; i < in->n_spatial; i++)
        dims[n++] = b->l->attributes.weighted.window.kernel[i];
    return n;
}

/* Reads row number `row` of the layer's weights, count values. */
static enum vbs_status read_row(struct od_build *b, int64_t row, int64_t count,
                                const float **values)
{
    return vbs_weight_row(b->ctx, &b->session->core, b->layer, VBS_PARAMETER_WEIGHTS, row, count,
                          values);
}

enum vbs_status od_weights_row(struct od_build *b, bool whole, int64_t output, int64_t count,
                               float *row)
{
    float scale = b->session->weights[b->layer].scale[output];
    const float *values;

    VBS_TRY(read_row(b, output, count, &values));
    for (int64_t i = 0; i < count; i++)
        row[i] = whole ? nearbyintf(values[i] / b->l->weight_steps[output]) : values[i] * scale;
    return VBS_OK;
}

/* Writes plain weights of outputs first.. first + count - 1 of a conv into zeroed [count][stride];
 * outputs beyond the layer's are padding. */
static enum vbs_status fill_filter(struct od_build *b, bool whole, int64_t first, int64_t count,
                                   int64_t stride, float *plain)
{
    int64_t outputs = b->l->shape.dim[0];
    int64_t n = vbs_weight_count(b->network, b->layer) / outputs;

    for (int64_t o = 0; o < count && first + o < outputs; o++)
        VBS_TRY(od_weights_row(b, whole, first + o, n, plain + o * stride));
    return VBS_OK;
}

/* Writes all weights of a deconv, scaled or as whole numbers, into zeroed [I][O / G][K...], stride
 * values for each input. */
static enum vbs_status fill_transposed(struct od_build *b, bool whole, int64_t stride, float *plain)
{
    int64_t inputs = od_input(b, 0)->channels, groups = b->l->attributes.weighted.groups;
    int64_t n = vbs_weight_count(b->network, b->layer) / inputs;
    int64_t n_out = od_weights_outputs(b) / groups, window = n / n_out;

    for (int64_t i = 0; i < inputs; i++) {
        float *row = plain + i * stride;
        const float *values;

        VBS_TRY(read_row(b, i, n, &values));
        for (int64_t j = 0; j < n; j++) {
            int64_t o = i / (inputs / groups) * n_out + j / window;

            row[j] = whole ? nearbyintf(values[j] / b->l->weight_steps[o])
                           : values[j] * b->session->weights[b->layer].scale[o];
        }
    }
    return VBS_OK;
}

/* Writes all weights of a deconv without groups into zeroed [K..., stored O][stride], stride values
 * for each channel of its convolution of 1x1, scaled by output. */
static enum vbs_status fill_pointwise(struct od_build *b, int64_t stride, float *plain)
{
    int64_t inputs = od_input(b, 0)->channels, stored = od_output(b)->stored_channels;
    int64_t n_out = od_weights_outputs(b), n = vbs_weight_count(b->network, b->layer) / inputs;
    int64_t window = n / n_out;
    const float *scale = b->session->weights[b->layer].scale, *row;

    for (int64_t i = 0; i < inputs; i++) {
        VBS_TRY(read_row(b, i, n, &row));
        for (int64_t j = 0; j < n; j++)
            plain[(j % window * stored + j / window) * stride + i] = row[j] * scale[j / window];
    }
    return VBS_OK;
}

/* Copies a row of an fc, with the inputs in the order in which they are stored. */
static void place_row(const struct od_build *b, bool whole, const float *row, int64_t n,
                      float *plain)
{
    const struct od_tensor *in = od_input(b, 0);
    bool last = b->session->stored[b->l->inputs[0]].layout == OD_CHANNELS_LAST;

    if (whole && last) {
        for (int64_t i = 0; i < n; i++)
            plain[i % in->positions * in->channels + i / in->positions] = row[i];
        return;
    }
    if (whole || b->l->attributes.weighted.rows) {
        memcpy(plain, row, (size_t)n * sizeof *row);
        return;
    }
    for (int64_t c = 0, i = 0; c < in->channels; c++)
        for (int64_t s = 0; s < in->positions; s++, i++)
            plain[od_stored_index(b->session, in, c, s)] = row[i];
}

/* Does as fill_filter for an fc. */
static enum vbs_status fill_matrix(struct od_build *b, bool whole, int64_t first, int64_t count,
                                   int64_t stride, float *plain)
{
    const struct od_tensor *in = od_input(b, 0);
    int64_t n = b->l->attributes.weighted.rows ? stride : in->channels * in->positions;
    float *row = malloc((size_t)n * sizeof *row);
    enum vbs_status status = row ? VBS_OK : vbs_no_memory(b->ctx);

    for (int64_t o = 0; o < count && status == VBS_OK; o++) {
        status = od_weights_row(b, whole, first + o, n, row);
        if (status == VBS_OK)
            place_row(b, whole, row, n, plain + o * stride);
    }
    free(row);
    return status;
}

/* Describes all plain weights of a deconv: dimensions as od_filter_dims, of which inputs are
 * outside outputs; *stride: values of one input. */
static enum vbs_status transposed_md(struct od_build *b, const struct od_packed *packed,
                                     dnnl_memory_desc_t *md, int64_t *stride)
{
    dnnl_dims_t dims = {0}, strides = {0};
    int n = od_filter_dims(b, packed->stored, dims),
        o = b->l->attributes.weighted.groups > 1 ? 1 : 0;
    dnnl_status_t status;

    strides[n - 1] = 1;
    for (int i = n - 2; i >= o; i--)
        strides[i] = strides[i + 1] * (i == o ? 1 : dims[i + 1]);
    strides[o] = strides[o + 1];
    strides[o + 1] = strides[o] * dims[o];
    if (o == 1)
        strides[0] = strides[2] * dims[2];
    *stride = strides[o + 1];
    status = dnnl_memory_desc_init_by_strides(md, n, dims, dnnl_f32, strides);
    return status == dnnl_success ? VBS_OK : od_fail(b, status, "describing weights");
}

static enum vbs_status describe_plain(struct od_build *b, dnnl_format_tag_t tag, int n,
                                      const dnnl_dims_t dims, dnnl_memory_desc_t *md)
{
    dnnl_status_t status = dnnl_memory_desc_init_by_tag(md, n, dims, dnnl_f32, tag);

    return status == dnnl_success ? VBS_OK : od_fail(b, status, "describing weights");
}

/* Describes plain weights of count outputs: [count, I, K...] where they are not all of a layer with
 * groups, else as od_filter_dims; *stride: values of one output. */
static enum vbs_status plain_md(struct od_build *b, const struct od_packed *packed, int64_t count,
                                dnnl_memory_desc_t *md, int64_t *stride)
{
    static const dnnl_format_tag_t tags[] = {
        dnnl_format_tag_undef, dnnl_a, dnnl_ab, dnnl_abc, dnnl_abcd, dnnl_abcde, dnnl_abcdef};
    dnnl_dims_t dims = {0, b->l->op == VBS_OP_FC ? od_weights_inputs(b) : 0};
    int n = b->l->op == VBS_OP_FC ? 2 : od_filter_dims(b, packed->stored, dims);
    int leading = n == 2 || b->l->attributes.weighted.groups == 1 ? 1 : 2;

    if (packed->pointwise) {
        *stride = packed->md.dims[1];
        return describe_plain(b, tags[packed->md.ndims], packed->md.ndims, packed->md.dims, md);
    }
    if (b->l->op == VBS_OP_CONV_TRANSPOSE)
        return transposed_md(b, packed, md, stride);
    if (packed->whole && n == 2) {
        *stride = packed->md.dims[0];
        return describe_plain(b, dnnl_ba, 2, packed->md.dims, md);
    }
    if (leading == 2 && count < packed->channels) {
        memmove(dims, dims + 1, (size_t)--n * sizeof *dims);
        leading = 1;
    }
    if (leading == 1)
        dims[0] = count;
    *stride = 1;
    for (int i = leading; i < n; i++)
        *stride *= dims[i];
    return describe_plain(b, tags[n], n, dims, md);
}

/* Gives zeroed space for plain weights. It is kept for the next weights to pack, because fresh
 * memory costs more than making the weights. */
static float *plain_space(struct od_build *b, int64_t bytes)
{
    if (b->plain_bytes >= bytes)
        return memset(b->plain, 0, (size_t)bytes);
    free(b->plain);
    b->plain = od_alloc(bytes);
    b->plain_bytes = b->plain ? bytes : 0;
    return b->plain;
}

enum vbs_status od_convert(struct od_build *b, const dnnl_memory_desc_t *from_md, void *from,
                           const dnnl_memory_desc_t *to_md, void *to)
{
    dnnl_engine_t engine = b->session->engine;
    dnnl_memory_t source = NULL, target = NULL;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_primitive_t reorder = NULL;
    dnnl_status_t status = dnnl_memory_create(&source, from_md, engine, from);

    if (status == dnnl_success)
        status = dnnl_memory_create(&target, to_md, engine, to);
    if (status == dnnl_success)
        status = od_pd_reorder(from_md, to_md, NULL, engine, &pd);
    if (status == dnnl_success)
        status = od_primitive_create(pd, &reorder);
    if (status == dnnl_success) {
        dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, source}, {DNNL_ARG_TO, target}};

        status = dnnl_primitive_execute(reorder, b->session->stream, 2, args);
    }
    if (status == dnnl_success)
        status = dnnl_stream_wait(b->session->stream);
    dnnl_primitive_destroy(reorder);
    dnnl_primitive_desc_destroy(pd);
    dnnl_memory_destroy(target);
    dnnl_memory_destroy(source);
    return status == dnnl_success ? VBS_OK : od_fail(b, status, "packing weights");
}

/* Writes outputs first.. first + count - 1, in the format md, to memory, which need not be zero. */
static enum vbs_status write_chunk(struct od_build *b, const struct od_packed *packed,
                                   const dnnl_memory_desc_t *md, int64_t first, int64_t count,
                                   void *memory)
{
    dnnl_memory_desc_t plain;
    int64_t stride;
    float *values;
    bool same;
    enum vbs_status status;

    VBS_TRY(plain_md(b, packed, count, &plain, &stride));
    same = dnnl_memory_desc_equal(&plain, md);
    values = same ? memset(memory, 0, dnnl_memory_desc_get_size(md))
                  : plain_space(b, (int64_t)dnnl_memory_desc_get_size(&plain));
    if (!values)
        return vbs_no_memory(b->ctx);
    status = b->l->op == VBS_OP_FC     ? fill_matrix(b, packed->whole, first, count, stride, values)
             : b->l->op == VBS_OP_CONV ? fill_filter(b, packed->whole, first, count, stride, values)
             : packed->pointwise       ? fill_pointwise(b, stride, values)
                                       : fill_transposed(b, packed->whole, stride, values);
    return status == VBS_OK && !same ? od_convert(b, &plain, values, md, memory) : status;
}

/* ---- packed weights ---- */

static bool has_groups(const struct od_build *b)
{
    return b->l->op != VBS_OP_FC && b->l->attributes.weighted.groups > 1;
}

int64_t od_packed_unit(const dnnl_memory_desc_t *md, bool groups)
{
    const dnnl_blocking_desc_t *blocking = &md->format_desc.blocking;
    int o = groups ? 1 : 0;
    int64_t block = 1, bytes;

    if (md->format_kind != dnnl_blocked || md->extra.flags != 0 || md->offset0 != 0 ||
        md->data_type != dnnl_f32)
        return 0;
    for (int i = 0; i < blocking->inner_nblks; i++) {
        if (groups && blocking->inner_idxs[i] == 0)
            return 0;
        block *= blocking->inner_idxs[i] == o ? blocking->inner_blks[i] : 1;
    }
    if (md->padded_dims[o] != md->dims[o] || md->dims[o] % block != 0)
        return 0;
    /* Where the whole takes as many bytes as its blocks of outputs side by side, these are
     * outermost. */
    bytes = 4 * blocking->strides[o] * (md->dims[o] / block);
    if (groups && 4 * blocking->strides[0] != bytes)
        return 0;
    bytes *= groups ? md->dims[0] : 1;
    return bytes == (int64_t)dnnl_memory_desc_get_size(md) ? block : 0;
}

dnnl_memory_desc_t od_packed_slice(const dnnl_memory_desc_t *md, bool groups, int64_t count)
{
    dnnl_memory_desc_t slice = *md;
    dnnl_blocking_desc_t *blocking = &slice.format_desc.blocking;
    size_t left = ((size_t)md->ndims - 1) * sizeof md->dims[0];

    if (groups) {
        slice.ndims--;
        memmove(slice.dims, slice.dims + 1, left);
        memmove(slice.padded_dims, slice.padded_dims + 1, left);
        memmove(blocking->strides, blocking->strides + 1, left);
        slice.dims[slice.ndims] = slice.padded_dims[slice.ndims] = 0;
        blocking->strides[slice.ndims] = 0;
        for (int i = 0; i < blocking->inner_nblks; i++)
            blocking->inner_idxs[i]--;
    }
    slice.dims[0] = slice.padded_dims[0] = count;
    return slice;
}

int64_t od_packed_bytes(const struct od_packed *packed, int64_t channels)
{
    return packed->bytes / packed->channels * channels +
           packed->bytes % packed->channels * channels / packed->channels;
}

/* Gives the channels that are made at once: all, a slice, or so many that they need little
 * space. */
static int64_t chunk_of(const struct od_build *b, const struct od_packed *packed)
{
    int64_t unit = od_packed_unit(&packed->md, has_groups(b)), n;

    if (packed->n_blocks > 1 || unit == 0 || b->l->op == VBS_OP_CONV_TRANSPOSE)
        return packed->channels / packed->n_blocks;
    n = CHUNK_BYTES / od_packed_bytes(packed, unit) * unit;
    return n < unit ? unit : n < packed->channels ? n : packed->channels;
}

/* Writes channels first.. first + count - 1 of packed plain weights, chunk by chunk. */
static enum vbs_status write_chunks(struct od_build *b, const struct od_packed *packed,
                                    int64_t first, int64_t count, char *to)
{
    int64_t chunk = chunk_of(b, packed), end = first + count;

    for (int64_t c = first, n; c < end; c += n) {
        dnnl_memory_desc_t md = packed->md;

        VBS_TRY(vbs_check_cancel(b->ctx));
        n = end - c < chunk ? end - c : chunk;
        if (packed->n_blocks == 1 && n < packed->channels)
            md = od_packed_slice(&packed->md, has_groups(b), n);
        VBS_TRY(write_chunk(b, packed, &md, c, n, to));
        to += dnnl_memory_desc_get_size(&md);
    }
    return VBS_OK;
}

enum vbs_status od_weights_write(struct od_build *b, const struct od_packed *packed, int64_t first,
                                 int64_t count, void *memory)
{
    enum vbs_status status;

    if (packed->coded) {
        size_t n_bytes;
        const void *bytes = vbs_coded_bytes(packed->coded, &n_bytes);

        memcpy(memory, bytes, n_bytes);
        return VBS_OK;
    }
    status = packed->fill ? packed->fill(b, memory) : write_chunks(b, packed, first, count, memory);
    if (first + count == packed->channels) /* channels are asked for in their order */
        vbs_weight_rows_clear(&b->session->core);
    return status;
}

static int64_t bytes_of(const struct od_packed *packed, int64_t first, int64_t count)
{
    return od_packed_bytes(packed, first + count) - od_packed_bytes(packed, first);
}

enum vbs_status od_weights_stream(struct od_build *b, const struct od_packed *packed, int64_t first,
                                  int64_t count, const struct vbs_pack_sink *sink)
{
    int64_t chunk = packed->coded || packed->fill ? count : chunk_of(b, packed),
            end = first + count;
    enum vbs_status status = VBS_OK;
    size_t n_coded;
    const void *coded;
    void *piece;

    if (packed->coded) {
        coded = vbs_coded_bytes(packed->coded, &n_coded);
        return sink->write(b->ctx, sink->self, coded, (int64_t)n_coded);
    }
    chunk = chunk < count ? chunk : count;
    piece = od_alloc(bytes_of(packed, first, chunk));
    if (!piece)
        return vbs_no_memory(b->ctx);
    for (int64_t c = first, n; c < end && status == VBS_OK; c += n) {
        n = end - c < chunk ? end - c : chunk;
        status = od_weights_write(b, packed, c, n, piece);
        if (status == VBS_OK)
            status = sink->write(b->ctx, sink->self, piece, bytes_of(packed, c, n));
    }
    free(piece);
    return status;
}

static struct od_packed *known_packed(const struct od_weights *w, const struct od_packed *requested)
{
    struct od_packed *packed = w->packed;

    while (packed &&
           !(packed->n_blocks == requested->n_blocks && packed->coded == requested->coded &&
             packed->pointwise == requested->pointwise && packed->whole == requested->whole &&
             packed->fill == requested->fill &&
             dnnl_memory_desc_equal(&packed->md, &requested->md)))
        packed = packed->next;
    return packed;
}

/* Adds packed weights to those of b's layer; *packed is a copy of *requested. */
static enum vbs_status add_packed(struct od_build *b, struct od_packed *requested,
                                  struct od_packed **packed)
{
    struct od_weights *w = &b->session->weights[b->layer];

    requested->number = w->packed ? w->packed->number + 1 : 0;
    if (requested->number == VBS_MAX_FORMATS)
        return vbs_fail(b->ctx, VBS_UNSUPPORTED,
                        "layer '%s' packs its weights in more than %d ways; measure fewer batches",
                        b->l->name, VBS_MAX_FORMATS);
    *packed = malloc(sizeof **packed);
    if (!*packed)
        return vbs_no_memory(b->ctx);
    requested->next = w->packed;
    **packed = *requested;
    w->packed = *packed;
    return VBS_OK;
}

enum vbs_status od_weights_packed(struct od_build *b, const dnnl_memory_desc_t *md, int n_blocks,
                                  bool stored, struct od_packed **packed)
{
    struct od_weights *w = &b->session->weights[b->layer];
    struct od_packed requested = {.md = *md, .n_blocks = n_blocks, .stored = stored};

    if (n_blocks > 1 && od_packed_unit(md, false) > 0) { /* the blocks together are a whole */
        requested.md = od_packed_slice(md, false, md->dims[0] * n_blocks);
        requested.n_blocks = 1;
    }
    if ((*packed = known_packed(w, &requested)))
        return VBS_OK;
    requested.channels =
        requested.md.dims[0] * (has_groups(b) ? requested.md.dims[1] : requested.n_blocks);
    requested.bytes = (int64_t)dnnl_memory_desc_get_size(&requested.md) * requested.n_blocks;
    return add_packed(b, &requested, packed);
}

enum vbs_status od_weights_pointwise(struct od_build *b, const dnnl_memory_desc_t *md,
                                     struct od_packed **packed)
{
    struct od_packed requested = {.md = *md,
                                  .n_blocks = 1,
                                  .channels = md->dims[0],
                                  .bytes = (int64_t)dnnl_memory_desc_get_size(md),
                                  .stored = true,
                                  .pointwise = true};

    *packed = known_packed(&b->session->weights[b->layer], &requested);
    return *packed ? VBS_OK : add_packed(b, &requested, packed);
}

enum vbs_status od_weights_whole(struct od_build *b, const dnnl_memory_desc_t *md, int n_blocks,
                                 struct od_packed **packed)
{
    struct od_packed requested = {.md = *md,
                                  .n_blocks = n_blocks,
                                  .channels = od_weights_outputs(b),
                                  .bytes = (int64_t)dnnl_memory_desc_get_size(md) * n_blocks,
                                  .whole = true};

    *packed = known_packed(&b->session->weights[b->layer], &requested);
    return *packed ? VBS_OK : add_packed(b, &requested, packed);
}

enum vbs_status od_weights_coded(struct od_build *b, const struct vbs_coded *coded,
                                 struct od_packed **packed)
{
    struct od_packed requested = {.coded = coded, .n_blocks = 1, .channels = 1};
    size_t n_bytes;

    (void)vbs_coded_bytes(coded, &n_bytes);
    VBS_TRY(od_describe_vector(b, (int64_t)(n_bytes / sizeof(float)), &requested.md));
    requested.bytes = (int64_t)n_bytes;
    *packed = known_packed(&b->session->weights[b->layer], &requested);
    return *packed ? VBS_OK : add_packed(b, &requested, packed);
}

enum vbs_status od_weights_filled(struct od_build *b, int64_t n, od_filler *fill,
                                  struct od_packed **packed)
{
    struct od_packed requested = {.fill = fill, .n_blocks = 1, .channels = 1};

    VBS_TRY(od_describe_vector(b, n, &requested.md));
    requested.bytes = n * (int64_t)sizeof(float);
    *packed = known_packed(&b->session->weights[b->layer], &requested);
    return *packed ? VBS_OK : add_packed(b, &requested, packed);
}

void od_kernel_weights(struct od_build *b, struct od_packed *packed, int64_t first, int64_t count)
{
    b->kernel->packed = packed;
    b->kernel->first_channel = first;
    b->kernel->n_channels = count;
}

enum vbs_status od_kernel_pack(struct od_build *b, int index)
{
    struct od_session *s = b->session;
    struct od_packed *packed = s->kernels[index].packed;
    enum vbs_status status;

    if (!packed || packed->data)
        return VBS_OK;
    b->layer = s->core.offers[index].layer;
    b->l = &b->network->layers[b->layer];
    b->batch = s->core.offers[index].batch;
    packed->data = od_space(packed->bytes);
    if (!packed->data)
        return vbs_no_memory(b->ctx);
    status = od_weights_write(b, packed, 0, packed->channels, packed->data);
    if (status != VBS_OK) {
        free(packed->data);
        packed->data = NULL;
    }
    return status;
}
