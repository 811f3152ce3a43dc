/* Opening sessions of the cudnn backend: layers, then all kernels or those that are requested. */
#include "backend/cudnn/operators.h"

#include "backend/common/common.h"
#include "base/fail.h"

#include <stdio.h>
#include <string.h>

static enum vbs_status init_provenance(struct cu_build *b)
{
    const struct cu_session *s = b->session;
    char library[200], device[200], notes[100];
    int khz = 0;

    cu_describe_library(&s->api, library, sizeof library);
    cu_describe_device(&s->api, device, sizeof device);
    if (s->api.cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0) != cudaSuccess)
        (void)s->api.cudaGetLastError();
    snprintf(notes, sizeof notes,
             "fp32 without TF32, NCHW, times as in graphs, clock at most %d MHz", khz / 1000);
    return vbs_session_init_provenance(b->ctx, &b->session->core,
                                       &(struct vbs_provenance){.backend = "cudnn",
                                                                .library = library,
                                                                .device = device,
                                                                .layout = "",
                                                                .notes = notes});
}

/* ---- layers ---- */

/* Gives the channels of which slices are made; those of a convolution in groups cannot be
 * divided. */
static int channels_of(const struct vbs_layer *l)
{
    return l->op == VBS_OP_CONV && l->attributes.weighted.groups > 1 ? 0 : vbs_graph_channels(l);
}

static enum vbs_status init_layer(struct cu_build *b, int k)
{
    struct cu_session *s = b->session;
    const struct vbs_layer *l = &b->network->layers[k];
    struct vbs_profile_layer *layer = &s->core.layers[k];

    VBS_TRY(vbs_graph_layer_init(b->ctx, &s->core.arena, b->network, k, layer));
    s->order[k] = vbs_arena_alloc(&s->core.arena, (size_t)l->n_inputs, sizeof *s->order[k]);
    if (!s->order[k])
        return vbs_no_memory(b->ctx);
    layer->out_bytes = vbs_network_out_bytes(b->network, k);
    layer->channels = channels_of(l);
    for (int i = 0; i < l->n_inputs; i++) {
        s->order[k][i] = i;
        layer->in_bytes += s->core.layers[l->inputs[i]].out_bytes;
    }
    return VBS_OK;
}

/* Gives whether a layer may overwrite an input: operators of two operands may, where no other layer
 * needs it any more. */
static bool can_overwrite(const void *build, int layer, int input)
{
    return vbs_graph_overwrites(&((const struct cu_build *)build)->network->layers[layer], input);
}

static void swap_inputs(void *build, int layer, int first)
{
    int *order = ((struct cu_build *)build)->session->order[layer];

    order[first] = 0;
    order[0] = first;
}

static enum vbs_status init_layers(struct cu_build *b)
{
    struct cu_session *s = b->session;
    struct vbs_arena *arena = &s->core.arena;
    size_t n = (size_t)b->network->n_layers + 1;
    const struct vbs_in_place in_place = {.build = b, .may = can_overwrite, .swap = swap_inputs};

    VBS_TRY(vbs_session_init_layers(b->ctx, &s->core));
    s->order = vbs_arena_alloc(arena, n, sizeof *s->order);
    s->weights = vbs_arena_alloc(arena, n, sizeof *s->weights);
    s->affine = vbs_arena_alloc(arena, n, sizeof *s->affine);
    s->operands = vbs_arena_alloc(arena, n, sizeof *s->operands);
    if (!s->order || !s->weights || !s->affine || !s->operands)
        return vbs_no_memory(b->ctx);
    for (int k = 1; k < (int)n; k++)
        VBS_TRY(init_layer(b, k));
    return vbs_graph_init_in_place(b->ctx, arena, s->core.layers, (int)n - 1, &in_place);
}

/* ---- kernels ---- */

static enum vbs_status build_layer(struct cu_build *b)
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

