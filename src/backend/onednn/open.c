/* Opening sessions of the onednn backend: layers, then all kernels or those that are requested. */
#include "backend/onednn/operators/operators.h"

#include "backend/common/common.h"
#include "base/fail.h"
#include "vbslab/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From libgomp, which oneDNN runs on; declared here because only gcc brings omp.h. */
extern int omp_get_proc_bind(void);

static enum vbs_status init_provenance(struct vbs_ctx *ctx, const struct vbs_network *network,
                                       struct od_session *s)
{
    struct vbs_provenance *c = &s->base.provenance;
    char library[200], device[200], notes[100], input[64];
    double mhz = vbs_cpu_clock_mhz();

    od_describe_library(library, sizeof library);
    od_describe_device(device, sizeof device);
    snprintf(notes, sizeof notes, "threads %s%s%.0f%s",
             omp_get_proc_bind() ? "bound" : "not bound (OMP_PROC_BIND)", mhz > 0 ? ", clock " : "",
             mhz, mhz > 0 ? " MHz" : "");
    *c = (struct vbs_provenance){
        .model = vbs_arena_strdup(&s->arena, network->name),
        .input =
            vbs_arena_strdup(&s->arena, vbs_shape_format(&network->input, input, sizeof input)),
        .backend = "onednn",
        .library = vbs_arena_strdup(&s->arena, library),
        .device = vbs_arena_strdup(&s->arena, device),
        .vbslab = vbs_version(),
        .date = "",
        .notes = vbs_arena_strdup(&s->arena, notes),
        .threads = s->threads,
    };
    return c->model && c->input && c->library && c->device && c->notes ? VBS_OK
                                                                       : vbs_no_memory(ctx);
}

/* Units of channels where the layer can be divided at all. */
static void init_channels(struct od_build *b, struct vbs_profile_layer *layer)
{
    const struct od_weights *w = &b->session->weights[b->layer];

    layer->channels = vbs_graph_channels(b->l);
    if (layer->channels == 0)
        return;
    od_weights_measure(b);
    if (w->unit > 0)
        layer->channels = (int)(w->channels / w->unit);
}

/* Layer k as in a profile; the tensors that it reads are described already. */
static enum vbs_status init_layer(struct od_build *b, int k, enum od_layout canonical)
{
    struct od_session *s = b->session;
    const struct vbs_layer *l = &b->network->layers[k];
    struct vbs_profile_layer *layer = &s->layers[k];
    enum vbs_status status = vbs_graph_layer_init(b->ctx, &s->arena, l, layer);

    b->layer = k;
    b->l = l;
    if (status != VBS_OK)
        return status;
    VBS_TRY(od_tensor_init(b, &l->shape, canonical, &s->tensors[k]));
    VBS_TRY(od_inputs_init(b));
    layer->out_bytes = s->tensors[k].bytes;
    for (int i = 0; i < l->n_inputs; i++)
        layer->in_bytes += s->tensors[l->inputs[i]].bytes;
    init_channels(b, layer);
    return VBS_OK;
}

/* Operators of two operands write onto one that nobody needs any more; that one comes first. */
static enum vbs_status init_in_place(struct od_build *b)
{
    struct od_session *s = b->session;
    int n = s->base.n_layers;
    bool *mark = vbs_arena_alloc(&s->arena, (size_t)n + 1, sizeof *mark);

    if (!mark)
        return vbs_no_memory(b->ctx);
    for (int k = 1; k <= n; k++) {
        const struct vbs_layer *l = &b->network->layers[k];
        bool may[2];
        int first;

        if (vbs_op_class(l->op) != VBS_CLASS_BINARY)
            continue;
        for (int i = 0; i < l->n_inputs; i++)
            may[i] = vbs_graph_overwrites(l, i) &&
                     s->inputs[k][i].canonical == s->tensors[k].canonical &&
                     od_same_shape(&l->views[i], &l->shape);
        VBS_TRY(vbs_graph_set_in_place(b->ctx, &s->arena, s->layers, n, k, may, mark, &first));
        if (first > 0) {
            struct od_tensor read = s->inputs[k][first];

            s->inputs[k][first] = s->inputs[k][0];
            s->inputs[k][0] = read;
        }
    }
    return VBS_OK;
}

static enum vbs_status init_layers(struct od_build *b)
{
    struct od_session *s = b->session;
    size_t n = (size_t)b->network->n_layers + 1;
    enum od_layout *layouts;
    enum vbs_status status;

