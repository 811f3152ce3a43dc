/* Opening sessions of the cudnn backend: layers, then all kernels or those that are requested. */
#include "backend/cudnn/operators.h"

#include "backend/common/common.h"
#include "base/fail.h"
#include "vbslab/units.h"

#include <stdio.h>
#include <string.h>

static enum vbs_status init_provenance(struct cu_build *b)
{
    struct cu_session *s = b->session;
    struct vbs_provenance *c = &s->base.provenance;
    char library[200], device[200], notes[100], input[64];
    int khz = 0;

    cu_describe_library(library, sizeof library);
    cu_describe_device(device, sizeof device);
    if (cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0) != cudaSuccess)
        (void)cudaGetLastError();
    snprintf(notes, sizeof notes, "fp32 without TF32, NCHW, clock at most %d MHz", khz / 1000);
    *c = (struct vbs_provenance){
        .model = vbs_arena_strdup(&s->arena, b->network->name),
        .input =
            vbs_arena_strdup(&s->arena, vbs_shape_format(&b->network->input, input, sizeof input)),
        .backend = "cudnn",
        .library = vbs_arena_strdup(&s->arena, library),
        .device = vbs_arena_strdup(&s->arena, device),
        .vbslab = vbs_version(),
        .date = "",
        .notes = vbs_arena_strdup(&s->arena, notes),
    };
    return c->model && c->input && c->library && c->device && c->notes ? VBS_OK
                                                                       : vbs_no_memory(b->ctx);
}

/* ---- layers ---- */

/* The channels that slices are made of: those of a convolution in groups cannot be divided. */
static int channels_of(const struct vbs_layer *l)
{
    return l->op == VBS_OP_CONV && l->attributes.weighted.groups > 1 ? 0 : vbs_graph_channels(l);
}

static enum vbs_status init_layer(struct cu_build *b, int k)
{
    struct cu_session *s = b->session;
    const struct vbs_layer *l = &b->network->layers[k];
    struct vbs_profile_layer *layer = &s->layers[k];

    VBS_TRY(vbs_graph_layer_init(b->ctx, &s->arena, l, layer));
    s->order[k] = vbs_arena_alloc(&s->arena, (size_t)l->n_inputs, sizeof *s->order[k]);
    if (!s->order[k])
        return vbs_no_memory(b->ctx);
    layer->out_bytes = vbs_network_out_bytes(b->network, k);
    layer->channels = channels_of(l);
    for (int i = 0; i < l->n_inputs; i++) {
        s->order[k][i] = i;
        layer->in_bytes += s->layers[l->inputs[i]].out_bytes;
    }
    return VBS_OK;
}

/* Operators of two operands write onto one that nobody needs any more. */
static enum vbs_status init_in_place(struct cu_build *b)
{
    struct cu_session *s = b->session;
    int n = s->base.n_layers;
    bool *mark = vbs_arena_alloc(&s->arena, (size_t)n + 1, sizeof *mark);
    enum vbs_status status = mark ? VBS_OK : vbs_no_memory(b->ctx);

    if (status != VBS_OK)
        return status;
    for (int k = 1; k <= n && status == VBS_OK; k++) {
        const struct vbs_layer *l = &b->network->layers[k];
        bool may[2];
        int first;

        if (vbs_op_class(l->op) != VBS_CLASS_BINARY)
            continue;
        for (int i = 0; i < l->n_inputs; i++)
            may[i] = vbs_graph_overwrites(l, i);
        status = vbs_graph_set_in_place(b->ctx, &s->arena, s->layers, n, k, may, mark, &first);
        if (status != VBS_OK || first < 0)
            continue;
        s->order[k][first] = 0;
        s->order[k][0] = first;
    }
    return status;
}

static enum vbs_status init_layers(struct cu_build *b)
{
    struct cu_session *s = b->session;
    size_t n = (size_t)b->network->n_layers + 1;

    s->base.n_layers = b->network->n_layers;
    s->layers = vbs_arena_alloc(&s->arena, n, sizeof *s->layers);
    s->order = vbs_arena_alloc(&s->arena, n, sizeof *s->order);
    s->weights = vbs_arena_alloc(&s->arena, n, sizeof *s->weights);
    s->affine = vbs_arena_alloc(&s->arena, n, sizeof *s->affine);
    s->operands = vbs_arena_alloc(&s->arena, n, sizeof *s->operands);
    if (!s->layers || !s->order || !s->weights || !s->affine || !s->operands)
        return vbs_no_memory(b->ctx);
    s->base.layers = s->layers;
    s->layers[0] = (struct vbs_profile_layer){.name = VBS_INPUT_NAME,
                                              .kind = VBS_INPUT_NAME,
                                              .out_bytes = vbs_network_out_bytes(b->network, 0)};
    for (int k = 1; k < (int)n; k++)
        VBS_TRY(init_layer(b, k));
    return init_in_place(b);
}