static enum vbs_status build_and_try(struct cu_build *b, int first)
{
    VBS_TRY(build_layer(b));
    return cu_try(b, first);
}

static enum vbs_status make_kernels(void *build, int layer, int batch,
                                    const struct vbs_requested *requested)
{
    struct cu_build *b = build;
    int first = b->session->core.session.n_kernels;
    enum vbs_status status;

    b->layer = layer;
    b->l = &b->network->layers[layer];
    b->batch = batch;
    b->kernel = NULL;
    b->requested = requested;
    b->no_memory = b->pads = b->can_pad = false;
    status = build_and_try(b, first);
    if (status == VBS_OK && b->can_pad && b->session->core.session.n_kernels == first) {
        b->pads = true; /* this cuDNN refuses outputs other than by its own formula */
        status = build_and_try(b, first);
    }
    b->requested = NULL;
    if (status != VBS_OK || b->session->core.session.n_kernels > first)
        return status;
    if (b->no_memory)
        return VBS_NO_MEMORY;
    return requested ? VBS_OK : cu_unsupported(b, "algorithm that can run it");
}

/* Keeps all kernels: only the requested kernel was made, if any was. */
static bool keep_kernel(void *build, int first, const char *algorithm)
{
    const struct cu_session *s = ((const struct cu_build *)build)->session;

    return s->core.session.n_kernels == first + 1 &&
           strcmp(s->core.offers[first].algorithm, algorithm) == 0;
}

static enum vbs_status share_kernel(void *build, int index)
{
    return cu_kernel_share(build, index);
}

static void release_kernel(void *build, int index)
{
    cu_kernel_release(&((struct cu_build *)build)->session->kernels[index]);
}

static void swap_kernels(void *build, int i, int j)
{
    struct cu_kernel *kernels = ((struct cu_build *)build)->session->kernels, kernel = kernels[i];

    kernels[i] = kernels[j];
    kernels[j] = kernel;
}

/* ---- the whole ---- */

static enum vbs_status start(struct cu_build *b)
{
    struct cu_session *s = b->session;
    char why[200];
    cudaError_t error;
    cudnnStatus_t made;

    if (!cu_load(&s->api, NULL, NULL, why, sizeof why) || !cu_usable(&s->api, why, sizeof why))
        return vbs_fail(b->ctx, VBS_UNSUPPORTED, "backend 'cudnn' cannot be used here: %s", why);
    /* A stream that waits for cudaMemcpy, and for which cudaMemcpy waits. */
    error = s->api.cudaStreamCreate(&s->stream);
    if (error == cudaSuccess)
        error = s->api.cudaEventCreate(&s->start);
    if (error == cudaSuccess)
        error = s->api.cudaEventCreate(&s->stop);
    if (error != cudaSuccess)
        return cu_fail_cuda(b->ctx, s, NULL, error, "starting CUDA");
    made = s->api.cudnnCreate(&s->cudnn);
    if (made == CUDNN_STATUS_SUCCESS)
        made = s->api.cudnnSetStream(s->cudnn, s->stream);
    return made == CUDNN_STATUS_SUCCESS ? VBS_OK : cu_fail(b->ctx, s, NULL, made, "starting cuDNN");
}

enum vbs_status cu_open(struct cu_build *b, const struct vbs_backend_options *options)
{
    const struct vbs_kernel_maker maker = {.build = b,
                                           .make = make_kernels,
                                           .keep = keep_kernel,
                                           .share = share_kernel,
                                           .release = release_kernel,
                                           .swap = swap_kernels};

    VBS_TRY(vbs_network_check_floats(b->ctx, b->network, "backend cudnn"));
    VBS_TRY(start(b));
    VBS_TRY(cu_device_init(b));
    VBS_TRY(init_provenance(b));
    VBS_TRY(init_layers(b));
    return vbs_kernels_make(b->ctx, &b->session->core, options, &maker);
}
