/*
 * Weights: made from their seed whenever a form is packed, so that no plain copy is kept. Forms are
 * shared by all kernels that ask for an equal descriptor.
 */
#include "backend/onednn.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum vbs_status od_affine(struct od_build *b, int bundled, int64_t n, float *factor, float *shift)
{
    int64_t channels = b->l->shape.dim[0];
    float *statistics = malloc(2 * (size_t)channels * sizeof *statistics);
    float *mean = statistics, *variance = statistics + channels;
    const struct {
        enum vbs_parameter what;
        float *values;
    } parts[] = {{VBS_PARAMETER_GAMMA, factor},
                 {VBS_PARAMETER_BETA, shift},
                 {VBS_PARAMETER_MEAN, mean},
                 {VBS_PARAMETER_VARIANCE, variance}};
    enum vbs_status status = VBS_OK;

    if (!statistics)
        return vbs_no_memory(b->ctx);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && status == VBS_OK; i++)
        status = vbs_parameter_values(b->ctx, b->network, b->layer, bundled, parts[i].what, 0,
                                      channels, parts[i].values);
    if (status != VBS_OK) {
        free(statistics);
        return status;
    }
    if ((bundled < 0 ? b->l->op : b->l->bundled[bundled].op) == VBS_OP_BATCHNORM)
        for (int64_t c = 0; c < channels; c++) {
            double scale = factor[c] / sqrt(variance[c] + VBS_BATCHNORM_EPSILON);

            factor[c] = (float)scale;
            shift[c] = (float)(shift[c] - scale * mean[c]);
        }
    for (int64_t c = channels; c < n; c++)
        factor[c] = shift[c] = 0;
    free(statistics);
    return VBS_OK;
}

/* Folds bundled operator number bundled: scale and bias become those of the pair. */
static enum vbs_status fold(struct od_build *b, int bundled, struct od_weights *w)
{
    int64_t channels = b->l->shape.dim[0];
    float *pair = malloc(2 * (size_t)channels * sizeof *pair);
    enum vbs_status status;

    if (!pair)
        return vbs_no_memory(b->ctx);
    status = od_affine(b, bundled, channels, pair, pair + channels);
    for (int64_t c = 0; status == VBS_OK && c < channels; c++) {
        w->scale[c] *= pair[c];
        w->bias[c] = w->bias[c] * pair[c] + pair[channels + c];
    }
    free(pair);
    return status;
}

enum vbs_status od_weights_init(struct od_build *b)
{
    struct od_weights *w = &b->session->weights[b->layer];
    const struct od_tensor *out = od_output(b);
    bool bias = b->l->attributes.bias;
    enum vbs_status status = VBS_OK;

    if (w->scale)
        return VBS_OK;
    w->scale = vbs_arena_alloc(&b->session->arena, (size_t)out->channels, sizeof *w->scale);
    w->bias = od_alloc(out->stored_channels * (int64_t)sizeof *w->bias);
    if (!w->scale || !w->bias)
        return vbs_no_memory(b->ctx);
    for (int64_t c = 0; c < out->channels; c++)
        w->scale[c] = 1;
    status = vbs_parameter_values(b->ctx, b->network, b->layer, -1, VBS_PARAMETER_BIAS, 0,
                                  out->channels, w->bias);
    for (int i = 0; i < b->l->n_bundled && status == VBS_OK; i++, w->n_folded++) {
        enum vbs_op op = b->l->bundled[i].op;

        if (op == VBS_OP_RELU)
            w->relu = true;
        if (op != VBS_OP_DROPOUT && op != VBS_OP_BATCHNORM && op != VBS_OP_SCALE)
            break;
        if (op == VBS_OP_DROPOUT)
            continue;
        status = fold(b, i, w);
        bias = true;
    }
    w->bias_bytes = out->stored_channels * (int64_t)sizeof *w->bias;
    if (!bias) {
        free(w->bias);
        w->bias = NULL;
        w->bias_bytes = 0;
    }
    return status;
}

void od_weights_release(struct od_weights *weights)
{
    while (weights->forms) {
        struct od_packed *form = weights->forms;

        weights->forms = form->next;
        free(form->data);
        free(form);
    }
    free(weights->bias);
}

static bool depthwise(const struct od_build *b)
{
    int64_t groups = b->l->attributes.groups;

    return groups == od_input(b, 0)->channels && groups == od_output(b)->channels;
}

bool od_filter_can_be_stored(const struct od_build *b)
{
    return b->l->attributes.groups == 1 ||
           (depthwise(b) && od_input(b, 0)->stored_channels == od_output(b)->stored_channels);
}

int od_filter_dims(const struct od_build *b, bool stored, dnnl_dims_t dims)
{
    const struct od_tensor *in = od_input(b, 0), *out = od_output(b);
    int64_t groups = b->l->attributes.groups;
    int64_t n_in = stored ? in->stored_channels : in->channels;
    int64_t n_out = stored ? out->stored_channels : out->channels;
    int n = 0;

    if (groups > 1) {
        if (stored) /* depthwise: the padding is groups of its own */
            groups = n_in;
        dims[n++] = groups;
    }
    dims[n++] = n_out / groups;
    dims[n++] = n_in / groups;
    for (int i = 0; i < in->n_spatial; i++)
        dims[n++] = b->l->attributes.kernel[i];
    return n;
}

/* One output's weights, scaled, in plain order. */
static enum vbs_status filter_row(const struct od_build *b, int64_t out, int64_t count, float *row)
{
    float scale = b->session->weights[b->layer].scale[out];
    enum vbs_status status = vbs_parameter_values(b->ctx, b->network, b->layer, -1,
                                                  VBS_PARAMETER_WEIGHTS, out * count, count, row);