/* ---- kernels ---- */

static enum vbs_status build(struct cu_build *b)
{
    switch (b->l->op) {
    case VBS_OP_CONV:
    case VBS_OP_FC:
        return cu_build_conv(b);
    case VBS_OP_CONV_TRANSPOSE:
        return cu_build_deconv(b);
    default:
        return cu_build_other(b);
    }
}

/* All kernels of a layer at a batch, or the requested one; none: nothing suits. */
static enum vbs_status build_layer(struct cu_build *b, int layer, int batch)
{
    int first = b->session->base.n_kernels;
    enum vbs_status status;

    b->layer = layer;
    b->l = &b->network->layers[layer];
    b->batch = batch;
    b->kernel = NULL;
    if (vbs_cancelled(b->ctx))
        return vbs_fail(b->ctx, VBS_INTERRUPTED, "interrupted while preparing layer '%s'",
                        b->l->name);
    b->no_memory = false;
    status = build(b);
    if (status == VBS_OK)
        status = cu_try(b, first);
    return status == VBS_OK && b->no_memory && b->session->base.n_kernels == first ? VBS_NO_MEMORY
                                                                                   : status;
}

static enum vbs_status init_kernels(struct cu_build *b, const struct vbs_backend_options *options)
{
    struct cu_session *s = b->session;

    VBS_TRY(vbs_graph_check_kernels(b->ctx, s->base.n_layers, options->n_batches,
                                    (int64_t)s->base.n_layers * options->n_batches));
    for (int k = 1; k <= s->base.n_layers; k++)
        for (int i = 0; i < options->n_batches; i++) {
            int n = s->base.n_kernels;

            VBS_TRY(build_layer(b, k, options->batches[i]));
            if (s->base.n_kernels == n)
                return cu_unsupported(b, "algorithm that can run it");
        }
    return VBS_OK;
}

static enum vbs_status init_one(struct cu_build *b, const struct vbs_requested_kernel *kernel)
{
    struct cu_session *s = b->session;
    struct vbs_requested requested = vbs_requested_read(kernel);
    int first = s->base.n_kernels;
    enum vbs_status status;

    b->requested = &requested;
    status = build_layer(b, kernel->layer, kernel->batch);
    b->requested = NULL;
    if (status != VBS_OK)
        return status;
    if (s->base.n_kernels != first + 1 ||
        strcmp(s->offers[first].algorithm, kernel->algorithm) != 0)
        return vbs_requested_missing(b->ctx, &s->base, kernel);
    s->offers[first].slice = kernel->n_slices > 1 ? kernel->slice : 0;
    s->offers[first].n_slices = kernel->n_slices > 1 ? kernel->n_slices : 0;
    return VBS_OK;
}

static enum vbs_status init_requested(struct cu_build *b, const struct vbs_backend_options *options)
{
    enum vbs_status status = VBS_OK;

    for (int i = 0; i < options->n_requested && status == VBS_OK; i++) {
        int same = vbs_requested_same(options->requested, i);

        if (same >= 0) {
            status = cu_kernel_share(b, same);
            continue;
        }
        status = vbs_requested_check(b->ctx, &b->session->base, &options->requested[i]);
        if (status == VBS_OK)
            status = init_one(b, &options->requested[i]);
    }
    return status;
}

/* ---- the whole ---- */

static enum vbs_status start(struct cu_build *b)
{
    struct cu_session *s = b->session;
    char why[200];
    cudaError_t error;
    cudnnStatus_t made;

    if (!cu_usable(why, sizeof why))
        return vbs_fail(b->ctx, VBS_UNSUPPORTED, "backend 'cudnn' cannot be used here: %s", why);
    error = cudaStreamCreate(&s->stream); /* waits for cudaMemcpy, and that for it */
    if (error == cudaSuccess)
        error = cudaEventCreate(&s->start);
    if (error == cudaSuccess)
        error = cudaEventCreate(&s->stop);
    if (error != cudaSuccess)
        return cu_fail_cuda(b->ctx, NULL, error, "starting CUDA");
    made = cudnnCreate(&s->cudnn);
    if (made == CUDNN_STATUS_SUCCESS)
        made = cudnnSetStream(s->cudnn, s->stream);
    return made == CUDNN_STATUS_SUCCESS ? VBS_OK : cu_fail(b->ctx, NULL, made, "starting cuDNN");
}

enum vbs_status cu_open(struct cu_build *b, const struct vbs_backend_options *options)
{
    VBS_TRY(start(b));
    VBS_TRY(cu_device_init(b));
    VBS_TRY(init_provenance(b));
    VBS_TRY(init_layers(b));
    return options->requested ? init_requested(b, options) : init_kernels(b, options);
}