    s->base.n_layers = b->network->n_layers;
    s->layers = vbs_arena_alloc(&s->arena, n, sizeof *s->layers);
    s->tensors = vbs_arena_alloc(&s->arena, n, sizeof *s->tensors);
    s->inputs = vbs_arena_alloc(&s->arena, n, sizeof *s->inputs);
    s->weights = vbs_arena_alloc(&s->arena, n, sizeof *s->weights);
    s->transfers = vbs_arena_alloc(&s->arena, n, sizeof *s->transfers);
    layouts = vbs_arena_alloc(&s->arena, n, sizeof *layouts);
    if (!s->layers || !s->tensors || !s->inputs || !s->weights || !s->transfers || !layouts)
        return vbs_no_memory(b->ctx);
    s->base.layers = s->layers;
    b->l = &b->network->layers[0];
    status = od_canonical_layouts(b, layouts);
    if (status == VBS_OK)
        status = od_tensor_init(b, &b->network->input, layouts[0], &s->tensors[0]);
    s->layers[0] = (struct vbs_profile_layer){
        .name = VBS_INPUT_NAME, .kind = VBS_INPUT_NAME, .out_bytes = s->tensors[0].bytes};
    if (status != VBS_OK)
        return status;
    for (int k = 1; k < (int)n; k++)
        VBS_TRY(init_layer(b, k, layouts[k]));
    return init_in_place(b);
}

static enum vbs_status build_layer(struct od_build *b)
{
    if (vbs_cancelled(b->ctx))
        return vbs_fail(b->ctx, VBS_INTERRUPTED, "interrupted while preparing layer '%s'",
                        b->l->name);
    switch (b->l->op) {
    case VBS_OP_CONV:
    case VBS_OP_CONV_TRANSPOSE:
        return od_build_conv(b);
    case VBS_OP_FC:
        return od_build_fc(b);
    default:
        return od_build_other(b);
    }
}

static enum vbs_status init_kernels(struct od_build *b, const struct vbs_backend_options *options)
{
    VBS_TRY(vbs_graph_check_kernels(b->ctx, b->network->n_layers, options->n_batches,
                                    (int64_t)b->network->n_layers * options->n_batches));
    for (int k = 1; k <= b->network->n_layers; k++)
        for (int i = 0; i < options->n_batches; i++) {
            b->layer = k;
            b->l = &b->network->layers[k];
            b->batch = options->batches[i];
            VBS_TRY(build_layer(b));
        }
    return VBS_OK;
}

/* ---- only what is requested ---- */

static enum vbs_status init_one(struct od_build *b, const struct vbs_requested_kernel *kernel)
{
    struct od_session *s = b->session;
    struct vbs_requested requested = vbs_requested_read(kernel);
    bool in_slices = kernel->n_slices > 1;
    int first = s->base.n_kernels;
    enum vbs_status status;

    b->layer = kernel->layer;
    b->l = &b->network->layers[kernel->layer];
    b->batch = kernel->batch;
    b->requested = &requested;
    status = build_layer(b);
    b->requested = NULL;
    if (status != VBS_OK)
        return status;
    if (!od_kernels_keep(s, first, kernel->algorithm))
        return vbs_requested_missing(b->ctx, &s->base, kernel);
    s->offers[first].slice = in_slices ? kernel->slice : 0;
    s->offers[first].n_slices = in_slices ? kernel->n_slices : 0;
    return VBS_OK;
}

static enum vbs_status init_requested(struct od_build *b, const struct vbs_backend_options *options)
{
    for (int i = 0; i < options->n_requested; i++) {
        int same = vbs_requested_same(options->requested, i);

        if (same >= 0)
            VBS_TRY(od_kernel_share(b, same));
        else
            VBS_TRY(vbs_requested_check(b->ctx, &b->session->base, &options->requested[i]));
        if (same < 0)
            VBS_TRY(init_one(b, &options->requested[i]));
    }
    return VBS_OK;
}

enum vbs_status od_open(struct od_build *b, const struct vbs_backend_options *options)
{
    struct od_session *s = b->session;
    dnnl_status_t dnnl = dnnl_engine_create(&s->engine, dnnl_cpu, 0);

    if (dnnl == dnnl_success)
        dnnl = dnnl_stream_create(&s->stream, s->engine, dnnl_stream_default_flags);
    if (dnnl != dnnl_success)
        return vbs_fail(b->ctx, dnnl == dnnl_out_of_memory ? VBS_NO_MEMORY : VBS_LIBRARY,
                        "cannot start oneDNN (%d)", (int)dnnl);
    s->block = od_block();
    VBS_TRY(init_provenance(b->ctx, b->network, s));
    VBS_TRY(init_layers(b));
    return options->requested ? init_requested(b, options) : init_kernels(b, options);
}