    for (int64_t i = 0; i < count && status == VBS_OK; i++)
        row[i] *= scale;
    return status;
}

/* Plain weights of a conv into zeroed [G * O / G][stride]. */
static enum vbs_status fill_filter(const struct od_build *b, int64_t stride, float *plain)
{
    int64_t outputs = b->l->shape.dim[0];
    int64_t count = vbs_weight_count(b->network, b->layer) / outputs;
    enum vbs_status status = VBS_OK;

    for (int64_t o = 0; o < outputs && status == VBS_OK; o++)
        status = filter_row(b, o, count, plain + o * stride);
    return status;
}

/* Weights of a fc into zeroed [O][stride], inputs in the order in which they are stored. */
static enum vbs_status fill_matrix(const struct od_build *b, int64_t stride, float *plain)
{
    const struct od_tensor *in = od_input(b, 0);
    int64_t count = in->channels * in->positions;
    float *row = malloc((size_t)count * sizeof *row);
    enum vbs_status status = VBS_OK;

    if (!row)
        return vbs_no_memory(b->ctx);
    for (int64_t o = 0; o < b->l->shape.dim[0] && status == VBS_OK; o++) {
        status = filter_row(b, o, count, row);
        for (int64_t c = 0, i = 0; status == VBS_OK && c < in->channels; c++)
            for (int64_t s = 0; s < in->positions; s++, i++)
                plain[o * stride + od_stored_index(b->session, in, c, s)] = row[i];
    }
    free(row);
    return status;
}

static enum vbs_status plain_md(struct od_build *b, bool stored, dnnl_memory_desc_t *md)
{
    static const dnnl_format_tag_t tags[] = {
        dnnl_format_tag_undef, dnnl_a, dnnl_ab, dnnl_abc, dnnl_abcd, dnnl_abcde, dnnl_abcdef};
    const struct od_tensor *in = od_input(b, 0);
    dnnl_dims_t dims = {b->l->shape.dim[0], in->stored_channels * in->positions};
    int n = b->l->op == VBS_OP_FC ? 2 : od_filter_dims(b, stored, dims);
    dnnl_status_t status = dnnl_memory_desc_init_by_tag(md, n, dims, dnnl_f32, tags[n]);

    return status == dnnl_success ? VBS_OK : od_fail(b, status, "describing weights");
}

/* Plain weights into plain, which is zeroed. */
static enum vbs_status fill_plain(struct od_build *b, const dnnl_memory_desc_t *md, float *plain)
{
    int leading = md->ndims == 2 || b->l->attributes.groups == 1 ? 1 : 2;
    int64_t stride = 1;

    for (int i = leading; i < md->ndims; i++)
        stride *= md->dims[i];
    if (b->l->op == VBS_OP_FC)
        return fill_matrix(b, stride, plain);
    return fill_filter(b, stride, plain);
}

/* Zeroed room for plain weights, kept from one form to the next: fresh memory costs more than
 * making the weights. */
static float *plain_room(struct od_build *b, int64_t bytes)
{
    if (b->plain_bytes >= bytes)
        return memset(b->plain, 0, (size_t)bytes);
    free(b->plain);
    b->plain = od_alloc(bytes);
    b->plain_bytes = b->plain ? bytes : 0;
    return b->plain;
}

/* dnnl_reorder of whole buffers, outside any kernel. */
static enum vbs_status convert(struct od_build *b, const dnnl_memory_desc_t *from_md, void *from,
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
        status = dnnl_reorder_primitive_desc_create(&pd, from_md, engine, to_md, engine, NULL);
    if (status == dnnl_success)
        status = dnnl_primitive_create(&reorder, pd);
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

/* Makes form->data as form->md says. */
static enum vbs_status pack(struct od_build *b, bool stored, struct od_packed *form)
{
    dnnl_memory_desc_t md;
    float *plain;
    enum vbs_status status = plain_md(b, stored, &md);

    if (status != VBS_OK)
        return status;
    form->data = od_alloc(form->bytes);
    if (!form->data)
        return vbs_no_memory(b->ctx);
    if (dnnl_memory_desc_equal(&md, &form->md))
        return fill_plain(b, &md, form->data);
    plain = plain_room(b, (int64_t)dnnl_memory_desc_get_size(&md));
    if (!plain)
        return vbs_no_memory(b->ctx);
    status = fill_plain(b, &md, plain);
    return status == VBS_OK ? convert(b, &md, plain, &form->md, form->data) : status;
}

enum vbs_status od_weights_pack(struct od_build *b, const dnnl_memory_desc_t *md, bool stored,
                                const struct od_packed **packed)
{
    struct od_weights *w = &b->session->weights[b->layer];
    int number = w->forms ? w->forms->number + 1 : 0;
    struct od_packed *form;
    enum vbs_status status;

    for (form = w->forms; form; form = form->next)
        if (dnnl_memory_desc_equal(&form->md, md)) {
            *packed = form;
            return VBS_OK;
        }
    if (number == VBS_MAX_FORMS)
        return vbs_fail(b->ctx, VBS_UNSUPPORTED,
                        "layer '%s' packs its weights in more than %d ways; measure fewer batches",
                        b->l->name, VBS_MAX_FORMS);
    form = malloc(sizeof *form);
    if (!form)
        return vbs_no_memory(b->ctx);
    *form = (struct od_packed){
        .md = *md, .bytes = (int64_t)dnnl_memory_desc_get_size(md), .number = number};
    status = pack(b, stored, form);
    if (status != VBS_OK) {
        free(form->data);
        free(form);
        return status;
    }
    form->next = w->forms;
    w->forms = form;
    *packed = form;
    return VBS_OK;
}
